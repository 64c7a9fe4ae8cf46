"""Words put in the order in which people would most likely say them: beam search with an n-gram model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vericap.core.typing import Floats, Ints
from vericap.text.ngram_lm import END, START, UNKNOWN, NgramModel

BEAM = 32  # beginnings of a text that are followed
LONGEST = 30  # words put in order together; a longer text is taken in such parts, one after the other


def likely_orders(model: NgramModel, texts: Sequence[Sequence[str]]) -> list[list[int]]:
    """For every text the places of its words, in the likeliest order that was found."""
    parts = [
        (number, start, words[start : start + LONGEST])
        for number, words in enumerate(texts)
        for start in range(0, len(words), LONGEST)
    ]
    orders: list[list[int]] = [[] for _ in texts]
    found = _orders(model, [model.numbers([word.lower() for word in part]) for _, _, part in parts])
    for (number, start, _), own in zip(parts, found):
        orders[number] += [start + place for place in own]
    return orders


@dataclass(frozen=True)
class _Beginnings:
    """Beginnings of texts that are followed, those of one text together."""

    text: Ints
    left: NDArray[np.bool_]  # (beginnings, places): words that are still to be said
    last: Ints  # (beginnings, context): the last words, the latest first; -1: none
    score: Floats  # the log of how much likelier their words are there than anywhere, so that rare ones may come early
    path: Ints  # (beginnings, words said): places

    def take(self, which: Ints) -> _Beginnings:
        return _Beginnings(self.text[which], self.left[which], self.last[which], self.score[which], self.path[which])

    def said(self, rows: Ints, places: Ints, words: Ints, score: Floats) -> _Beginnings:
        """One word more: each of `rows` goes on with one of its places."""
        own = self.take(rows)
        left = own.left.copy()
        left[np.arange(len(rows)), places] = False
        last = np.concatenate([words[:, None], own.last[:, :-1]], axis=1)
        return _Beginnings(own.text, left, last, score, np.concatenate([own.path, places[:, None]], axis=1))


def _orders(model: NgramModel, texts: Sequence[Sequence[int]]) -> list[list[int]]:
    longest = max(map(len, texts), default=0)
    words = np.full((len(texts), longest), -1, dtype=np.int64)
    for row, own in enumerate(texts):
        words[row, : len(own)] = own
    last = np.full((len(texts), model.order - 1), -1, dtype=np.int64)
    last[:, 0] = START
    none = np.zeros((len(texts), 0), dtype=np.int64)
    open_ = _Beginnings(np.arange(len(texts)), words >= 0, last, np.zeros(len(texts)), none)
    best: dict[int, list[int]] = {}
    while len(open_.text):
        going = np.asarray(open_.left.any(axis=1))
        if not going.all():
            best.update(_best(model, open_.take(np.flatnonzero(~going))))
            open_ = open_.take(np.flatnonzero(going))
        if len(open_.text):
            open_ = _longer(model, open_, words)
    return [best[row] for row in range(len(texts))]


def _longer(model: NgramModel, open_: _Beginnings, words: Ints) -> _Beginnings:
    """The best beginnings that are one word longer; a word that a text has twice is said once at a time."""
    rows, places = np.nonzero(open_.left)
    said = words[open_.text[rows], places]
    first = np.unique(rows * np.int64(len(model.vocabulary)) + said, return_index=True)[1]
    rows, places, said = rows[first], places[first], said[first]
    score = open_.score[rows] + _chance(model, said, open_.last[rows]) - model.frequency[said]
    order = np.lexsort((-score, open_.text[rows]))
    owner = open_.text[rows[order]]
    begins = np.flatnonzero(np.diff(owner, prepend=-1))
    rank = np.arange(len(owner)) - np.repeat(begins, np.diff(begins, append=len(owner)))
    kept = order[rank < BEAM]
    return open_.said(rows[kept], places[kept], said[kept], score[kept])


def _best(model: NgramModel, ended: _Beginnings) -> dict[int, list[int]]:
    """Of texts that are said to their ends, the likeliest way of each."""
    score = ended.score + _chance(model, np.full(len(ended.text), END), ended.last)
    order = np.argsort(score, kind="stable")  # the best of a text comes last and stays
    return {int(ended.text[row]): ended.path[row].tolist() for row in order.tolist()}


def _chance(model: NgramModel, words: Ints, last: Ints) -> Floats:
    """log p of words after others; an unknown one ends the context."""
    context = last.T.copy()
    context[np.logical_or.accumulate(context == UNKNOWN, axis=0)] = -1
    return model.scores(words, context).astype(np.float64)
