"""Heat maps of regions and words, as SVG pictures by no other program than this one.

Any metric's explanation with `words` and a `matrix` or `attention` (regions x words) can be drawn; `boxes` give every
row a small picture of where its region lies. FAIEr's references (Figure 6 of the paper) are drawn below each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vericap.graphs.drawing import FONTS, text_width

Array = NDArray[np.float64]
_CELL, _HEAD, _ICON, _MARGIN = (46, 20), 90, 18, 10
_LIGHT, _DARK = (247, 251, 255), (8, 64, 129)  # colours of the lowest and highest value


def pictures(explanation: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(title, SVG) of every region-word matrix in an explanation."""
    boxes = explanation.get("boxes")
    found = []
    for names, values, title in (
        ("words", "matrix", "regions x words of the candidate: similarity"),
        ("words", "attention", "regions x words of the candidate: attention"),
        ("triplets", "triplet_matrix", "regions x triplets of the candidate: similarity"),
    ):
        if explanation.get(names) and explanation.get(values):
            found.append((title, heatmap(explanation[names], explanation[values], boxes=boxes)))
    for number, reference in enumerate(explanation.get("references", ()), 1):
        if isinstance(reference, Mapping) and reference.get("attention"):
            title = f"regions x words of reference {number}: attention"
            found.append((title, heatmap(reference["words"], reference["attention"], boxes=boxes)))
    return found


def heatmap(
    words: Sequence[str], matrix: Sequence[Sequence[float]], *, boxes: Sequence[Sequence[float]] | None = None
) -> str:
    """One picture: a column per word, a row per region, each word's best region framed."""
    values = np.asarray(matrix, dtype=np.float64)
    if values.shape[1:] != (len(words),):
        raise ValueError(f"{len(words)} words do not fit a matrix of shape {values.shape}")
    low, high = float(values.min()), float(values.max())
    shares = (values - low) / (high - low) if high > low else np.zeros_like(values)
    wide, tall = _CELL
    left = _MARGIN + 30 + _ICON
    head = min(_HEAD, int(max(map(text_width, words)) * 0.75) + 12)
    top = _MARGIN + head
    parts = [_word(left + (column + 0.5) * wide, top - 6, word) for column, word in enumerate(words)]
    parts.append('<g font-size="10" text-anchor="middle">')
    for row in range(len(values)):
        y = top + row * tall
        parts.append(f'<text x="{_MARGIN + 24}" y="{y + 14}" text-anchor="end" font-size="10">{row + 1}</text>')
        if boxes is not None:
            parts.append(_icon(_MARGIN + 28, y + 1, boxes[row]))
        for column in range(len(words)):
            x, share = left + column * wide, float(shares[row, column])
            parts.append(_cell(x, y, share, float(values[row, column])))
    parts.append("</g>")
    for column, row in enumerate(values.argmax(axis=0).tolist()):  # last, so that no neighbour covers the frame
        place = f'x="{left + column * wide}" y="{top + row * tall}" width="{wide}" height="{tall}"'
        parts.append(f'<rect {place} fill="none" stroke="#c0392b" stroke-width="2"/>')
    width, height = left + len(words) * wide + _MARGIN + head // 2, top + len(values) * tall + _MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="{escape(FONTS)}" fill="#222">{"".join(parts)}</svg>'
    )


def _word(x: float, y: float, word: str) -> str:
    shown = word if len(word) <= 24 else word[:23] + "…"
    return f'<text transform="translate({x:.0f} {y}) rotate(-40)" font-size="12">{escape(shown)}</text>'


def _icon(x: float, y: float, box: Sequence[float]) -> str:
    """A small frame with the region's place in it."""
    x0, y0, x1, y1 = (max(0.0, min(1.0, float(share))) * _ICON for share in box)
    return (
        f'<rect x="{x}" y="{y}" width="{_ICON}" height="{_ICON}" fill="#fff" stroke="#999"/>'
        f'<rect x="{x + x0:.1f}" y="{y + y0:.1f}" width="{x1 - x0:.1f}" height="{y1 - y0:.1f}" fill="#c0392b"/>'
    )


def _cell(x: int, y: int, share: float, value: float) -> str:
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(_LIGHT, _DARK))
    ink = ' fill="#fff"' if share > 0.55 else ""
    wide, tall = _CELL
    shown = f"{value:.2f}".replace("-0.00", "0.00")
    return (
        f'<path d="M{x} {y}h{wide - 1}v{tall - 1}h{1 - wide}z" fill="#{red:02x}{green:02x}{blue:02x}"/>'
        f'<text x="{x + wide // 2}" y="{y + 14}"{ink}>{shown}</text>'
    )
