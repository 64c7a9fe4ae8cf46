"""The share of the candidate's letters that its references use: a metric with an analysis of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from vericap import Explanation, Metric, Option, Settings, Statistics
from vericap.core.analysis import Analysis, Key
from vericap.core.batch import Batch


@dataclass(frozen=True)
class Letters(Analysis[list[frozenset[str]]]):
    """The letters of every text."""

    case: bool = False
    cost: ClassVar[int] = 300

    def compute(self, batch: Batch, runtime: Any) -> list[frozenset[str]]:
        texts = batch.texts if self.case else [text.lower() for text in batch.texts]
        return [frozenset(filter(str.isalpha, text)) for text in texts]


class LetterShare(Metric):
    name, title = "letter-share", "Letters shared with references"
    options: ClassVar = {"case": Option(False, "tell capitals from small letters")}
    sets = ("letters",)
    card = "# Letters shared with references\n\nShare of the candidate's letters that some reference uses."

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        return (Letters(self.opt.case),)

    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        letters = batch[Letters(self.opt.case)]
        values, problems = np.full(len(batch), np.nan), {}
        for row, text in enumerate(batch.candidates):
            there = frozenset[str]().union(*(letters[i] for i in batch.references(row)))
            if not len(batch.references(row)):
                problems[row] = "no reference to compare with"
            else:
                values[row] = len(letters[text] & there) / max(len(letters[text]), 1)
        return Statistics(values, problems)

    def explain(
        self, batch: Batch, rows: Sequence[int], state: Any = None, *, full: bool = False
    ) -> list[Explanation | None]:
        letters = batch[Letters(self.opt.case)]
        return [Explanation(self.label, facts={"letters": len(letters[batch.candidates[row]])}) for row in rows]
