"""Scores of metrics, or of any function of one's own, on the captions of a task."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from vericap.errors import VericapError
from vericap.meta.judgements import Floats
from vericap.metrics.base import Metric
from vericap.metrics.registry import resolve, split
from vericap.run.batch import Batch, Settings
from vericap.run.cache import key
from vericap.samples import Sample

# A user's own metric: (candidates, references, images) -> one number per caption.
Function = Callable[[list[str], list[list[str]], list[str | None]], Sequence[float]]
Judge = Metric | Function


@dataclass
class Scores:
    """Scores by metric, or the reason why a metric gave none."""

    values: dict[str, Floats] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    signatures: dict[str, str] = field(default_factory=dict)
    explanations: dict[str, list[Any]] = field(default_factory=dict)
    problems: dict[str, list[str]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def judges_of(metrics: str | Iterable[str | Judge], *, reasons: dict[str, str] | None = None) -> dict[str, Judge]:
    """Metrics by label; a function is named by its __name__. With `reasons`, a metric that cannot be made
    is noted there instead of stopping the others."""
    items: Sequence[str | Judge] = split(metrics) if isinstance(metrics, str) else list(metrics)
    found: dict[str, Judge] = {}
    for item in items:
        if not isinstance(item, str | Metric):
            found[getattr(item, "__name__", type(item).__name__)] = item
            continue
        try:
            found.update({metric.label: metric for metric in resolve([item])})
        except (VericapError, ImportError) as error:
            if reasons is None:
                raise
            reasons[str(item)] = str(error)
    return found


def sign_of(judge: Judge) -> float:
    """-1 for a metric where lower is better: agreement is always with higher = better."""
    return -1.0 if isinstance(judge, Metric) and judge.direction == "lower" else 1.0


class Store:
    """Scores kept in a folder, so that a long run can be taken up again.

    The key holds captions, references, settings and the metric's signature; a metric whose code changes
    without a new version needs a fresh folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def path(self, label: str, signature: str, samples: Sequence[Sample], settings: Settings) -> Path:
        parts = [label, signature, repr((settings.lang, settings.tokenizer, settings.df, settings.objects))]
        for sample in samples:
            parts += [sample.candidate, *sample.references, sample.image or "", repr(sample.objects or "")]
        name = "".join(c if c.isalnum() or c in "-." else "_" for c in label)
        return self.folder / f"{name}-{key(*parts)}.npy"

    @staticmethod
    def read(path: Path) -> Floats:
        return np.asarray(np.load(path, allow_pickle=False), dtype=np.float64)

    @staticmethod
    def write(path: Path, values: Floats, notes: dict[str, list[str]] | None = None) -> None:
        """Scores, and beside them what was noted of captions that have none."""
        if notes is not None:
            path.with_suffix(".json").write_text(json.dumps(notes), "utf-8")
        with path.open("wb") as stream:
            np.save(stream, values)

    @staticmethod
    def notes(path: Path) -> dict[str, list[str]]:
        file = path.with_suffix(".json")
        found: dict[str, list[str]] = json.loads(file.read_text("utf-8")) if file.is_file() else {}
        return found


def score(
    samples: Sequence[Sample],
    judges: dict[str, Judge],
    settings: Settings,
    *,
    store: Store | None = None,
    keep_going: bool = False,
) -> Scores:
    """Score the same captions with every judge. Analyses are shared; a metric that cannot work says why.

    Mistakes in a metric (not in its input) stop the run unless `keep_going`.
    """
    batch = Batch.of(samples, settings)
    found = Scores()
    for label, judge in judges.items():
        try:
            found.values[label] = _one(label, judge, batch, samples, found, store)
        except VericapError as error:
            found.reasons[label] = str(error)
        except Exception as error:
            if not keep_going:
                raise
            found.reasons[label] = f"{type(error).__name__}: {error}"
    return found


def _one(
    label: str, judge: Judge, batch: Batch, samples: Sequence[Sample], found: Scores, store: Store | None
) -> Floats:
    if not isinstance(judge, Metric):
        return _call(label, judge, samples)
    found.signatures[label] = judge.signature(batch)
    path = store.path(label, found.signatures[label], samples, batch.settings) if store else None
    if path is not None and path.is_file():
        _note(found, label, **Store.notes(path))
        return Store.read(path)
    from vericap.run.engine import score_batch

    result = score_batch(batch, [judge])
    values = result[label] * sign_of(judge)
    explained = result.statistics[label].explanations
    if explained is not None:
        found.explanations[label] = explained
    notes = {"problems": [str(problem) for problem in result.problems], "warnings": list(result.warnings)}
    _note(found, label, **notes)
    if np.isnan(values).all():
        raise VericapError(f"no caption could be scored; the first reason: {found.problems[label][0]}")
    if path is not None:
        Store.write(path, values, notes)
    return values


def _note(found: Scores, label: str, problems: Sequence[str] = (), warnings: Sequence[str] = ()) -> None:
    found.problems[label] = list(problems)
    found.warnings += [text for text in warnings if text not in found.warnings]


def _call(label: str, function: Function, samples: Sequence[Sample]) -> Floats:
    values = np.asarray(
        function(
            [sample.candidate for sample in samples],
            [list(sample.references) for sample in samples],
            [sample.image for sample in samples],
        ),
        dtype=np.float64,
    )
    if values.shape != (len(samples),):
        raise VericapError(
            f"the function '{label}' gave an array of shape {values.shape} for {len(samples)} captions; "
            "it must give one number per caption"
        )
    return values
