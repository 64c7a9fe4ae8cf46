"""Figures of agreement with people: reference-count curves, scores by rating, correlation between metrics."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from vericap.core.errors import VericapError
from vericap.meta.evaluation import Agreements
from vericap.meta.redundancy import metric_correlations
from vericap.report import figures
from vericap.report.figures import Curve


def draw(found: Sequence[Agreements], folder: Path, *, ending: str = "png") -> list[Path]:
    """All figures that some results of one data set allow, each named after the data set and what it shows.

    `ending` is their format: png, svg or pdf.
    """
    first, stem = found[0], found[0].dataset.replace("/", "-")
    paths = []
    if len(found) > 1:
        paths.append(reference_curves(found, folder / f"{stem}-references.{ending}"))
    if first.scores and next(iter(first.scores.values())).ndim == 1:
        paths.append(score_distributions(first, folder / f"{stem}-distributions.{ending}"))
    if first.gaps:
        paths.append(gap_curves(first, folder / f"{stem}-gaps.{ending}"))
    if len(first.scores) > 1:
        paths.append(correlation_matrix(first, folder / f"{stem}-correlations.{ending}"))
    return paths


def reference_curves(points: Sequence[Agreements], path: Path) -> Path:
    """Agreement against the number of references, a curve per metric, intervals as bands."""
    names = dict.fromkeys(line.metric for found in points for line in found.lines)
    return figures.curves(
        [_curve(name, points) for name in names],
        path,
        title=points[0].dataset,
        x_label="references per caption",
        y_label=f"{points[0].protocol.statistic} x100",
    )


def _curve(name: str, points: Sequence[Agreements]) -> Curve:
    found = [(_count(point), line) for point in points for line in point.lines if line.metric == name]
    usable = [(count, line.value, line.interval) for count, line in found if line.value is not None]
    bands = [(100 * interval[0], 100 * interval[1]) for _, _, interval in usable if interval is not None]
    return Curve(
        name,
        [count for count, _, _ in usable],
        [100 * value for _, value, _ in usable],
        bands if len(bands) == len(usable) else [],
    )


def _count(found: Agreements) -> int:
    if found.protocol.references is None:
        return max(len(references) for references in found.task.data.references)
    return found.protocol.references


def gap_curves(found: Agreements, path: Path) -> Path:
    """Share of caption pairs in which people agree with a gap, by its size in spreads of the metric's own scores."""
    drawn = []
    for name, gap in found.gaps.items():
        spread = float(np.nanstd(found.scores[name])) or 1.0
        band = [(100 * low, 100 * high) for low, high in zip(gap.low, gap.high)]
        usable = band if not np.isnan(band).any() else []
        drawn.append(Curve(name, [size / spread for size in gap.sizes], [100 * x for x in gap.shares], usable))
    return figures.curves(
        drawn,
        path,
        title=found.dataset,
        x_label="gap between two captions, in standard deviations of the metric",
        y_label="people agree, % of pairs",
        whole=False,
    )


def score_distributions(found: Agreements, path: Path) -> Path:
    """Scores of captions by rounded mean rating: boxes, one panel per metric."""
    if not found.scores:
        raise VericapError("there are no scores to draw")
    if next(iter(found.scores.values())).ndim != 1:
        raise VericapError("score distributions need ratings; this data set has pairs")
    mean = found.task.mean_judgement()
    levels = np.unique(np.round(mean * 4) / 4) if mean.max() <= 1 else np.unique(np.round(mean))
    nearest = levels[np.abs(mean[:, None] - levels[None, :]).argmin(axis=1)]
    panels = {
        name: [scores[(nearest == level) & ~np.isnan(scores)] for level in levels]
        for name, scores in found.scores.items()
    }
    names = [f"{level:g}" for level in levels]
    return figures.boxes(panels, names, path, x_label=f"mean rating, {found.dataset}", y_label="score")


def correlation_matrix(found: Agreements, path: Path) -> Path:
    """The matrix of metric-metric correlations, numbers in the cells."""
    names, values = metric_correlations(found)
    return figures.matrix(names, values, path, title=f"Spearman between metrics, {found.dataset}")
