"""Score many sets of samples with any metrics, each set as a corpus of its own, in as few runs as possible."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from vericap.errors import VericapError
from vericap.metrics.base import Metric
from vericap.metrics.registry import make
from vericap.run.batch import Batch, Settings
from vericap.run.engine import score_batch
from vericap.samples import Sample

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
            score_batch([sample], [metric], settings)
            good.append(name)
        except (VericapError, ImportError) as error:
            left_out.append(f"`{name}` is left out: {error}.".replace("..", "."))
    return good, left_out


def scored(sets: Sequence[Sequence[Sample]], names: Sequence[str], settings: Settings) -> Scores:
    """Scores of every set; higher is better, and what cannot be judged comes last.

    Metrics that read the corpus first (document frequencies) see each set alone; the others see all sets at once,
    so that every distinct text and image is analysed once.
    """
    found: Scores = {}
    flat = [sample for samples in sets for sample in samples]
    places = np.cumsum([len(samples) for samples in sets])[:-1]
    batch = Batch.of(
        [Sample(str(i), s.candidate, s.references, s.image, s.objects) for i, s in enumerate(flat)], settings
    )
    for name in names:
        metric = make(name)
        if type(metric).prepare is Metric.prepare:
            found[name] = np.split(_better(metric, batch), places)
        else:
            found[name] = [_better(metric, Batch.of(list(samples), settings)) for samples in sets]
    return found


def _better(metric: Metric, batch: Batch) -> np.ndarray:
    values = np.asarray(score_batch(batch, [metric])[metric.label], dtype=float)
    signed = -values if metric.direction == "lower" else values
    return np.where(np.isnan(signed), -np.inf, signed)


def photos(folder: Path, *, cache: Path | None = None) -> Settings:
    return Settings(images=folder, cache=cache, workers=1)
