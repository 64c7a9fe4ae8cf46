"""Heat maps of regions and words, as SVG pictures by no other program than this one.

Every `HeatMap` of an explanation is drawn; its boxes give every row a small picture of where its region lies. FAIEr's
references (Figure 6 of the paper) are drawn below each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

import numpy as np

from vericap.core.explanation import Box, Explanation, HeatMap
from vericap.core.typing import Floats
from vericap.graphs.drawing import FONTS, text_width

_CELL, _HEAD, _ICON, _MARGIN = (46, 20), 90, 18, 10
_LIGHT, _DARK = (247, 251, 255), (8, 64, 129)  # colours of the lowest and highest value
_SHADES = 16  # between them


def pictures(explanation: Explanation, *, most: int | None = None) -> list[tuple[str, str]]:
    """(title, SVG) of every heat map in an explanation; empty ones are left out.

    `most` limits the regions that are drawn to those that matter most; the title says so.
    """
    found = []
    for item in explanation.heatmaps:
        if drawable(item):
            cut = most is not None and len(item.values) > most
            title = f"{item.title} ({most} of {len(item.values)} regions)" if cut else item.title
            found.append((title, heatmap(item, most=most)))
    return found


def drawable(found: HeatMap) -> bool:
    """Whether a heat map has anything to draw."""
    return bool(found.columns and found.values)


def save(found: HeatMap, path: Path, *, title: str = "", most: int | None = None) -> Path:
    """Write a heat map by the file's ending: .svg as this module draws it, .png and .pdf by matplotlib."""
    if path.suffix == ".svg":
        path.write_text(heatmap(found, most=most), encoding="utf-8")
        return path
    from vericap.report import figures

    values = np.asarray(found.values, dtype=np.float64)
    shown = _strongest(values, most)
    boxes = [found.boxes[row] for row in shown] if found.boxes else []
    rows = [str(row + 1) for row in shown]
    return figures.heat(values[shown], rows, found.columns, path, title=title or found.title, boxes=boxes)


def heatmap(found: HeatMap, *, most: int | None = None) -> str:
    """One picture: a column per word, a row per region, each word's best region framed."""
    values = np.asarray(found.values, dtype=np.float64)
    if values.shape[1:] != (len(found.columns),):
        raise ValueError(f"{len(found.columns)} words do not fit a matrix of shape {values.shape}")
    low, high = float(values.min()), float(values.max())
    shares = (values - low) / (high - low) if high > low else np.zeros_like(values)
    wide, tall = _CELL
    left = _MARGIN + 30 + _ICON
    head = min(_HEAD, int(max(map(text_width, found.columns)) * 0.75) + 12)
    top = _MARGIN + head
    shown = _strongest(values, most)
    parts = [_word(left + (column + 0.5) * wide, top - 6, word) for column, word in enumerate(found.columns)]
    for place, row in enumerate(shown):
        y = top + place * tall
        parts.append(f'<text x="{_MARGIN + 24}" y="{y + 14}" text-anchor="end" font-size="10">{row + 1}</text>')
        if found.boxes:
            parts.append(_icon(_MARGIN + 28, y + 1, found.boxes[row]))
    parts += _cells(left, top, shares[shown], values[shown])
    for column, row in enumerate(values[shown].argmax(axis=0).tolist()):  # last, so that no neighbour covers the frame
        where = f'x="{left + column * wide}" y="{top + row * tall}" width="{wide}" height="{tall}"'
        parts.append(f'<rect {where} fill="none" stroke="#c0392b" stroke-width="2"/>')
    width, height = left + len(found.columns) * wide + _MARGIN + head // 2, top + len(shown) * tall + _MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="{escape(FONTS)}" fill="#222">{"".join(parts)}</svg>'
    )


def _strongest(values: Floats, most: int | None) -> list[int]:
    """The regions that are some word's best, and others with high values up to `most`, in their order."""
    if most is None or len(values) <= most:
        return list(range(len(values)))
    best = np.zeros(len(values))
    best[values.argmax(axis=0)] = 1.0
    order = np.lexsort((-values.max(axis=1), -best))
    return sorted(order[: max(most, int(best.sum()))].tolist())


def _word(x: float, y: float, word: str) -> str:
    shown = word if len(word) <= 24 else word[:23] + "…"
    return f'<text transform="translate({x:.0f} {y}) rotate(-40)" font-size="12">{escape(shown)}</text>'


def _icon(x: float, y: float, box: Box | Sequence[float]) -> str:
    """A small frame with the region's place in it."""
    x0, y0, x1, y1 = (max(0.0, min(1.0, float(share))) * _ICON for share in box)
    return (
        f'<rect x="{x}" y="{y}" width="{_ICON}" height="{_ICON}" fill="#fff" stroke="#999"/>'
        f'<rect x="{x + x0:.1f}" y="{y + y0:.1f}" width="{x1 - x0:.1f}" height="{y1 - y0:.1f}" fill="#c0392b"/>'
    )


def _cells(left: int, top: int, shares: Floats, values: Floats) -> list[str]:
    """Coloured cells with their numbers. Cells of one shade are one path: a page of heat maps stays small."""
    wide, tall = _CELL
    paths: dict[int, list[str]] = {}
    numbers: dict[bool, list[str]] = {False: [], True: []}
    for (row, column), share in np.ndenumerate(shares):
        x, y = left + column * wide, top + row * tall
        paths.setdefault(round(share * _SHADES), []).append(f"M{x} {y}h{wide - 1}v{tall - 1}h{1 - wide}z")
        shown = f"{values[row, column]:.2f}".replace("-0.00", "0.00")
        numbers[bool(share > 0.55)].append(f'<text x="{x + wide // 2}" y="{y + 14}">{shown}</text>')
    cells = [f'<path d="{"".join(own)}" fill="{_colour(shade / _SHADES)}"/>' for shade, own in sorted(paths.items())]
    inks = ((False, "#222"), (True, "#fff"))
    texts = [f'<g fill="{ink}">{"".join(numbers[dark])}</g>' for dark, ink in inks if numbers[dark]]
    return ['<g font-size="10" text-anchor="middle">', *cells, *texts, "</g>"]


def _colour(share: float) -> str:
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(_LIGHT, _DARK))
    return f"#{red:02x}{green:02x}{blue:02x}"
