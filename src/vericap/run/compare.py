"""Systems side by side: corpus scores, paired tests against the first system, and what is suspicious."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from vericap.core.errors import VericapError
from vericap.core.metric import Metric
from vericap.core.renders import Renders
from vericap.core.samples import Sample
from vericap.core.table import Table
from vericap.core.typing import Floats
from vericap.run.compare_tables import caption_rows, details_table, scores_table, with_protocol
from vericap.run.engine import Run
from vericap.run.results import Result, signature_notes
from vericap.run.significance import (
    RESAMPLES,
    aggregate,
    bootstrap,
    holm,
    interval,
    paired_bootstrap,
    randomisation,
)

if TYPE_CHECKING:
    from pathlib import Path

    from vericap.run.diagnosis import Finding

TESTS = ("bootstrap", "randomisation")
NAMES = {"bootstrap": "paired bootstrap", "randomisation": "approximate randomisation"}
MORE = 100_000  # draws where a star would hang on the seed
LEVEL = 0.05
NOTHING_SHARED = "the systems have no caption id in common; were they made for the same images?"

Pair = tuple[str, str]  # system, metric
Meaning = Callable[[str, float], str]  # metric, difference -> in words; `vericap.meta.gaps.meaning` is one


@dataclass
class Comparison(Renders):
    """Results by system, tests by (system, metric), and how they were made.

    Attributes
    ----------
    results : dict of Result
        Scores by system; the first system is the one that others are tested against.
    p_values, adjusted : dict
        p of each later system and metric, alone and by Holm's adjustment over all of them.
    intervals : dict
        95 % bootstrap intervals of every system and metric.
    test, resamples, captions, level : Any
        How it was tested, and the adjusted p below which a star is set.
    notes : list of str
        What to know of the numbers.
    diagnosis : dict
        What is suspicious about each system's captions, and habits that move its scores.

    Examples
    --------
    >>> import vericap
    >>> found = vericap.compare({"a": ["a dog"], "b": ["a cow"]}, [["a dog"]], "rouge-l", resamples=10)
    >>> found.results["b"].corpus["rouge-l"].value
    0.5
    """

    results: dict[str, Result]
    p_values: dict[Pair, float]
    intervals: dict[Pair, tuple[float, float]]
    test: str
    resamples: int
    captions: int
    level: float = LEVEL
    notes: list[str] = field(default_factory=list)
    samples: dict[str, list[Sample]] = field(default_factory=dict, repr=False)
    lang: str = "en"
    meaning: Meaning | None = field(default=None, repr=False)  # what a difference of a metric means to people
    caveat: str = ""  # how to read these meanings; it stands where they do
    reporter: Callable[..., Path] | None = field(default=None, repr=False, compare=False)  # set by who has the run
    adjusted: dict[Pair, float] = field(init=False)

    def __post_init__(self) -> None:
        self.adjusted = dict(zip(self.p_values, holm(list(self.p_values.values()))))

    @cached_property
    def diagnosis(self) -> dict[str, list[Finding]]:
        """Findings by system, looked for when somebody asks."""
        from vericap.run.diagnosis import diagnose

        return {
            name: diagnose(own, self.results[name], lang=self.lang, habits=True) for name, own in self.samples.items()
        }

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

    @property
    def protocol(self) -> dict[str, Any]:
        """How the differences were tested; it stands in every form of output."""
        return {
            "test": NAMES[self.test],
            "resamples": self.resamples,
            "adjustment": f"Holm over {len(self.p_values)} tests",
            "captions": self.captions,
        }

    def difference(self, system: str, metric: str) -> float | None:
        """The system's score less that of the first system; None where one of them is undefined."""
        base, own = (self.results[name].corpus[metric].value for name in (self.baseline, system))
        return None if base is None or own is None else own - base

    def starred(self, system: str, metric: str) -> bool:
        """Whether the system differs from the first one, all tests taken together."""
        return self.adjusted.get((system, metric), 1.0) < self.level

    def undecided(self) -> list[Pair]:
        """Where the adjusted p is within three standard errors of the level: other draws might set another star."""
        found = []
        for pair, p in self.p_values.items():
            error = self.adjusted[pair] / p * np.sqrt(p * (1 - p) / self.resamples)
            if abs(self.adjusted[pair] - self.level) < 3 * error:
                found.append(pair)
        return found

    # --- output -------------------------------------------------------------------------------------------------

    def table(self, *, digits: int = 4, x100: bool = False, signatures: bool = False) -> Table:
        """Systems x metrics: the best in bold, * marks an adjusted p below the level against the first system."""
        return scores_table(self, digits=digits, x100=x100, signatures=signatures)

    def details(self, *, digits: int = 4, x100: bool = False) -> Table:
        """One line per system and metric: value, interval, difference, p, adjusted p, signature."""
        return details_table(self, digits=digits, x100=x100)

    def captions_table(self) -> Iterator[dict[str, Any]]:
        """One row per caption: `id`, and of every system `SYSTEM.candidate` and `SYSTEM.METRIC`."""
        return caption_rows(self)

    def __str__(self) -> str:
        return self.table().text()

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return self.table().html()

    def report(self, folder: str | Path, **options: Any) -> Path:
        """Write a report with photos and reasons; as `Result.report`."""
        if self.reporter is None:
            raise VericapError("this comparison does not hold its run; compare with `vericap.compare`")
        return self.reporter(self, folder, **options)

    @property
    def tested(self) -> str:
        """How the differences were tested, in words."""
        how = self.protocol
        return f"{how['test']}, {how['resamples']} resamples, {how['adjustment']}, {self.captions} captions in common"

    @property
    def remarks(self) -> list[str]:
        """Notes, and the tests whose outcome hangs on the draws."""
        near = [
            f"note: {system}, {metric}: adjusted p {self.adjusted[system, metric]:.4f} is so near {self.level:g} that "
            "another seed may decide otherwise; a larger `resamples=N` settles it"
            for system, metric in self.undecided()
        ]
        return [*self.notes, *near]

    def form(self, kind: str, *, details: bool = False, x100: bool = False, signatures: bool = False) -> Table:
        """The table, or the detailed one, as a form of output wants it: each names test and captions."""
        if kind == "csv":
            table = self.details(x100=x100) if details else self.table(x100=x100)
            return with_protocol(table, self.protocol)
        if not details:
            return self.table(x100=x100, signatures=signatures)
        table = details_table(self, x100=x100, people=True)
        table.notes += signature_notes(self.signatures) if signatures else []
        return table

    def render(self, kind: str, *, details: bool = False, x100: bool = False) -> str:
        """The table, or the detailed one, as text, markdown, latex, html, csv or json."""
        if kind == "json":
            return json.dumps(self.as_dict(x100=x100), ensure_ascii=False, indent=2) + "\n"
        return self.form(kind, details=details, x100=x100).render(kind)

    def to_csv(self, path: str | Path | None = None) -> str:
        """The detailed table as CSV, as `vericap compare --output x.csv` writes it."""
        return self.form("csv", details=True).to_csv(path)

    def as_dict(self, *, x100: bool = False) -> dict[str, Any]:
        """Everything as plain data: detailed rows, protocol, notes, diagnosis."""
        table = self.details(x100=x100)
        findings = {name: [one.as_dict() for one in own] for name, own in self.diagnosis.items()}
        scale = {"x100": True} if x100 else {}
        return {
            "rows": table.records(), **scale, **self.protocol, "level": self.level, "notes": table.remarks(),
            "diagnosis": findings,
        }  # fmt: skip


