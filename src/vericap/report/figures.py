"""Figures of meta-evaluation: reference-count curves, scores by rating, correlation between metrics."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vericap.errors import VericapError, require

if TYPE_CHECKING:
    from vericap.meta.evaluation import Agreements

# Told apart without colour too: every curve has its own marker.
MARKERS = "os^Dv<>pP*Xh"
COLOURS = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#333333", "#8c6d31", "#7f3c8d",
)  # fmt: skip


def _pyplot() -> Any:
    matplotlib = require("matplotlib", "figures", "drawing figures")
    matplotlib.use("Agg")
    return require("matplotlib.pyplot", "figures", "drawing figures")


def _save(figure: Any, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150, bbox_inches="tight")
    _pyplot().close(figure)
    return path


def reference_curves(points: Sequence[Agreements], path: Path) -> Path:
    """Agreement against the number of references, a curve per metric, intervals as bands."""
    plt = _pyplot()
    names = list(dict.fromkeys(line.metric for found in points for line in found.lines))
    figure, axes = plt.subplots(figsize=(6.4, 4.2))
    for place, name in enumerate(names):
        found = [(_count(p), line) for p in points for line in p.lines if line.metric == name]
        found = [(count, line) for count, line in found if line.value is not None]
        if not found:
            continue
        x = [count for count, _ in found]
        y = [100 * (line.value or 0.0) for _, line in found]
        colour, marker = COLOURS[place % len(COLOURS)], MARKERS[place % len(MARKERS)]
        axes.plot(x, y, color=colour, marker=marker, markersize=5, linewidth=1.5, label=name)
        if all(line.interval for _, line in found):
            low, high = zip(*[(100 * line.interval[0], 100 * line.interval[1]) for _, line in found])  # type: ignore[index]
            axes.fill_between(x, low, high, color=colour, alpha=0.12, linewidth=0)
    axes.set_xticks(sorted({_count(p) for p in points}))
    axes.set_xlabel("references per caption")
    axes.set_ylabel(f"{points[0].protocol.statistic} x100")
    axes.set_title(points[0].dataset)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return _save(figure, path)


def _count(found: Agreements) -> int:
    if found.protocol.references is None:
        assert found.task is not None
        return max(len(references) for references in found.task.data.references)
    return found.protocol.references


def score_distributions(found: Agreements, path: Path) -> Path:
    """Scores of captions by rounded mean rating: boxes, one panel per metric."""
    plt = _pyplot()
    task = found.task
    if task is None or not found.scores:
        raise VericapError("there are no scores to draw")
    if next(iter(found.scores.values())).ndim != 1:
        raise VericapError("score distributions need ratings; this data set has pairs")
    total = np.bincount(task.entry, task.judgement, len(task.rows))
    mean = total / np.bincount(task.entry, minlength=len(task.rows))
    levels = np.unique(np.round(mean * 4) / 4) if mean.max() <= 1 else np.unique(np.round(mean))
    nearest = levels[np.abs(mean[:, None] - levels[None, :]).argmin(axis=1)]
    names = list(found.scores)
    columns = min(4, len(names))
    rows = -(-len(names) // columns)
    figure, grid = plt.subplots(rows, columns, figsize=(2.6 * columns, 2.5 * rows), squeeze=False)
    for axes, name in zip(grid.flat, names):
        scores = found.scores[name]
        groups = [scores[(nearest == level) & ~np.isnan(scores)] for level in levels]
        box = axes.boxplot(groups, showfliers=False, widths=0.6, patch_artist=True)
        for patch in box["boxes"]:
            patch.set_facecolor("#cfe3f1")
        for line in box["medians"]:
            line.set_color("#d55e00")
        axes.set_xticks(range(1, len(levels) + 1), [f"{level:g}" for level in levels])
        axes.set_title(name, fontsize=10)
        axes.grid(axis="y", alpha=0.3)
    for axes in list(grid.flat)[len(names) :]:
        axes.set_visible(False)
    figure.supxlabel(f"mean rating, {found.dataset}", fontsize=10)
    figure.supylabel("score", fontsize=10)
    figure.tight_layout()
    return _save(figure, path)


def metric_correlations(found: Agreements) -> tuple[list[str], np.ndarray]:
    """Spearman's rho between the metrics' scores of the same captions."""
    from vericap.meta.agreement import correlation

    names = list(found.scores)
    flat = [found.scores[name].ravel() for name in names]
    matrix = np.eye(len(names))
    for i in range(len(names)):
        for j in range(i):
            both = ~(np.isnan(flat[i]) | np.isnan(flat[j]))
            matrix[i, j] = matrix[j, i] = correlation("spearman", flat[i][both], flat[j][both])
    return names, matrix


def correlation_matrix(found: Agreements, path: Path) -> Path:
    """The matrix of metric-metric correlations, numbers in the cells."""
    plt = _pyplot()
    names, matrix = metric_correlations(found)
    side = max(3.6, 0.62 * len(names) + 1.6)
    figure, axes = plt.subplots(figsize=(side, side))
    image = axes.imshow(matrix, vmin=0, vmax=1, cmap="Blues")
    for i in range(len(names)):
        for j in range(len(names)):
            value = matrix[i, j]
            colour = "white" if value > 0.6 else "black"
            axes.text(j, i, f"{value:.2f}", ha="center", va="center", fontsize=8, color=colour)
    axes.set_xticks(range(len(names)), names, rotation=45, ha="right", fontsize=9)
    axes.set_yticks(range(len(names)), names, fontsize=9)
    axes.set_title(f"Spearman between metrics, {found.dataset}", fontsize=10)
    figure.colorbar(image, shrink=0.75)
    return _save(figure, path)
