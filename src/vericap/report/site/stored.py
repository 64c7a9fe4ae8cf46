"""A report from what `score` has written: scores and reasons of captions, without computing them again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vericap.core.batch import Batch
from vericap.core.errors import InputError, VericapError
from vericap.core.explanation import Explanation
from vericap.core.metric import Metric
from vericap.core.samples import Sample
from vericap.core.score import Score
from vericap.core.statistics import Statistics
from vericap.metrics.registry import names
from vericap.report.site.content import Content
from vericap.run.compare import NOTHING_SHARED, compare_results
from vericap.run.engine import Reasons, add_intervals
from vericap.run.results import Result
from vericap.run.significance import aggregate

Columns = Mapping[str, Sequence[Any]]
SUFFIX = ".explanation"
NOTE = (
    "scores were read from a file: corpus scores are means over captions, which for BLEU and CHAIR are not the "
    "corpus scores of a run"
)


class StoredScores(Metric):
    """A metric whose scores were computed before; its corpus score is their mean."""

    name = "stored"
    needs = ()

    def __init__(self, label: str) -> None:
        super().__init__(label=label)
        plain = label.partition(":")[0]
        found = _class(plain)
        self.title = found.title if found else plain  # type: ignore[misc]
        self.direction = found.direction if found else "higher"  # type: ignore[misc]
        self.range = found.range if found else (float("-inf"), float("inf"))  # type: ignore[misc]

    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        raise VericapError(f"the scores of '{self.label}' were read from a file and cannot be computed anew")


def _class(name: str) -> type[Metric] | None:
    from vericap.metrics.registry import metric_class

    return metric_class(name) if name in names() else None


def scored_columns(columns: Columns) -> list[str]:
    """Columns that hold scores: those with reasons beside them, or with the name of a metric."""
    known = set(names())
    found = []
    for name, values in columns.items():
        plain = name.partition(":")[0]
        named = f"{name}{SUFFIX}" in columns or plain in known or name.startswith("mean(")
        if named and all(_number(value) is not None for value in values):
            found.append(name)
    return found


def _number(value: Any) -> float | None:
    """A cell as a number, NaN where it is empty; None where it is something else."""
    if value is None or value == "":
        return float("nan")
    try:
        return float(value) if isinstance(value, str | int | float) else None
    except ValueError:
        return None


def of_stored(
    systems: Mapping[str, tuple[Sequence[Sample], Columns]], *, images: Path | None = None, lang: str = "en"
) -> Content:
    """A report of files that `score` wrote; each system's captions and the columns beside them."""
    labels = [name for _, columns in systems.values() for name in scored_columns(columns)]
    shared = [
        name
        for name in dict.fromkeys(labels)
        if all(name in scored_columns(columns) for _, columns in systems.values())
    ]
    if not shared:
        raise VericapError("no column of scores is in all of the files; name metrics with `metrics=NAMES`")
    chosen = {name: _common(systems, name) for name in systems}
    results = {name: _result(samples, columns, shared) for name, (samples, columns) in chosen.items()}
    samples = {name: list(own) for name, (own, _) in chosen.items()}

    def explain(system: str, rows: Sequence[int]) -> Reasons:
        own = results[system].explanations
        return {name: [found[row] for row in rows] for name, found in own.items()}

    content = Content(samples, results, explain, images=images, lang=lang, notes=[NOTE])
    if len(systems) > 1:
        content.comparison = compare_results(results)
    else:
        for result in results.values():
            add_intervals(result, resamples=1000, seed=0)
    return content


def _common(systems: Mapping[str, tuple[Sequence[Sample], Columns]], name: str) -> tuple[Sequence[Sample], Columns]:
    """A system's captions that all systems have; those of a single system are all."""
    samples, columns = systems[name]
    ids = set.intersection(*({sample.id for sample in own} for own, _ in systems.values()))
    if not ids:
        raise VericapError(NOTHING_SHARED)
    rows = [row for row, sample in enumerate(samples) if sample.id in ids]
    return [samples[row] for row in rows], {key: [values[row] for row in rows] for key, values in columns.items()}


def _result(samples: Sequence[Sample], columns: Columns, labels: Sequence[str]) -> Result:
    metrics: dict[str, Metric] = {name: StoredScores(name) for name in labels}
    problems = columns.get("problem") or [None] * len(samples)
    statistics = {}
    for name in labels:
        values = np.array([_number(value) for value in columns[name]], dtype=np.float64)
        rows = np.flatnonzero(np.isnan(values)).tolist()
        why = {row: str(problems[row] or "no score in the file") for row in rows}
        statistics[name] = Statistics(values, why)
    result = Result([sample.id for sample in samples], metrics, statistics, candidates=[s.candidate for s in samples])
    for name, metric in metrics.items():
        value = aggregate(metric, statistics[name].values)
        count = int((~np.isnan(statistics[name].values[:, 0])).sum())
        result.corpus[name] = Score(
            name, None if value != value else value, f"metric:{name}|source:file", count, metric.direction,
            reason="" if count else "no score in the file",
        )  # fmt: skip
        if f"{name}{SUFFIX}" in columns:
            result.explanations[name] = [
                explanation(cell, name, result.ids[row]) for row, cell in enumerate(columns[f"{name}{SUFFIX}"])
            ]
    return result


def explanation(cell: Any, name: str, row: str) -> Explanation | None:
    """A cell of reasons: plain data, or JSON in a text."""
    try:
        if isinstance(cell, str):
            cell = json.loads(cell) if cell.strip() else None
        return Explanation.from_dict(_filled(cell)) if isinstance(cell, Mapping) else None
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"the reasons of '{name}' for caption '{row}' cannot be read ({error}); score the captions again, "
            "or name metrics with `metrics=NAMES`"
        ) from error


def _filled(value: Any) -> Any:
    """Plain data without its nulls: tables give every row the fields that any row has."""
    if isinstance(value, Mapping):
        return {key: _filled(item) for key, item in value.items() if item is not None}
    return [_filled(item) for item in value] if isinstance(value, list) else value
