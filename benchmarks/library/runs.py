"""Score many sets of samples with any metrics, each set as a corpus of its own, in one run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from vericap.core.errors import VericapError
from vericap.core.metric import Metric
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.metrics.registry import make, resolve
from vericap.run.engine import Run
from vericap.run.results import Result

Scores = dict[str, list[np.ndarray]]


def short(name: str) -> str:
    """A metric's name with folders cut to their last part, for tables."""
    return re.sub(r"=[^:=]*/([^/:=]+)/?", r"=\1", name)


def works_without_references(name: str) -> bool:
    return "references" not in make(name).needs


def usable(names: Sequence[str], sample: Sample, settings: Settings) -> tuple[list[str], list[str]]:
    """Metrics that score a sample, and a sentence for each one left out (weights that are not there, ...)."""
    good, left_out = [], []
    for name in names:
        try:
            metric = make(name)
            if "references" in metric.needs and not sample.references:
                continue
            Run([metric], settings).score([sample])
            good.append(name)
        except (VericapError, ImportError) as error:
            left_out.append(f"`{name}` is left out: {error}.".replace("..", "."))
    return good, left_out


def scored(sets: Sequence[Sequence[Sample]], names: Sequence[str], settings: Settings) -> Scores:
    """Scores of every set; higher is better, and what cannot be judged comes last.

    Sets are parts of one run: every distinct text and image is analysed once, and metrics that read the corpus first
    (document frequencies) see each set alone.
    """
    if not names:
        return {}
    metrics = resolve(list(names))
    results = Run(metrics, settings).score_parts({str(number): samples for number, samples in enumerate(sets)})
    return {metric.label: [_better(metric, result) for result in results.values()] for metric in metrics}


def _better(metric: Metric, result: Result) -> np.ndarray:
    values = np.asarray(result[metric.label], dtype=float)
    signed = -values if metric.direction == "lower" else values
    return np.where(np.isnan(signed), -np.inf, signed)


def photos(folder: Path, *, cache: Path | None = None) -> Settings:
    return Settings(images=folder, cache=cache, workers=1)
