"""Word Mover's Distance (Kusner et al. 2015) between the candidate and its references, as a similarity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from vericap.metrics.base import Metric, Option, Statistics
from vericap.run.batch import Batch
from vericap.text.transport import distances
from vericap.text.word_space import WordSpace, word_space

NO_WORD = "the caption has no content word with a vector and scores 0"


class Wmd(Metric):
    name, title = "wmd", "WMD"
    range = (0.0, 1.0)
    needs = ("references",)
    analyses = ("tokens",)
    options: ClassVar[Mapping[str, Option]] = {
        "pool": Option("best", "which reference counts", choices=("best", "worst", "mean")),
        "p": Option(2.0, "moving a word costs distance^p"),
        "normalise": Option(True, "bring word vectors to length 1"),
        "centre": Option(True, "remove the mean vector of the table first"),
        "vectors": Option("encoder", "word vectors: 'encoder' or a word2vec, GloVe, fastText or .npy file"),
    }

    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        space = self.space(batch)
        distance = self.pooled(batch, space)
        missing = np.flatnonzero(np.isnan(distance)).tolist()
        problems = {row: _reason(batch, space, row) for row in missing}
        score = np.exp(-np.nan_to_num(distance, nan=np.inf))
        for row, reason in problems.items():
            if reason != NO_WORD:
                score[row] = np.nan
        unknown = [len(space.unknown.get(int(text), ())) for text in batch.candidates]
        columns = {"distance": distance, "unknown_words": np.array(unknown, dtype=np.int64)}
        return Statistics(score, problems, columns)

    def pooled(self, batch: Batch, space: WordSpace) -> NDArray[np.float64]:
        """Best, worst or mean distance over the references that have words; NaN without any."""
        counts = batch.reference_counts()
        left = space.texts.take(np.repeat(batch.candidates, counts))
        found = distances(space.vectors, left, space.texts.take(batch.reference_index), p=self.opt.p)
        usable = ~np.isnan(found)
        row = np.repeat(np.arange(len(batch)), counts)[usable]
        found = found[usable]
        number = np.bincount(row, minlength=len(batch))
        if self.opt.pool == "mean":
            pooled = np.bincount(row, found, minlength=len(batch)) / np.maximum(number, 1)
        else:
            best = self.opt.pool == "best"
            pooled = np.full(len(batch), np.inf if best else -np.inf)
            (np.minimum if best else np.maximum).at(pooled, row, found)
        return np.where(number > 0, pooled, np.nan)

    def space(self, batch: Batch) -> WordSpace:
        options = self.opt
        return word_space(batch, options.vectors, normalise=options.normalise, centre=options.centre)

    def signature_parts(self, batch: Batch) -> dict[str, str]:
        return {"vectors": self.space(batch).source.name}


def _reason(batch: Batch, space: WordSpace, row: int) -> str:
    if not len(batch.references(row)):
        return "no reference to compare with"
    if space.texts.sizes()[batch.candidates[row]] == 0:
        return NO_WORD
    return "no reference has a content word with a vector"
