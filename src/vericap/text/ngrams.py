"""N-grams of many texts as numbers, and what BLEU, ROUGE-L and CIDEr count on them.

Every function has two forms with equal results: the compiled kernel `vericap.native._text` and the NumPy/Python
form in `vericap.text.ngrams_python`. Arrays in, arrays out; nothing here knows of metrics or batches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from vericap.core.typing import Floats, Ints, Ints32
from vericap.native import load
from vericap.text import ngrams_python as python
from vericap.text.tokens import TokenTable

ORDERS = 4


@dataclass
class NGramTable:
    """Distinct n-grams of each text, n = 1..4.

    An n-gram is a number; n-gram g is n-gram `prefix[g]` followed by word `last[g]`, and the 1-grams are the words
    themselves (prefix -1). Numbers of order n are `starts[n - 1] .. starts[n] - 1`. The n-grams of text t are
    `grams[a:b]` (ascending) with `counts[a:b]`, where a, b = `rows[r], rows[r + 1]` and r = (n - 1) * texts + t.
    """

    vocabulary: list[str]
    lengths: Ints
    prefix: Ints32
    last: Ints32
    starts: Ints
    rows: Ints
    grams: Ints32
    counts: Ints32

    def __len__(self) -> int:
        return len(self.prefix)

    @property
    def texts(self) -> int:
        return len(self.lengths)

    def of_text(self, text: int) -> tuple[Ints32, Ints32]:
        """The distinct n-grams of one text, shorter ones first, and how often each is there."""
        spans = [slice(*self.rows[r : r + 2]) for r in range(text, ORDERS * self.texts, self.texts)]
        return np.concatenate([self.grams[s] for s in spans]), np.concatenate([self.counts[s] for s in spans])

    def phrase(self, gram: int) -> str:
        """An n-gram in words."""
        words: list[str] = []
        while gram >= 0:
            words.append(self.vocabulary[self.last[gram]])
            gram = int(self.prefix[gram])
        return " ".join(reversed(words))


def ngrams(tokens: TokenTable) -> NGramTable:
    """Number and count the n-grams of every text."""
    words = tokens.words()
    ids, offsets = np.ascontiguousarray(words.ids), np.ascontiguousarray(words.offsets)
    kernel = load("text")
    if kernel is None:
        parts: tuple[Any, ...] = python.ngrams(ids, offsets, len(words.vocabulary), ORDERS)
    else:
        raw = kernel.ngrams(ids, offsets, len(words.vocabulary), ORDERS)
        kinds: tuple[Any, ...] = (np.int32, np.int32, np.int64, np.int64, np.int32, np.int32)
        parts = tuple(np.frombuffer(part, dtype=kind) for part, kind in zip(raw, kinds))
    return NGramTable(words.vocabulary, words.lengths(), *parts)


def bleu_counts(grams: NGramTable, candidates: Ints, offsets: Ints, references: Ints) -> Ints:
    """Rows (clipped matches of order 1..4, candidate n-grams of order 1..4, candidate length, closest length)."""
    kernel = load("text")
    if kernel is None:
        return python.bleu_counts(grams, candidates, offsets, references, ORDERS)
    out = np.zeros((len(candidates), 2 * ORDERS + 2), dtype=np.int64)
    kernel.bleu(grams.rows, grams.grams, grams.counts, grams.lengths, candidates, offsets, references, ORDERS, out)
    return out


def lcs_lengths(tokens: TokenTable, candidates: Ints, offsets: Ints, references: Ints) -> Ints:
    """Length of the longest common subsequence of each candidate with each of its references."""
    kernel = load("text")
    if kernel is None:
        return python.lcs_lengths(tokens, candidates, offsets, references)
    out = np.zeros(len(references), dtype=np.int64)
    kernel.lcs(tokens.ids, tokens.offsets, candidates, offsets, references, out)
    return out


def document_counts(grams: NGramTable, offsets: Ints, references: Ints) -> Ints32:
    """In how many samples each n-gram occurs in at least one reference."""
    kernel = load("text")
    if kernel is None:
        return python.document_counts(grams, offsets, references)
    out = np.zeros(len(grams), dtype=np.int32)
    kernel.documents(grams.rows, grams.grams, grams.texts, offsets, references, ORDERS, out)
    return out


def cosines(
    grams: NGramTable, weights: Floats, candidates: Ints, offsets: Ints, references: Ints, *, clip: bool
) -> Floats:
    """tf-idf similarity of each candidate with each of its references, one column per order.

    `weights` holds the idf of every n-gram. With `clip` a candidate's weight counts at most as much as the
    reference's (CIDEr-D); without, this is the plain cosine (CIDEr).
    """
    kernel = load("text")
    if kernel is None:
        return python.cosines(grams, weights, candidates, offsets, references, ORDERS, clip=clip)
    out = np.zeros((len(references), ORDERS), dtype=np.float64)
    kernel.cosines(
        grams.rows, grams.grams, grams.counts, weights, grams.texts,
        candidates, offsets, references, ORDERS, int(clip), out,
    )  # fmt: skip
    return out
