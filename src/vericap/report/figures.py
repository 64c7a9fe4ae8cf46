"""Figures of plain numbers: curves with bands, boxes, a matrix with its numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
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


def histograms(panels: Mapping[str, Floats], path: Path, *, y_label: str) -> Path:
    """A panel per name: how its values are distributed, with their mean; undefined ones are left out and counted."""
    columns = min(4, len(panels))
    rows = -(-len(panels) // columns)
    figure, grid = pyplot().subplots(rows, columns, figsize=(2.8 * columns, 2.3 * rows), squeeze=False)
    for axes, (name, values) in zip(grid.flat, panels.items()):
        known = values[values == values]
        axes.set_title(name, fontsize=10)
        axes.grid(axis="y", alpha=0.3)
        if not known.size:
            axes.text(0.5, 0.5, "no value", ha="center", va="center", transform=axes.transAxes)
            axes.set(xticks=[], yticks=[])
            continue
        axes.hist(known, bins=min(30, max(5, round(known.size**0.5))), color="#56b4e9", edgecolor="white")
        axes.axvline(known.mean(), color="#d55e00", linewidth=1.5)
        missing = f", {values.size - known.size} undefined" if known.size < values.size else ""
        axes.set_xlabel(f"mean {known.mean():.3f}{missing}", fontsize=8)
        axes.tick_params(labelsize=8)
    for axes in list(grid.flat)[len(panels) :]:
        axes.set_visible(False)
    figure.supylabel(y_label, fontsize=10)
    figure.tight_layout()
    return save(figure, path)


def heat(
    values: Floats, rows: Sequence[str], columns: Sequence[str], path: Path, *, title: str,
    boxes: Sequence[Sequence[float]] = (),
) -> Path:  # fmt: skip
    """A matrix with its numbers, the best of every column framed; `boxes` draw where each row's region lies."""
    plot = pyplot()
    figure, axes = plot.subplots(figsize=(1.4 + 0.62 * len(columns), 0.9 + 0.3 * len(rows)))
    axes.imshow(values, cmap="Blues", aspect="auto")
    middle = (values.min() + values.max()) / 2
    for (row, column), value in ((place, values[place]) for place in product(range(len(rows)), range(len(columns)))):
        colour = "white" if value > middle else "black"
        axes.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=7, color=colour)
    for column, row in enumerate(values.argmax(axis=0).tolist()):
        axes.add_patch(plot.Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor="#d55e00", linewidth=1.6))
    axes.set_xticks(range(len(columns)), columns, rotation=40, ha="left", rotation_mode="anchor", fontsize=9)
    axes.xaxis.tick_top()
    axes.set_yticks(range(len(rows)), rows, fontsize=8)
    axes.tick_params(length=0, pad=46 if boxes else 3, axis="y")
    for row, box in enumerate(boxes):
        _region(axes, row, box)
    axes.set_title(title, fontsize=10)
    return save(figure, path)


def _region(axes: Any, row: int, box: Sequence[float]) -> None:
    """A small frame beside a row, with the region's place in it."""
    x0, y0, x1, y1 = box
    icon = axes.inset_axes((-0.45 - 0.75, row - 0.4, 0.65, 0.8), transform=axes.transData)
    icon.set(xlim=(0, 1), ylim=(1, 0), xticks=[], yticks=[])
    icon.add_patch(pyplot().Rectangle((x0, y0), x1 - x0, y1 - y0, color="#d55e00"))
