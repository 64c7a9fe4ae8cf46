"""Cosine between sentence vectors of the candidate and its references."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from vericap.core.analysis import Key
from vericap.core.batch import Batch
from vericap.core.explanation import Explanation
from vericap.core.metric import Metric, Option
from vericap.core.settings import Settings
from vericap.core.statistics import Statistics
from vericap.metrics.toolbox import NO_REFERENCE, NO_WORD, reference_cosines, row_means, wordless
from vericap.run.analyses import Sentences
from vericap.text.encoders import CAPTIONS, HELP


class Sentence(Metric):
    name, title = "sentence", "Sentence cosine"
    range = (-1.0, 1.0)
    needs = ("references",)
    languages = ("en", "ja")
    options: ClassVar[Mapping[str, Option]] = {
        "pool": Option("mean", "over references: their mean cosine, or the best one", choices=("mean", "best")),
        "encoder": Option(CAPTIONS, f"{HELP} (English)"),
    }

    def _sentences(self, settings: Settings) -> Sentences:
        return Sentences(settings.lang, self.opt.encoder)

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        return (self._sentences(settings),)

    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        cosines, rows = reference_cosines(batch, batch[self._sentences(batch.settings)])
        if self.opt.pool == "mean":
            score = row_means(cosines, rows, len(batch))
        else:
            score = np.full(len(batch), -np.inf)
            np.maximum.at(score, rows, cosines)
            score[np.isinf(score)] = np.nan
        problems = {row: _reason(batch, row) for row in np.flatnonzero(np.isnan(score)).tolist()}
        for row in wordless(batch):
            if row not in problems:
                score[row] = 0.0
                problems[row] = f"{NO_WORD} and scores 0"
        return Statistics(score, problems)

    def explain(
        self, batch: Batch, rows: Sequence[int], state: Any = None, *, full: bool = False
    ) -> list[Explanation | None]:
        """The cosine to each reference that holds a word, nearest first; long references are cut."""
        some = batch.select(rows)
        cosines, place = reference_cosines(some, batch[self._sentences(batch.settings)])
        texts = [some.texts[text] for text in some.reference_index[batch.worded()[some.reference_index]]]
        silent = wordless(some)
        near: list[list[tuple[float, str]]] = [[] for _ in rows]
        for row, cosine, text in zip(place.tolist(), cosines.tolist(), texts):
            near[row].append((cosine, text))
        return [
            None if row in silent or not own else Explanation(self.label, facts={"cosines": _nearest(own, full=full)})
            for row, own in enumerate(near)
        ]


def _nearest(own: list[tuple[float, str]], *, full: bool) -> list[dict[str, Any]]:
    """References by cosine; of many only the nearest and the farthest."""
    ranked = sorted(own, key=lambda item: -item[0])
    shown = ranked if full or len(ranked) <= 10 else [*ranked[:5], *ranked[-5:]]
    return [{"reference": text if full else text[:120], "cosine": cosine} for cosine, text in shown]


def _reason(batch: Batch, row: int) -> str:
    return "no reference has a word" if len(batch.references(row)) else NO_REFERENCE
