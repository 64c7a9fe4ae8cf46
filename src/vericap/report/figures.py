"""Figures of plain numbers: curves with bands, boxes, a matrix with its numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vericap.core.errors import require
from vericap.core.typing import Floats

# Told apart without colour too: every curve has its own marker.
MARKERS = "os^Dv<>pP*Xh"
COLOURS = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#333333", "#8c6d31", "#7f3c8d",
)  # fmt: skip


@dataclass(frozen=True)
class Curve:
    """Points of one curve; `band` holds low and high for each of them, or nothing."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    band: Sequence[tuple[float, float]] = ()


def pyplot() -> Any:
    """matplotlib's drawing module, without a window."""
    matplotlib = require("matplotlib", "figures", "drawing figures")
    matplotlib.use("Agg")
    return require("matplotlib.pyplot", "figures", "drawing figures")


def save(figure: Any, path: Path) -> Path:
    """Write a figure and forget it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150, bbox_inches="tight")
    pyplot().close(figure)
    return path


def curves(found: Sequence[Curve], path: Path, *, title: str, x_label: str, y_label: str, whole: bool = True) -> Path:
    """Curves with their bands; x holds whole numbers, each with a tick, unless `whole` says otherwise."""
    figure, axes = pyplot().subplots(figsize=(6.4, 4.2))
    for place, curve in enumerate(found):
        if not curve.x:
            continue
        colour, marker = COLOURS[place % len(COLOURS)], MARKERS[place % len(MARKERS)]
        axes.plot(curve.x, curve.y, color=colour, marker=marker, markersize=5, linewidth=1.5, label=curve.name)
        if curve.band:
            low, high = zip(*curve.band)
            axes.fill_between(curve.x, low, high, color=colour, alpha=0.12, linewidth=0)
    if whole:
        axes.set_xticks(sorted({x for curve in found for x in curve.x}))
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.set_title(title)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return save(figure, path)


def boxes(
    panels: Mapping[str, Sequence[Floats]], levels: Sequence[str], path: Path, *, x_label: str, y_label: str
) -> Path:
    """A panel per name with a box per level."""
    columns = min(4, len(panels))
    rows = -(-len(panels) // columns)
    figure, grid = pyplot().subplots(rows, columns, figsize=(2.6 * columns, 2.5 * rows), squeeze=False)
    for axes, (name, groups) in zip(grid.flat, panels.items()):
        box = axes.boxplot(groups, showfliers=False, widths=0.6, patch_artist=True)
        for patch in box["boxes"]:
            patch.set_facecolor("#cfe3f1")
        for line in box["medians"]:
            line.set_color("#d55e00")
        axes.set_xticks(range(1, len(levels) + 1), levels)
        axes.set_title(name, fontsize=10)
        axes.grid(axis="y", alpha=0.3)
    for axes in list(grid.flat)[len(panels) :]:
        axes.set_visible(False)
    figure.supxlabel(x_label, fontsize=10)
    figure.supylabel(y_label, fontsize=10)
    figure.tight_layout()
    return save(figure, path)


def matrix(names: Sequence[str], values: Floats, path: Path, *, title: str) -> Path:
    """A square matrix of shares, numbers in the cells."""
    side = max(3.6, 0.62 * len(names) + 1.6)
    figure, axes = pyplot().subplots(figsize=(side, side))
    image = axes.imshow(values, vmin=0, vmax=1, cmap="Blues")
    for i in range(len(names)):
        for j in range(len(names)):
            colour = "white" if values[i, j] > 0.6 else "black"
            axes.text(j, i, f"{values[i, j]:.2f}", ha="center", va="center", fontsize=8, color=colour)
    axes.set_xticks(range(len(names)), names, rotation=45, ha="right", fontsize=9)
    axes.set_yticks(range(len(names)), names, fontsize=9)
    axes.set_title(title, fontsize=10)
    figure.colorbar(image, shrink=0.75)
    return save(figure, path)
