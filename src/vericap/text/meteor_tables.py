"""METEOR 1.5's English tables: synonyms, function words, paraphrases (built by tools/build_meteor_tables.py).

`synonyms(word)` gives the synset numbers METEOR knows a word by: those of the word itself, and those of its
irregular bases (exception list) or, where it has none, of its stripped form. Numbers are WordNet 3.0 offsets
without part of speech, blanks in compounds are written `_`, words are lower case. SPICE's concepts use the
same sets: `synonyms("hot_dog")`, `synonyms("men")`; an unknown word gives the empty set.
`synsets(word)` gives those of the word alone, `base_synsets(word)` those of its bases alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vericap.core import shipped
from vericap.native import load
from vericap.text import wordnet

LONGEST = 7  # words in the longest phrase of the paraphrase table
# The size of a gap in a list (its bits below the leading one) is written in four bits where it is one of the eight
# commonest and at a list's end, in five otherwise: the code that is left for the other fourteen.
SHORT, SHORTS = 12, 8  # the first of the commonest sizes, and their number

# Suffix, what takes its place; tried in this order until the result is a word of the table.
_STRIPPED = (
    ("s", ""), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"), ("men", "man"),
    ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", ""),
    ("er", ""), ("est", ""), ("er", "e"), ("est", "e"),
)  # fmt: skip


class Synonyms:
    """Word -> synset numbers, those of WordNet 3.0, with METEOR's irregular bases."""

    def __init__(self, lexicon: wordnet.Lexicon, exceptions: Path) -> None:
        self._lexicon = lexicon
        self._bases: dict[str, list[str]] = {}
        for line in exceptions.read_text("utf-8").split("\n"):
            form, *bases = line.split(" ")
            self._bases[form] = bases

    def synsets(self, word: str) -> frozenset[int]:
        return frozenset(map(wordnet.offset, self._lexicon.numbers(word)))

    def stripped(self, word: str) -> str:
        """The word without its inflection, if that is a word of the table; '' if nothing fits."""
        units = len(word.encode("utf-16-le", "surrogatepass")) // 2  # METEOR counts UTF-16 units
        if word.endswith("ss") or units <= 2:
            return word
        for suffix, instead in _STRIPPED:
            if word.endswith(suffix):
                base = word[: len(word) - len(suffix)] + instead
                if base in self._lexicon:
                    return base
        return ""

    def base_synsets(self, word: str) -> frozenset[int]:
        bases = self._bases.get(word)
        if bases is None:
            return self.synsets(self.stripped(word))
        return frozenset().union(*map(self.synsets, bases))


@cache
def _synonyms() -> Synonyms:
    return Synonyms(wordnet.lexicon(), shipped.path("meteor", "exceptions.txt"))


def synsets(word: str) -> frozenset[int]:
    """Synset numbers of the word as it is written."""
    return _synonyms().synsets(word)


def base_synsets(word: str) -> frozenset[int]:
    """Synset numbers of the word's irregular bases or, where it has none, of its stripped form."""
    return _synonyms().base_synsets(word)


@lru_cache(maxsize=1 << 17)
def synonyms(word: str) -> frozenset[int]:
    """Synset numbers METEOR knows the word by: its own and its base's."""
    table = _synonyms()
    return table.synsets(word) | table.base_synsets(word)


@cache
def function_words() -> frozenset[str]:
    """Words that METEOR weighs as function words."""
    return frozenset(shipped.path("meteor", "function_words.txt").read_text("utf-8").split("\n"))


class Paraphrases:
    """Phrase -> paraphrases, memory-mapped: a trie over word numbers and one list of nodes per source phrase.

    A node is a phrase. Nodes 0 .. words-1 are the words, the commonest first (`first` has the node of each); the
    children of node n are the nodes words + i for i in children[n] .. children[n + 1] - 1, with last word labels[i],
    ascending. Nodes beyond have no children.
    """

    def __init__(self, folder: Path) -> None:
        words = (folder / "paraphrase_words.txt").read_text("utf-8").split("\n")
        self.number = dict(zip(words, range(len(words))))  # by their bytes, METEOR's order of phrases
        nodes = np.append(_load(folder / "paraphrase_order.npy").astype(np.int32), np.int32(-1))
        self.first: NDArray[np.int32] = nodes  # ends in -1: the node of number -1, a word that is not there
        self.labels: NDArray[np.uint16] = _load(folder / "paraphrase_labels.npy")
        self.lists: NDArray[np.uint8] = _load(folder / "paraphrase_lists.npy")
        self.children = children(_load(folder / "paraphrase_degrees.npy"))
        flags = np.unpackbits(_load(folder / "paraphrase_sources.npy"))
        self.sources: NDArray[np.uint32] = np.flatnonzero(flags).astype(np.uint32)
        lengths = np.cumsum(_load(folder / "paraphrase_lengths.npy"), dtype=np.uint32)
        self.list_offsets: NDArray[np.uint32] = np.concatenate([np.zeros(1, np.uint32), lengths])

    def count(self) -> int:
        """Number of source phrases."""
        return len(self.sources)

    def child(self, node: int, word: int) -> int:
        """The node of the phrase one word longer, -1 if no phrase goes on like this."""
        if node + 1 >= len(self.children):
            return -1
        low, high = int(self.children[node]), int(self.children[node + 1])
        place = low + int(np.searchsorted(self.labels[low:high], word))
        return len(self.number) + place if place < high and self.labels[place] == word else -1

    def find(self, words: Sequence[str]) -> int:
        """The node of a phrase, -1 if the table does not hold it (not even as the beginning of another)."""
        node, *rest = self.first[[self.number.get(word, -1) for word in words]].tolist()
        for word in rest:
            node = self.child(node, word) if node >= 0 and word >= 0 else -1
        return int(node)

    def targets(self, node: int) -> NDArray[np.int64]:
        """The nodes of a phrase's paraphrases, ascending; empty where it has none."""
        row = int(np.searchsorted(self.sources, node))
        if row == len(self.sources) or self.sources[row] != node:
            return np.empty(0, dtype=np.int64)
        coded = self.lists[self.list_offsets[row] : self.list_offsets[row + 1]].tobytes()
        value, left = int.from_bytes(coded, "big"), 8 * len(coded)
        found: list[int] = []
        last = -1
        while True:
            left -= 4
            bits = (value >> left) & 15
            if bits == SHORTS:
                return np.array(found, dtype=np.int64)
            if bits < SHORTS:
                bits += SHORT
            else:
                left -= 1
                bits = 2 * (bits - SHORTS - 1) + ((value >> left) & 1)
                bits += SHORTS * (bits >= SHORT)
            left -= bits
            last += (1 << bits) | ((value >> left) & ((1 << bits) - 1))
            found.append(last)


def children(degrees: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """Where the children of each node begin. Degrees are unary: as many ones as children, then a zero."""
    kernel = load("meteor")
    if kernel is not None:
        return np.frombuffer(kernel.children(degrees), dtype=np.uint32)
    # The i-th zero, less the zeros before it, is where the children of node i end.
    zeros = np.flatnonzero(np.unpackbits(degrees) == 0)
    return np.concatenate([[0], zeros - np.arange(len(zeros))]).astype(np.uint32)


def _load(file: Path) -> NDArray[Any]:
    return np.load(file, mmap_mode="r", allow_pickle=False)


@cache
def paraphrases() -> Paraphrases:
    """The shipped paraphrase table."""
    for file in shipped.meta("meteor")["files"]:
        path = shipped.path("meteor", file)
    return Paraphrases(path.parent)