def compare_samples(
    systems: Mapping[str, Sequence[Sample]],
    run: Run,
    *,
    test: str = "bootstrap",
    resamples: int | None = None,
    level: float = LEVEL,
) -> Comparison:
    """Score systems on the captions they have in common, and test the differences. What they share is analysed once."""
    _check(systems, test, level)
    shared = set.intersection(*({sample.id for sample in samples} for samples in systems.values()))
    if not shared:
        raise VericapError(NOTHING_SHARED)
    parts = {name: [sample for sample in samples if sample.id in shared] for name, samples in systems.items()}
    results = run.score_parts(parts)
    found = compare_results(results, test=test, resamples=resamples, seed=run.settings.seed, level=level)
    found.notes = [
        f"note: {name} has {len(samples)} captions; all scores are on the {len(shared)} common to all systems"
        for name, samples in systems.items()
        if len(samples) != len(shared)
    ]
    found.samples, found.lang = parts, run.settings.lang
    return found


def compare_results(
    results: Mapping[str, Result],
    *,
    test: str = "bootstrap",
    resamples: int | None = None,
    seed: int = 0,
    level: float = LEVEL,
) -> Comparison:
    """Paired tests on the captions that all systems have.

    Without `resamples` there are 20,000, and 100,000 where a star would otherwise hang on the seed.
    """
    _check(results, test, level)
    shared = _common(results)
    metrics = list(next(iter(results.values())).metrics.values())
    values = {name: _values(result, shared, metrics) for name, result in results.items()}
    for draws in (RESAMPLES, MORE) if resamples is None else (resamples,):
        found = _tested(dict(results), metrics, values, test=test, resamples=draws, seed=seed, level=level)
        if not found.undecided():
            break
    return found


