"""N-grams of many texts as numbers, and what BLEU, ROUGE-L and CIDEr count on them.

Every function has two forms with equal results: the compiled kernel `vericap.native._text` and the NumPy/Python
form in `vericap.text.ngrams_python`. Arrays in, arrays out; nothing here knows of metrics or batches.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from vericap.core.typing import Floats, Ints, Ints32
from vericap.native import load
from vericap.text import ngrams_python as python
from vericap.text.tokens import TokenTable

ORDERS = 4


@dataclass
class NGramTree:
    """What n-grams are made of.

    N-gram g is n-gram `prefix[g]` (-1: none) followed by word `vocabulary[last[g]]`. Shorter n-grams come before longer
    ones: order n is `starts[n - 1] .. starts[n] - 1`.
    """

    vocabulary: list[str]
    prefix: Ints32
    last: Ints32
    starts: Ints


@dataclass
class NGramTable:
    """The n-grams of each text, n = 1..4, in the order of the text.

    An n-gram is a number; those of order n are `starts[n - 1] .. starts[n] - 1`, by first appearance, and the 1-grams
    are the words themselves. Text t has the places `offsets[t] .. offsets[t + 1] - 1`, one for each of its words;
    `words[place]` is the 1-gram there and `longer[n - 2, place]` the n-gram that begins there, -1 where the text has
    no n words left.
    """

    vocabulary: list[str]
    offsets: Ints
    words: Ints32  # (places,)
    longer: Ints32  # (orders - 1, places)
    starts: Ints

    def __len__(self) -> int:
        return int(self.starts[-1])

    @property
    def texts(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> Ints:
        """Words of each text."""
        return np.diff(self.offsets)

    def row(self, order: int) -> Ints32:
        """The n-gram of each place, n = order."""
        return self.words if order == 1 else self.longer[order - 2]

    def of_text(self, text: int) -> tuple[Ints32, Ints]:
        """The distinct n-grams of one text, shorter ones first, and how often each is there."""
        span = slice(self.offsets[text], self.offsets[text + 1])
        own = np.concatenate([self.words[span], *self.longer[:, span]])
        return np.unique(own[own >= 0], return_counts=True)

    def columns(self) -> tuple[Ints32, Ints32, Ints, int]:
        """What the kernels read: n-grams by place, places of texts, number of orders."""
        return self.words, self.longer, self.offsets, ORDERS

    @cached_property
    def tree(self) -> NGramTree:
        """What the n-grams are made of; counting does without, so it is worked out when somebody asks."""
        words = np.arange(len(self.vocabulary), dtype=np.int32)
        prefix, last = [np.full(len(words), -1, dtype=np.int32)], [words]
        for order in range(2, ORDERS + 1):
            row, start = self.row(order), int(self.starts[order - 1])
            first = np.empty(int(self.starts[order]) - start, dtype=np.int64)
            places = np.flatnonzero(row >= 0)[::-1]  # of several places the one that is written last holds
            first[row[places] - start] = places
            prefix.append(self.row(order - 1)[first])
            last.append(self.words[first + order - 1])
        return NGramTree(self.vocabulary, np.concatenate(prefix), np.concatenate(last), self.starts)

    def phrase(self, gram: int) -> str:
        """An n-gram in words."""
        words: list[str] = []
        while gram >= 0:
            words.append(self.vocabulary[self.tree.last[gram]])
            gram = int(self.tree.prefix[gram])
        return " ".join(reversed(words))


def ngrams(tokens: TokenTable) -> NGramTable:
    """Number the n-grams of every text."""
    cut = tokens.words()
    words, offsets = np.ascontiguousarray(cut.ids, np.int32), np.ascontiguousarray(cut.offsets, np.int64)
    # Not np.empty, which asks for huge pages: where memory is in pieces, they take longer to get than the numbering.
    longer = np.frombuffer(bytearray((ORDERS - 1) * 4 * len(words)), dtype=np.int32).reshape(ORDERS - 1, len(words))
    starts = np.zeros(ORDERS + 1, dtype=np.int64)
    kernel = load("text")
    number = python.number if kernel is None else kernel.ngrams
    number(words, longer, offsets, ORDERS, len(cut.vocabulary), starts)
    return NGramTable(cut.vocabulary, offsets, words, longer, starts)


def bleu_counts(grams: NGramTable, candidates: Ints, offsets: Ints, references: Ints) -> Ints:
    """Rows (clipped matches of order 1..4, candidate n-grams of order 1..4, candidate length, closest length)."""
    kernel = load("text")
    if kernel is None:
        return python.bleu_counts(grams, candidates, offsets, references)
    out = np.zeros((len(candidates), 2 * ORDERS + 2), dtype=np.int64)
    kernel.bleu(*grams.columns(), len(grams.vocabulary), candidates, offsets, references, out)
    return out


def lcs_lengths(tokens: TokenTable, candidates: Ints, offsets: Ints, references: Ints) -> Ints:
    """Length of the longest common subsequence of each candidate with each of its references."""
    kernel = load("text")
    if kernel is None:
        return python.lcs_lengths(tokens, candidates, offsets, references)
    out = np.zeros(len(references), dtype=np.int64)
    kernel.lcs(tokens.ids, tokens.offsets, len(tokens.vocabulary), candidates, offsets, references, out)
    return out


def document_counts(grams: NGramTable, offsets: Ints, references: Ints) -> Ints32:
    """In how many samples each n-gram occurs in at least one reference."""
    kernel = load("text")
    if kernel is None:
        return python.document_counts(grams, offsets, references)
    out = np.zeros(len(grams), dtype=np.int32)
    kernel.documents(*grams.columns(), grams.starts, offsets, references, out)
    return out


def cosines(
    grams: NGramTable, codes: Ints32, idf: Floats, candidates: Ints, offsets: Ints, references: Ints, *, clip: bool
) -> Floats:
    """tf-idf similarity of each candidate with each of its references, one column per order.

    The idf of n-gram g is `idf[codes[g]]`. With `clip` a candidate's weight counts at most as much as the
    reference's (CIDEr-D); without, this is the plain cosine (CIDEr).
    """
    kernel = load("text")
    if kernel is None:
        return python.cosines(grams, idf[codes], candidates, offsets, references, clip=clip)
    out = np.zeros((len(references), ORDERS), dtype=np.float64)
    words = len(grams.vocabulary)
    kernel.cosines(*grams.columns(), words, codes, idf, candidates, offsets, references, int(clip), out)
    return out
