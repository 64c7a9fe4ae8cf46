"""A scene graph as an SVG picture, by no other program than this one.

Objects stand in a row, their attributes below them, relations as arcs above: red, green and blue, the colours of
the papers' figures.
"""

from __future__ import annotations

import unicodedata
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vericap.graphs.scene_graph import SceneGraph

FONTS = (
    "'DejaVu Sans', 'Noto Sans', 'Helvetica Neue', Arial, 'Noto Sans CJK JP', 'Noto Sans JP', "
    "'Hiragino Kaku Gothic ProN', 'Yu Gothic', Meiryo, 'MS PGothic', 'IPAexGothic', sans-serif"
)
OBJECT, ATTRIBUTE, RELATION = ("#fbd5d0", "#b3261e"), ("#d6f0d8", "#1b6e2a"), ("#d7e3fb", "#1f4fa3")
_SIZE, _HEIGHT, _LEVEL, _MARGIN, _GAP = 14, 26, 40, 20, 24


def text_width(text: str) -> float:
    """Width in pixels as drawn; East Asian characters are square."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return _SIZE * (wide + 0.6 * (len(text) - wide))


def draw(graph: SceneGraph, *, title: str = "") -> str:
    """The picture; an empty graph says so and why."""
    if not graph.objects:
        return _page(420, 60, [_text(210, 34, graph.reason or "no objects", "#555")], title)
    own: list[list[str]] = [[] for _ in graph.objects]
    for place, text in graph.attributes:
        own[place].append(text)
    centres, width = _columns(graph, own)
    levels = _levels(graph)
    base = _MARGIN + _LEVEL * (max(levels, default=-1) + 1) + _LEVEL / 2
    parts = _arcs(graph, centres, levels, base)
    for place, name in enumerate(graph.objects):
        parts.append(_box(centres[place], base + _HEIGHT / 2, name, OBJECT, radius=4))
        for step, text in enumerate(own[place], 1):
            y = base + _HEIGHT / 2 + step * (_HEIGHT + 10)
            parts.insert(0, _line(centres[place], y - _HEIGHT, y))
            parts.append(_box(centres[place], y, text, ATTRIBUTE, radius=13))
    deepest = max(map(len, own))
    height = base + _HEIGHT + deepest * (_HEIGHT + 10) + _MARGIN
    return _page(width, height, parts, title)


def _columns(graph: SceneGraph, own: list[list[str]]) -> tuple[list[float], float]:
    """Centres of the objects, far enough apart for every label on an arc between them."""
    widths = [max(map(text_width, (name, *texts))) + 20 for name, texts in zip(graph.objects, own)]
    centres = [_MARGIN + widths[0] / 2]
    for left, right in pairwise(widths):
        centres.append(centres[-1] + (left + right) / 2 + _GAP)
    for subject, text, target in sorted(graph.relations, key=lambda item: max(item[0], item[2])):
        low, high = sorted((subject, target))
        lack = text_width(text) + 48 - (centres[high] - centres[low])
        if low != high and lack > 0:
            centres[high:] = [centre + lack for centre in centres[high:]]
    loops = [text_width(text) / 2 + 60 for s, text, o in graph.relations if s == o]
    width = centres[-1] + max([widths[-1] / 2, *loops]) + _MARGIN
    return centres, width


def _levels(graph: SceneGraph) -> list[int]:
    """A height for every relation, so that arcs above the same objects do not share one; short arcs lowest."""
    spans = [tuple(sorted((s, o))) for s, _, o in graph.relations]
    levels = [0] * len(spans)
    taken: list[list[tuple[int, ...]]] = []
    for place in sorted(range(len(spans)), key=lambda i: (spans[i][1] - spans[i][0], i)):
        low, high = spans[place]
        level = 0
        while level < len(taken) and any(low <= other[1] and other[0] <= high for other in taken[level]):
            level += 1
        if level == len(taken):
            taken.append([])
        taken[level].append(spans[place])
        levels[place] = level
    return levels


def _arcs(graph: SceneGraph, centres: list[float], levels: list[int], base: float) -> list[str]:
    ends: dict[int, list[tuple[float, int, str]]] = {}
    for place, (subject, _, target) in enumerate(graph.relations):
        ends.setdefault(subject, []).append((centres[target], place, "from"))
        ends.setdefault(target, []).append((centres[subject], place, "to"))
    foot: dict[tuple[int, str], float] = {}
    for place, items in ends.items():  # feet of arcs on one object stand side by side
        for order, (_, relation, side) in enumerate(sorted(items)):
            foot[relation, side] = centres[place] + 7 * (order - (len(items) - 1) / 2)
    lines, boxes = [], []
    for place, (subject, text, target) in enumerate(graph.relations):
        start, end = foot[place, "from"], foot[place, "to"]
        if subject == target:
            start, end = centres[subject] - 14, centres[subject] + 14
        top = base - _LEVEL * (levels[place] + 0.75)
        lines.append(
            f'<path d="M{start:.1f} {base:.1f} V{top:.1f} H{end:.1f} V{base - 2:.1f}" fill="none" '
            f'stroke="{RELATION[1]}" stroke-width="1.4" stroke-linejoin="round" marker-end="url(#tip)"/>'
        )
        boxes.append(_box((start + end) / 2, top, text, RELATION, radius=8))
    return lines + boxes


def _box(x: float, y: float, text: str, colours: tuple[str, str], *, radius: int) -> str:
    width = text_width(text) + 16
    return (
        f'<rect x="{x - width / 2:.1f}" y="{y - _HEIGHT / 2:.1f}" width="{width:.1f}" height="{_HEIGHT}" '
        f'rx="{radius}" fill="{colours[0]}" stroke="{colours[1]}"/>{_text(x, y + 5, text, "#111")}'
    )


def _text(x: float, y: float, text: str, colour: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle" fill="{colour}">{escape(text)}</text>'


def _line(x: float, top: float, bottom: float) -> str:
    return f'<line x1="{x:.1f}" y1="{top:.1f}" x2="{x:.1f}" y2="{bottom:.1f}" stroke="{ATTRIBUTE[1]}"/>'


def _page(width: float, height: float, parts: list[str], title: str) -> str:
    left = max(0.0, (text_width(title) + 2 * _MARGIN - width) / 2)
    width += 2 * left
    shift = 28 if title else 0
    head = _text(width / 2, 22, title, "#333") if title else ""
    tip = (
        f'<defs><marker id="tip" markerWidth="8" markerHeight="8" refX="6" refY="4" orient="auto">'
        f'<path d="M0 0 L8 4 L0 8 z" fill="{RELATION[1]}"/></marker></defs>'
    )
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height + shift:.0f}" '
        f'viewBox="0 0 {width:.0f} {height + shift:.0f}" font-size="{_SIZE}" font-family="{FONTS}">\n'
        f'<rect width="100%" height="100%" fill="white"/>{tip}{head}\n'
        f'<g transform="translate({left:.0f} {shift})">\n{body}\n</g>\n</svg>\n'
    )