def _tested(
    results: dict[str, Result],
    metrics: Sequence[Metric],
    values: Mapping[str, list[Floats]],
    *,
    test: str,
    resamples: int,
    seed: int,
    level: float,
) -> Comparison:
    """The tests with a given number of draws: the same ones for every system and metric, so that they are paired."""
    pairs = [(name, metric.label) for name in values for metric in metrics]
    judges, columns = [*metrics] * len(values), [own for each in values.values() for own in each]
    draws = bootstrap(judges, columns, resamples=resamples, seed=seed)
    later = range(len(metrics), len(pairs))  # systems after the first, each beside the first one's same metric
    base = [place % len(metrics) for place in later]
    if test == "bootstrap":
        scores = [aggregate(metric, own) for metric, own in zip(judges, columns)]
        p_values = [
            paired_bootstrap(draws[:, two] - draws[:, one], scores[two] - scores[one]) for one, two in zip(base, later)
        ]
    else:
        one, two = [columns[place] for place in base], [columns[place] for place in later]
        p_values = randomisation(judges[len(metrics) :], one, two, trials=resamples, seed=seed)
    return Comparison(
        results,
        p_values={pairs[place]: p for place, p in zip(later, p_values) if p == p},
        intervals={pair: interval(own) for pair, own in zip(pairs, draws.T)},
        test=test,
        resamples=resamples,
        captions=len(columns[0]),
        level=level,
    )


def _check(systems: Mapping[str, object], test: str, level: float) -> None:
    if test not in TESTS:
        raise VericapError(f"`test={test}` is not one of {', '.join(TESTS)}")
    if not 0.0 < level < 1.0:
        raise VericapError(f"`level={level}` is not between 0 and 1; 0.05 is usual")
    if len(systems) < 2:
        raise VericapError("comparing needs at least two systems: vericap compare a.json b.json")


def _values(result: Result, shared: Sequence[str], metrics: Sequence[Metric]) -> list[Floats]:
    place_of = {identifier: row for row, identifier in enumerate(result.ids)}
    rows = [place_of[identifier] for identifier in shared]
    return [result.statistics[metric.label].values[rows] for metric in metrics]


def _common(results: Mapping[str, Result]) -> list[str]:
    """Ids that every system has, in the first system's order."""
    first = next(iter(results.values()))
    shared = set(first.ids).intersection(*(result.ids for result in results.values()))
    if not shared:
        raise VericapError(NOTHING_SHARED)
    return [identifier for identifier in first.ids if identifier in shared]
