"""Scores of metrics on judged captions: one run for all of them, kept on disk, every failure with its reason."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from vericap.core.batch import Batch
from vericap.core.errors import VericapError
from vericap.core.keys import content_key
from vericap.core.languages import tokenizer_of
from vericap.core.metric import Metric
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.core.typing import Floats
from vericap.meta.judgements import Judgements
from vericap.metrics.function import FunctionMetric
from vericap.metrics.registry import Wanted, resolve, split
from vericap.run.engine import Run, report
from vericap.run.results import Result

Parts = Mapping[str, Sequence[Sample]]  # draws of references, systems, protocols: scored in one run
GOLD = "gold"  # `objects=gold`: the objects a data set brings with its images


def metrics_of(wanted: str | Iterable[Wanted], *, reasons: dict[str, str] | None = None) -> list[Metric]:
    """Metrics from names, metrics and functions `(candidates, references, images) -> scores`.

    With `reasons`, one that cannot be made is noted there instead of stopping the others.
    """
    items: Sequence[Wanted] = split(wanted) if isinstance(wanted, str) else list(wanted)
    found: dict[str, Metric] = {}
    for item in items:
        try:
            found.update({metric.label: metric for metric in resolve([item])})
        except (VericapError, ImportError) as error:
            if reasons is None:
                raise
            reasons[str(item)] = why(error)
    return list(found.values())


def why(error: Exception) -> str:
    """An error as a reason: ours speak for themselves, others say what they are."""
    return str(error) if isinstance(error, VericapError) else f"{type(error).__name__}: {error}"


def fitting_settings(settings: Settings, data: Judgements) -> Settings:
    """The data set's language, its image folder where the user named none, the detector where it has no objects."""
    changes: dict[str, Any] = {}
    if settings.images is None and data.image_folder is not None:
        changes["images"] = data.image_folder
    if data.lang != settings.lang:
        changes["lang"] = data.lang
        if settings.tokenizer == tokenizer_of(settings.lang):
            changes["tokenizer"] = ""  # the other language's own
    if settings.objects == GOLD:
        changes["objects"] = Settings.objects
    return replace(settings, **changes)


@dataclass(frozen=True)
class Scored:
    """What one metric made of one part: rows of statistics, and what was noted on the way."""

    rows: Floats
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @classmethod
    def of(cls, result: Result, label: str) -> Scored:
        statistics = result.statistics[label]
        alone = Result(ids=result.ids, metrics={}, statistics={label: statistics})
        report(alone, {})
        return cls(statistics.values, tuple(map(str, alone.problems)), tuple(alone.warnings))


@dataclass
class Scores:
    """What metrics made of all parts, or the reason why one made nothing of a part; keys are (metric, part)."""

    metrics: dict[str, Metric]
    scored: dict[tuple[str, str], Scored] = field(default_factory=dict)
    reasons: dict[tuple[str, str], str] = field(default_factory=dict)
    signatures: dict[str, str] = field(default_factory=dict)

    def reason(self, metric: str, parts: Iterable[str]) -> str:
        """Why a metric cannot be used on some parts; empty where it can."""
        return next((self.reasons[metric, part] for part in parts if (metric, part) in self.reasons), "")

    def rows(self, metric: str, part: str) -> Floats:
        """Statistics: a row per caption."""
        return self.scored[metric, part].rows

    def captions(self, metric: str, part: str) -> Floats:
        """One score per caption, of which higher is always better; NaN where there is none."""
        judge, rows = self.metrics[metric], self.rows(metric, part)
        sign = -1.0 if judge.direction == "lower" else 1.0
        return np.where(np.isnan(rows[:, 0]), np.nan, judge.captions(rows)) * sign

    def warnings(self, parts: Iterable[str]) -> list[str]:
        """What metrics have to say about some parts, each text once."""
        found = [
            text
            for part in dict.fromkeys(parts)
            for metric in self.metrics
            if (metric, part) in self.scored
            for text in self.scored[metric, part].warnings
        ]
        return list(dict.fromkeys(found))


