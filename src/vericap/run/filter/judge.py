"""Rows judged by an expression: metrics score what a condition needs, conditions reject, shares cut."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from vericap.core.batch import Batch
from vericap.core.errors import VericapError
from vericap.core.metric import Metric
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.core.statistics import Statistics
from vericap.core.typing import Array, Ints
from vericap.run import processes
from vericap.run.engine import Run
from vericap.run.filter import plan, truth
from vericap.run.filter.columns import TEXT_RULES, Sources
from vericap.run.filter.grammar import ExpressionError
from vericap.run.filter.state import KEPT, UNREADABLE, Rows, State
from vericap.run.filter.tree import Node, Share, columns
from vericap.run.filter.truth import Cut, Truth
from vericap.run.fitting import check_needs

_SHARES = 4  # of a piece for each process: where one is slower the others do more
_FEWEST = 8  # samples that are worth sending to another process


class Judge:
    """An expression over metrics that stay warm.

    Parameters
    ----------
    sources : the expression and where its columns come from.
    settings : choices that all metrics share.
    cascade : score with a metric only what cheaper conditions left; without it every metric sees every record. What is
        kept, and which condition rejects a record, is the same.
    """

    def __init__(self, sources: Sources, settings: Settings | None = None, *, cascade: bool = False) -> None:
        self.sources, self.settings, self.cascade = sources, settings or Settings(), cascade
        self.stages = plan.stages(sources, self.settings)
        self.conditions: list[Node] = [condition for stage in self.stages for condition in stage.conditions]
        self._runs: dict[tuple[str, ...], Run] = {}
        self._checked: set[str] = set()
        self._crew: processes.Workers | None = None
        if self.settings.df == "corpus" and any(metric.prepares for metric in sources.metrics.values()):
            named = ", ".join(label for label, metric in sources.metrics.items() if metric.prepares)
            raise VericapError(
                f"{named} would depend on the other captions of the file; bring document frequencies: `df=FILE` "
                "(or coco-val)"
            )

    def __enter__(self) -> Judge:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        """End the processes that were started."""
        if self._crew is not None:
            self._crew.__exit__(kind, *rest)
            self._crew = None

    @property
    def labels(self) -> tuple[str, ...]:
        """Metrics that conditions read."""
        return plan.labels(self.conditions, self.sources)

    def work(self, records: Rows, state: State, stages: Sequence[int]) -> None:
        """Judge some records by some stages; the last one may have a share, which `cut` decides."""
        if not self.cascade:
            self.score(records, state, self.labels, np.flatnonzero(state.failed != UNREADABLE))
        for number in stages:
            stage = self.stages[number]
            entered = state.failed == KEPT
            for step in stage.steps:
                self.score(records, state, step.metrics, state.alive)
                for condition in step.conditions:
                    self._reject(records, state, condition)
            if stage.whole.conditions:
                state.entered = entered
                self.score(records, state, stage.whole.metrics, np.flatnonzero(entered))
                self._hold(records, state, stage.whole.conditions)

    def cut(self, states: Sequence[State], number: int) -> dict[Share, Cut]:
        """Decide the shares of a stage over all records that entered it, and reject what is outside."""
        stage = self.stages[number]
        outcomes: dict[Share, Truth] = {}
        cuts: dict[Share, Cut] = {}
        entrants = [np.flatnonzero(state.entered) for state in states if state.entered is not None]
        for share in stage.shares:
            source = self.sources.of[share.column.name]
            values = [truth.numbers(state.columns[source.name][rows]) for state, rows in zip(states, entrants)]
            highest = share.best != source.lower  # of a metric for which lower is better the lowest are the best
            found = np.concatenate(values) if values else np.zeros(0)
            outcomes[share], cuts[share] = truth.best_share(found, share.share, highest=highest)
        start = 0
        for state, rows in zip(states, entrants):
            own = {share: one.take(np.arange(start, start + len(rows))) for share, one in outcomes.items()}
            start += len(rows)
            self._reject_whole(state, rows, stage.whole.conditions, own)
        return cuts

    # --- scores -------------------------------------------------------------------------------------------------

    def score(self, records: Rows, state: State, labels: Sequence[str], rows: Ints) -> None:
        """Score rows with the metrics that have not seen them; metrics with the same rows share one run."""
        groups: dict[bytes, tuple[Ints, list[str]]] = {}
        for label in labels:
            seen = state.scored.setdefault(label, np.zeros(len(records), dtype=np.bool_))
            new = rows[~seen[rows]]
            if len(new):
                groups.setdefault(new.tobytes(), (new, []))[1].append(label)
        for new, together in groups.values():
            self._score(records, state, together, new)

    def _score(self, records: Rows, state: State, labels: Sequence[str], rows: Ints) -> None:
        run = self._run(tuple(labels))
        self._check(run, records)
        samples = run.name_images([records.samples[row] for row in rows.tolist()])
        lacking = {metric.label: reason for metric in run.metrics if (reason := _lacks(metric, samples))}
        for label, reason in lacking.items():
            _put(state, label, rows, np.full(len(rows), np.nan))
            state.problems.setdefault(label, {}).update(dict.fromkeys(rows.tolist(), reason))
        able = tuple(label for label in labels if label not in lacking)
        found = self._statistics(able, samples) if able else {}
        for label in labels:
            state.scored[label][rows] = True
            if label in found:
                self._fill(state, found[label], label, rows)

    def _statistics(self, labels: tuple[str, ...], samples: Sequence[Sample]) -> Mapping[str, Statistics]:
        """What metrics compute of some samples: here, or in processes that stay open from piece to piece."""
        run, workers = self._run(labels), self.settings.workers
        size = -(-len(samples) // (_SHARES * workers))
        if workers == 1 or size < _FEWEST or not processes.portable(list(run.metrics)):
            return run.score(samples).statistics
        self._crew = self._crew or processes.Workers(workers)
        settings = replace(run.settings, workers=1, threads=run.settings.threads or 1)
        parts = (samples[start : start + size] for start in range(0, len(samples), size))
        each = list(self._crew.map(partial(_scored, tuple(run.metrics), settings), parts))
        return {label: Statistics.concatenate([part[label] for part in each]) for label in labels}

    def _run(self, labels: tuple[str, ...]) -> Run:
        if labels not in self._runs:
            settings = replace(self.settings, progress=False)  # who goes through the pieces shows a bar
            self._runs[labels] = Run([self.sources.metrics[label] for label in labels], settings)
        return self._runs[labels]

    def _check(self, run: Run, records: Rows) -> None:
        """Refuse a metric whose input is nowhere in the first records it meets: a mistake, not a bad record."""
        new = [metric for metric in run.metrics if metric.label not in self._checked]
        if new:
            batch = Batch.of([one for one in run.name_images(records.samples) if not one.problem], self.settings)
            for metric in new:
                check_needs(metric, batch)
                self._checked.add(metric.label)

    def _fill(self, state: State, statistics: Statistics, label: str, rows: Ints) -> None:
        """Scores of a metric and those of its columns that are read, into the columns of all records."""
        scores = self.sources.metrics[label].captions(statistics.values)
        scores = np.where(np.isnan(statistics.values[:, 0]), np.nan, scores)
        _put(state, label, rows, scores)
        for source in self.sources.of.values():
            if source.kind == "metric" and source.key == label:
                _put(state, source.name, rows, self._part(statistics, source.part) if source.part else scores)
        own = state.problems.setdefault(label, {})
        for place, reason in statistics.problems.items():
            if statistics.undefined(place):
                own[int(rows[place])] = reason

    def _part(self, statistics: Statistics, part: str) -> Array:
        if part in statistics.columns:
            return np.asarray(statistics.columns[part])
        column = next(one for one in self.sources.expression.columns if one.name.endswith(f".{part}"))
        known = ", ".join(statistics.columns) or "none"
        label = column.name.removesuffix(f".{part}")
        reason = f"'{label}' has no column '{part}'; it has: {known}"
        end = column.start + len(column.name)
        raise ExpressionError(reason, self.sources.expression.text, column.start, end)

    # --- conditions ---------------------------------------------------------------------------------------------

    def _reject(self, records: Rows, state: State, condition: Node) -> None:
        rows = state.alive
        values = {column.name: self.values(records, state, column.name, rows) for column in columns(condition)}
        state.failed[rows[~truth.judge(condition, values).yes]] = self.conditions.index(condition)

    def values(self, records: Rows, state: State, name: str, rows: Ints) -> Array:
        """Some rows of a column."""
        source = self.sources.of[name]
        if source.kind == "rule":
            return TEXT_RULES[source.key].column([records.samples[row].candidate for row in rows.tolist()])
        if source.kind == "input":
            return records.column(source.key)[rows]
        if name not in state.columns:  # no record was left for the metric to see
            return np.full(len(rows), np.nan)
        return state.columns[name][rows]

    def _hold(self, records: Rows, state: State, conditions: Sequence[Node]) -> None:
        """Keep what conditions with a share read: they are judged when the records are no longer at hand."""
        everyone = np.arange(len(records))
        for name in _names(conditions):
            state.columns[name] = self.values(records, state, name, everyone)

    def _reject_whole(
        self, state: State, entrants: Ints, conditions: Sequence[Node], shares: dict[Share, Truth]
    ) -> None:
        for condition in conditions:
            values = {column.name: state.columns[column.name][entrants] for column in columns(condition)}
            holds = truth.judge(condition, values, shares).yes
            lost = entrants[~holds & (state.failed[entrants] == KEPT)]
            state.failed[lost] = self.conditions.index(condition)


def _scored(metrics: tuple[Metric, ...], settings: Settings, samples: Sequence[Sample]) -> dict[str, Statistics]:
    """In another process, whose networks stay open."""
    return Run(metrics, settings).score(samples).statistics


def _names(conditions: Sequence[Node]) -> Iterator[str]:
    yield from dict.fromkeys(column.name for condition in conditions for column in columns(condition))


def _put(state: State, name: str, rows: Ints, values: Array) -> None:
    if name not in state.columns:
        empty = None if values.dtype == object else np.nan
        state.columns[name] = np.full(len(state.failed), empty, dtype=object if empty is None else np.float64)
    state.columns[name][rows] = values


def _lacks(metric: Metric, samples: Sequence[Sample]) -> str:
    """What a metric needs and none of some samples has; other records of the file have it."""
    if "image" in metric.needs and all(sample.image is None for sample in samples):
        return "names no image"
    if "references" in metric.needs and not any(sample.references for sample in samples):
        return "has no references"
    return ""
