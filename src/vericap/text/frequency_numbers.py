"""Document frequencies of a corpus of any size: n-grams as 64-bit numbers, looked up in a file piece by piece.

The n-grams that two images or more share grow with the corpus, and words with them; a tree of them in every process
would too. Here an n-gram is a number made of its words, so that tables are merged and asked without any word at hand,
some megabytes at a time. That two of a hundred million n-grams share a number has a chance of 1 in 4,000.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from vericap.core.numbers import Keys, SortedNumbers, group_starts, joined
from vericap.core.typing import Array, Floats, Ints32
from vericap.text.frequency import CORPUS, DocumentFrequency, weights_of
from vericap.text.ngrams import ORDERS, NGramTable, NGramTree

_ODD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class NumberedFrequency:
    """In how many of `images` images each n-gram occurs in a reference: what CIDEr asks of `DocumentFrequency`."""

    images: int
    numbers: SortedNumbers
    source: str = CORPUS

    @classmethod
    def of(cls, frequency: DocumentFrequency) -> NumberedFrequency:
        """The same frequencies; n-grams that only candidates have are left out."""
        seen = frequency.counts > 0
        return cls(frequency.images, SortedNumbers.of(numbers_of(frequency.tree)[seen], frequency.counts[seen]))

    @classmethod
    def merge(cls, parts: Sequence[NumberedFrequency]) -> NumberedFrequency:
        """Join the frequencies of shards."""
        keys, counts, _ = joined([part.numbers for part in parts])
        starts = group_starts(keys)
        total = np.add.reduceat(counts, starts, dtype=np.int64) if len(starts) else counts
        found = SortedNumbers(keys[starts], total.astype(np.int32))
        return cls(sum(part.images for part in parts), found, parts[0].source)

    def at_least(self, count: int) -> NumberedFrequency:
        """Only n-grams seen in so many images. Those seen in one image weigh as much as unknown ones."""
        counts = self.numbers.values[:]
        kept = counts >= count
        return NumberedFrequency(self.images, SortedNumbers(self.numbers.keys[:][kept], counts[kept]), self.source)

    def weights(self, grams: NGramTable) -> tuple[Ints32, Floats]:
        """A code for every n-gram of `grams`, and the idf of every code."""
        return weights_of(self.lookup(grams), self.images)

    def idf(self, grams: NGramTable) -> Floats:
        """log(images / frequency) of every n-gram of `grams`."""
        codes, idf = self.weights(grams)
        return idf[codes]

    def lookup(self, grams: NGramTable) -> Ints32:
        """Frequency of each n-gram of `grams`, 0 where unknown."""
        asked = numbers_of(grams.tree)
        order = np.argsort(asked)
        wanted, found = asked[order], np.zeros(len(asked), dtype=np.int32)
        for keys, counts in self.numbers.blocks():
            begin, end = np.searchsorted(wanted, keys[0]), np.searchsorted(wanted, keys[-1], "right")
            where = np.searchsorted(keys, wanted[begin:end])
            known = keys[where] == wanted[begin:end]
            found[order[begin:end][known]] = counts[where[known]]
        return found


def numbers_of(tree: NGramTree) -> Keys:
    """A number for every n-gram, the same in every corpus."""
    words = np.array([_number(word) for word in tree.vocabulary], dtype=np.uint64)
    found = np.empty(len(tree.last), dtype=np.uint64)
    for order in range(ORDERS):
        own = slice(tree.starts[order], tree.starts[order + 1])
        before = found[tree.prefix[own]] * _ODD if order else np.uint64(0)
        found[own] = _mixed(before + words[tree.last[own]])
    return found


def _number(word: str) -> int:
    return int.from_bytes(blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def _mixed(numbers: Array) -> Array:
    """Every bit of the outcome hangs on all bits of a number (the last steps of SplitMix64, one to one)."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))