class KeptScores:
    """Scores kept in a folder, so that a long run can be taken up again.

    The key holds captions, references, settings and the metric's signature; a metric whose code changes
    without a new version needs a fresh folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def path(self, label: str, signature: str, samples: Sequence[Sample], settings: Settings) -> Path:
        sighted = "objects:" in signature  # other metrics have the same scores whatever the source of objects
        chosen = (settings.lang, settings.tokenizer, settings.df, settings.objects if sighted else "")
        parts = ["rows", label, signature, repr(chosen)]
        for sample in samples:
            objects = sample.objects if sighted else None
            parts += [sample.candidate, *sample.references, sample.image or "", repr(objects or "")]
        name = "".join(c if c.isalnum() or c in "-." else "_" for c in label)
        return self.folder / f"{name}-{content_key(*parts)}.npy"

    @staticmethod
    def read(path: Path) -> Scored:
        notes = json.loads(path.with_suffix(".json").read_text("utf-8"))
        rows = np.asarray(np.load(path, allow_pickle=False), dtype=np.float64)
        return Scored(rows, tuple(notes["problems"]), tuple(notes["warnings"]))

    @staticmethod
    def write(path: Path, found: Scored) -> None:
        """The scores come last and at once: a file of them is whole, whenever the run was stopped."""
        notes = {"problems": found.problems, "warnings": found.warnings}
        path.with_suffix(".json").write_text(json.dumps(notes), "utf-8")
        unfinished = path.with_suffix(f".{os.getpid()}")
        with unfinished.open("wb") as stream:
            np.save(stream, found.rows)
        unfinished.replace(path)


def score(
    parts: Parts,
    metrics: Sequence[Metric],
    settings: Settings,
    *,
    store: KeptScores | None = None,
    keep_going: bool = False,
) -> Scores:
    """Score the captions of all parts with every metric; what parts and metrics share is analysed once.

    A metric that cannot work says why and does not stop the others. Mistakes in a metric (not in its input) stop the
    run unless `keep_going`.
    """
    work = _Work(parts, settings, store, keep_going, Scores({metric.label: metric for metric in metrics}))
    for names, group in work.missing(metrics).items():
        work.together(group, names)
    return work.found


@dataclass
class _Work:
    parts: Parts
    settings: Settings
    store: KeptScores | None
    keep_going: bool
    found: Scores
    paths: dict[tuple[str, str], Path] = field(default_factory=dict)

    def missing(self, metrics: Sequence[Metric]) -> dict[tuple[str, ...], list[Metric]]:
        """Metrics that have something to score, by the parts they lack; the rest is read from the store."""
        if self.store is None:
            return {tuple(self.parts): list(metrics)} if metrics else {}
        for name, samples in self.parts.items():
            batch = Batch.of(samples, self.settings)
            for metric in filter(_keepable, metrics):
                self._look_up(self.store, metric, name, batch)
        groups: dict[tuple[str, ...], list[Metric]] = {}
        for metric in metrics:
            names = [name for name in self.parts if (metric.label, name) not in self.found.scored]
            if names and not self.found.reason(metric.label, names):
                groups.setdefault(tuple(names), []).append(metric)
        return groups

    def _look_up(self, store: KeptScores, metric: Metric, name: str, batch: Batch) -> None:
        try:
            signature = metric.signature(batch)
        except Exception as error:
            return self.failed(metric, [name], error)
        path = store.path(metric.label, signature, self.parts[name], self.settings)
        self.paths[metric.label, name] = path
        if path.is_file():
            self.found.signatures.setdefault(metric.label, signature)
            self.found.scored[metric.label, name] = store.read(path)

    def together(self, metrics: Sequence[Metric], names: Sequence[str]) -> None:
        """Metrics in one run. Where one of them fails, each half is tried alone, until it is found."""
        try:
            results = Run(metrics, self.settings).score_parts({name: self.parts[name] for name in names})
        except Exception as error:
            if len(metrics) == 1:
                return self.failed(metrics[0], names, error)
            if not self.expected(error):
                raise
            middle = len(metrics) // 2
            self.together(metrics[:middle], names)
            return self.together(metrics[middle:], names)
        for metric in metrics:
            for name, result in results.items():
                self._take(metric.label, name, result)

    def _take(self, label: str, name: str, result: Result) -> None:
        found = Scored.of(result, label)
        self.found.signatures.setdefault(label, result.corpus[label].signature)
        if np.isnan(found.rows[:, 0]).all():
            self.found.reasons[label, name] = f"no caption could be scored; the first reason: {found.problems[0]}"
            return
        self.found.scored[label, name] = found
        if self.store is not None and (label, name) in self.paths:
            self.store.write(self.paths[label, name], found)

    def expected(self, error: Exception) -> bool:
        """Whether an error makes a reason instead of stopping the run."""
        return self.keep_going or isinstance(error, VericapError)

    def failed(self, metric: Metric, names: Iterable[str], error: Exception) -> None:
        if not self.expected(error):
            raise error
        self.found.reasons.update({(metric.label, name): why(error) for name in names})


def _keepable(metric: Metric) -> bool:
    """A function may change without its name doing so: its scores are never kept."""
    return not any(isinstance(part, FunctionMetric) for part in getattr(metric, "parts", [metric]))
