"""Systems side by side: corpus scores and paired p-values against the first system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from vericap.core.errors import VericapError
from vericap.core.metric import Metric
from vericap.core.samples import Sample
from vericap.core.table import Table
from vericap.core.typing import Floats
from vericap.run.engine import Run
from vericap.run.results import Result
from vericap.run.significance import aggregate, approximate_randomisation, bootstrap, interval, paired_bootstrap

TESTS = ("bootstrap", "randomisation")
NOTHING_SHARED = "the systems have no caption id in common; were they made for the same images?"


@dataclass
class Comparison:
    """Results by system, p-values by (system, metric), and how they were made."""

    results: dict[str, Result]
    p_values: dict[tuple[str, str], float]
    intervals: dict[tuple[str, str], tuple[float, float]]
    test: str
    resamples: int
    captions: int
    notes: list[str] = field(default_factory=list)

    @property
    def baseline(self) -> str:
        """The system the others are tested against: the first."""
        return next(iter(self.results))

    @property
    def metrics(self) -> list[str]:
        return list(self.results[self.baseline].metrics)

    @property
    def signatures(self) -> dict[str, str]:
        """Signature by metric."""
        return {name: score.signature for name, score in self.results[self.baseline].corpus.items()}


    def table(self, *, digits: int = 4) -> Table:
        """Systems x metrics; * marks p < 0.05 against the first system."""
        judges = self.results[self.baseline].metrics
        heads = [f"{name} (lower)" if judges[name].direction == "lower" else name for name in self.metrics]
        table = Table(["system", *heads], digits=digits)
        for system in self.results:
            table.add(system, *(self._cell(system, metric, digits) for metric in self.metrics))
        name = "paired bootstrap" if self.test == "bootstrap" else "approximate randomisation"
        table.notes = [
            f"* differs from {self.baseline} with p < 0.05 ({name}, {self.resamples} resamples, "
            f"{self.captions} captions in common)",
            *self.notes,
        ]
        return table

    def _cell(self, system: str, metric: str, digits: int) -> str:
        value = self.results[system].corpus[metric].value
        p = self.p_values.get((system, metric))
        star = "*" if p is not None and p < 0.05 else " "
        return "undefined" if value is None else f"{value:.{digits}f}{star}"

    def details(self, *, digits: int = 4) -> Table:
        """One line per system and metric: value, interval, difference, p, signature."""
        columns = ["system", "metric", "value", "95 % low", "95 % high", "difference", "p", "signature"]
        table = Table(columns, digits=digits)
        for system, result in self.results.items():
            for metric in self.metrics:
                score = result.corpus[metric]
                base = self.results[self.baseline].corpus[metric].value
                low, high = self.intervals[system, metric]
                gap = None if score.value is None or base is None or system == self.baseline else score.value - base
                p = self.p_values.get((system, metric))
                table.add(system, metric, score.value, low, high, gap, p, score.signature)
        return table


def compare_samples(
    systems: Mapping[str, Sequence[Sample]], run: Run, *, test: str = "bootstrap", resamples: int = 1000
) -> Comparison:
    """Score systems on the captions they have in common, and test the differences. What they share is analysed once."""
    _check(systems, test)
    shared = set.intersection(*({sample.id for sample in samples} for samples in systems.values()))
    if not shared:
        raise VericapError(NOTHING_SHARED)
    notes = [
        f"note: {name} has {len(samples)} captions; all scores are on the {len(shared)} common to all systems"
        for name, samples in systems.items()
        if len(samples) != len(shared)
    ]
    parts = {name: [sample for sample in samples if sample.id in shared] for name, samples in systems.items()}
    found = compare_results(run.score_parts(parts), test=test, resamples=resamples, seed=run.settings.seed)
    found.notes = notes
    return found


def compare_results(
    results: Mapping[str, Result], *, test: str = "bootstrap", resamples: int = 1000, seed: int = 0
) -> Comparison:
    """Paired tests on the captions that all systems have."""
    _check(results, test)
    shared = _common(results)
    metrics = list(next(iter(results.values())).metrics.values())
    values = {name: _values(result, shared, metrics) for name, result in results.items()}
    draws = _draws(metrics, values, resamples=resamples, seed=seed)
    intervals = {
        (name, metric.label): interval(draws[name][:, place])
        for name in results
        for place, metric in enumerate(metrics)
    }
    p_values: dict[tuple[str, str], float] = {}
    base, *others = results
    for name in others:
        for place, metric in enumerate(metrics):
            one, two = values[base][place], values[name][place]
            if test == "bootstrap":
                gap = draws[name][:, place] - draws[base][:, place]
                p = paired_bootstrap(gap, aggregate(metric, two) - aggregate(metric, one))
            else:
                p = approximate_randomisation(metric, one, two, trials=resamples, seed=seed)
            if not np.isnan(p):
                p_values[name, metric.label] = p
    return Comparison(dict(results), p_values, intervals, test, resamples, len(shared))


def _check(systems: Mapping[str, object], test: str) -> None:
    if test not in TESTS:
        raise VericapError(f"`test={test}` is not one of {', '.join(TESTS)}")
    if len(systems) < 2:
        raise VericapError("comparing needs at least two systems")


def _values(result: Result, shared: Sequence[str], metrics: Sequence[Metric]) -> list[Floats]:
    place_of = {identifier: row for row, identifier in enumerate(result.ids)}
    rows = [place_of[identifier] for identifier in shared]
    return [result.statistics[metric.label].values[rows] for metric in metrics]


def _draws(
    metrics: Sequence[Metric], values: Mapping[str, list[Floats]], *, resamples: int, seed: int
) -> dict[str, Floats]:
    """Bootstrap scores of every system from the same draws: the test is paired, and captions are drawn once."""
    each = [column for found in values.values() for column in found]
    table = bootstrap([*metrics] * len(values), each, resamples=resamples, seed=seed)
    return dict(zip(values, np.split(table, len(values), axis=1)))


def _common(results: Mapping[str, Result]) -> list[str]:
    """Ids that every system has, in the first system's order."""
    first = next(iter(results.values()))
    shared = set(first.ids).intersection(*(result.ids for result in results.values()))
    if not shared:
        raise VericapError(NOTHING_SHARED)
    return [identifier for identifier in first.ids if identifier in shared]
