"""Systems side by side: corpus scores and paired p-values against the first system."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vericap.errors import VericapError
from vericap.metrics.base import Metric
from vericap.report.tables import Table
from vericap.results import Result
from vericap.run.batch import Settings
from vericap.run.significance import (
    aggregate,
    approximate_randomisation,
    bootstrap,
    interval,
    paired_bootstrap,
)
from vericap.samples import Sample

TESTS = ("bootstrap", "randomisation")


@dataclass
class Comparison:
    """Results by system, p-values by (system, metric), and how they were made."""

    results: dict[str, Result]
    p_values: dict[tuple[str, str], float]
    intervals: dict[tuple[str, str], tuple[float, float]]
    test: str
    resamples: int
    captions: int
    notes: list[str]

    @property
    def baseline(self) -> str:
        return next(iter(self.results))

    @property
    def metrics(self) -> list[str]:
        return list(self.results[self.baseline].metrics)

    def table(self, *, digits: int = 4) -> Table:
        """Systems x metrics; * marks p < 0.05 against the first system."""
        judges = self.results[self.baseline].metrics
        heads = [f"{name} (lower)" if judges[name].direction == "lower" else name for name in self.metrics]
        table = Table(["system", *heads], digits=digits)
        for system, result in self.results.items():
            cells = []
            for metric in self.metrics:
                value = result.corpus[metric].value
                p = self.p_values.get((system, metric))
                star = "*" if p is not None and p < 0.05 else " "
                cells.append("undefined" if value is None else f"{value:.{digits}f}{star}")
            table.add(system, *cells)
        name = "paired bootstrap" if self.test == "bootstrap" else "approximate randomisation"
        table.notes = [
            f"* differs from {self.baseline} with p < 0.05 ({name}, {self.resamples} resamples, "
            f"{self.captions} captions in common)",
            *self.notes,
        ]
        return table

    def details(self, *, digits: int = 4) -> Table:
        """One line per system and metric: value, interval, difference, p."""
        table = Table(
            ["system", "metric", "value", "95 % low", "95 % high", "difference", "p"], digits=digits
        )
        for system, result in self.results.items():
            for metric in self.metrics:
                value = result.corpus[metric].value
                base = self.results[self.baseline].corpus[metric].value
                low, high = self.intervals[system, metric]
                gap = None if value is None or base is None or system == self.baseline else value - base
                table.add(system, metric, value, low, high, gap, self.p_values.get((system, metric)))
        return table


def compare_samples(
    systems: Mapping[str, Sequence[Sample]],
    metrics: str | Iterable[str | Metric],
    settings: Settings | None = None,
    *,
    test: str = "bootstrap",
    resamples: int = 1000,
) -> Comparison:
    """Score systems on the captions they have in common, and test the differences."""
    from vericap.run.engine import score_batch

    settings = settings or Settings()
    metrics = metrics if isinstance(metrics, str) else list(metrics)
    shared = set.intersection(*({sample.id for sample in samples} for samples in systems.values()))
    notes = [
        f"note: {name} has {len(samples)} captions; all scores are on the {len(shared)} common to all systems"
        for name, samples in systems.items()
        if len(samples) != len(shared)
    ]
    if not shared:
        raise VericapError("the systems have no caption id in common; were they made for the same images?")
    results = {
        name: score_batch([sample for sample in samples if sample.id in shared], metrics, settings)
        for name, samples in systems.items()
    }
    found = compare_results(results, test=test, resamples=resamples, seed=settings.seed)
    found.notes = notes
    return found


def compare_results(
    results: Mapping[str, Result], *, test: str = "bootstrap", resamples: int = 1000, seed: int = 0
) -> Comparison:
    """Paired tests on the captions that all systems have."""
    if test not in TESTS:
        raise VericapError(f"test '{test}' is not one of {', '.join(TESTS)}")
    if len(results) < 2:
        raise VericapError("comparing needs at least two systems")
    shared = _common(results)
    names = list(results)
    metrics = list(results[names[0]].metrics)
    draws, values = {}, {}
    for name in names:
        result = results[name]
        place_of = {identifier: row for row, identifier in enumerate(result.ids)}
        rows = [place_of[identifier] for identifier in shared]
        found = [result.statistics[m].values[rows] for m in metrics]
        values[name] = found
        # The same seed gives every system the same draws: the test is paired.
        draws[name] = bootstrap([result.metrics[m] for m in metrics], found, resamples=resamples, seed=seed)
    p_values, intervals = {}, {}
    for name in names:
        for place, metric in enumerate(metrics):
            intervals[name, metric] = interval(draws[name][:, place])
            if name == names[0]:
                continue
            judge = results[name].metrics[metric]
            one, two = values[names[0]][place], values[name][place]
            if test == "bootstrap":
                gap = draws[name][:, place] - draws[names[0]][:, place]
                p = paired_bootstrap(gap, aggregate(judge, two) - aggregate(judge, one))
            else:
                p = approximate_randomisation(judge, one, two, trials=resamples, seed=seed)
            if not np.isnan(p):
                p_values[name, metric] = p
    return Comparison(dict(results), p_values, intervals, test, resamples, len(shared), [])


def _common(results: Mapping[str, Result]) -> list[str]:
    """Ids that every system has, in the first system's order."""
    first = next(iter(results.values()))
    shared = set(first.ids).intersection(*(result.ids for result in results.values()))
    if not shared:
        raise VericapError("the systems have no caption id in common; were they made for the same images?")
    return [identifier for identifier in first.ids if identifier in shared]
