"""Word Mover's Distance (Kusner et al. 2015) between the candidate and its references, as a similarity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from vericap.core.analysis import Key
from vericap.core.batch import Batch
from vericap.core.explanation import Explanation, Move
from vericap.core.metric import Metric, Option
from vericap.core.samples import has_word
from vericap.core.settings import Settings
from vericap.core.statistics import Statistics
from vericap.core.typing import Floats, Ints
from vericap.metrics.evidence import shortened
from vericap.metrics.toolbox import NO_REFERENCE, row_means
from vericap.run.analyses import WordSpace
from vericap.text.transport import costs, distances, solve
from vericap.text.vectors import HELP as VECTORS
from vericap.text.word_table import WordTable

NO_CONTENT = "the caption has no content word with a vector and scores 0"


class Wmd(Metric):
    name, title = "wmd", "WMD"
    range = (0.0, 1.0)
    needs = ("references",)
    languages = ("en", "ja")
    options: ClassVar[Mapping[str, Option]] = {
        "pool": Option("best", "which reference counts", choices=("best", "worst", "mean")),
        "p": Option(2.0, "moving a word costs distance^p"),
        "normalise": Option(True, "bring word vectors to length 1"),
        "centre": Option(True, "remove the mean vector of the table first"),
        "vectors": Option("encoder", VECTORS),
    }

    def space(self, settings: Settings) -> WordSpace:
        opt = self.opt
        return WordSpace(opt.vectors, opt.normalise, opt.centre, settings.tokenizer, lang=settings.lang)

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        return (self.space(settings),)

    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        table = batch[self.space(batch.settings)]
        distance = self.pooled(*self.distances(batch, table), len(batch))
        problems = {row: _reason(batch, table, row) for row in np.flatnonzero(np.isnan(distance)).tolist()}
        score = np.exp(-np.nan_to_num(distance, nan=np.inf))
        score[[row for row, reason in problems.items() if reason != NO_CONTENT]] = np.nan
        unknown = [len(table.unknown.get(int(text), ())) for text in batch.candidates]
        columns = {"distance": distance, "unknown_words": np.array(unknown, dtype=np.int64)}
        return Statistics(score, problems, columns)

    def distances(self, batch: Batch, table: WordTable) -> tuple[Floats, Ints]:
        """Distance of each candidate to each of its references, NaN where one has no word, and the row of each."""
        rows = np.repeat(np.arange(len(batch)), batch.reference_counts())
        own, other = batch.candidates[rows], batch.reference_index
        found = distances(table.vectors, table.texts.take(own), table.texts.take(other), p=self.opt.p)
        worded = batch.worded()
        found[~(worded[own] & worded[other])] = np.nan  # a bracket is a token with letters ("-lrb-"), and no word
        return found, rows

    def pooled(self, found: Floats, rows: Ints, count: int) -> Floats:
        """Best, worst or mean distance over the references that have words; NaN without any."""
        usable = ~np.isnan(found)
        rows, found = rows[usable], found[usable]
        if self.opt.pool == "mean":
            return row_means(found, rows, count)
        best = self.opt.pool == "best"
        pooled = np.full(count, np.inf if best else -np.inf)
        (np.minimum if best else np.maximum).at(pooled, rows, found)
        return np.where(np.bincount(rows, minlength=count) > 0, pooled, np.nan)

    def explain(
        self, batch: Batch, rows: Sequence[int], state: Any = None, *, full: bool = False
    ) -> list[Explanation | None]:
        """How the words of the reference that counts move onto the candidate's; of the nearest one for the mean."""
        table = batch[self.space(batch.settings)]
        some = batch.select(rows)
        found, _ = self.distances(some, table)
        spans = zip(some.reference_offsets, some.reference_offsets[1:])
        parts = (found[start:end] for start, end in spans)
        return [
            None if np.isnan(own).all() else shortened(self._reasons(some, table, row, own), full=full)
            for row, own in enumerate(parts)
        ]

    def _reasons(self, batch: Batch, table: WordTable, row: int, found: Floats) -> Explanation:
        place = int(np.nanargmax(found) if self.opt.pool == "worst" else np.nanargmin(found))
        candidate, reference = batch.candidates[row], batch.references(row)[place]
        left, right = table.texts.take(np.array([reference])), table.texts.take(np.array([candidate]))
        matrix = costs(table.vectors, left, right, 0, p=self.opt.p)
        _, plan = solve(matrix, left.weights, right.weights)
        moves = [
            Move(table.words[left.ids[i]], table.words[right.ids[j]], float(plan[i, j]), float(matrix[i, j]))
            for i, j in zip(*plan.nonzero())
        ]
        facts = {"reference": batch.texts[reference], "distance": float(found[place])}
        unknown = table.unknown.get(int(candidate), [])
        return Explanation(
            self.label,
            transport=tuple(sorted(moves, key=lambda move: -move.mass * move.cost)),
            facts={**facts, "unknown_words": unknown} if unknown else facts,
        )


def _reason(batch: Batch, table: WordTable, row: int) -> str:
    if not len(batch.references(row)):
        return NO_REFERENCE
    candidate = batch.candidates[row]
    if table.texts.sizes()[candidate] == 0 or not has_word(batch.texts[candidate]):
        return NO_CONTENT
    return "no reference has a content word with a vector"
