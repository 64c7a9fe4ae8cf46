"""A metric's reasons as a picture: captions with words coloured by support, scores as bars, the photo with regions.

Plain SVG that holds everything it shows; no other program draws it.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from html import escape
from pathlib import Path

from vericap.core.explanation import Box, Explanation, Move, WordEvidence
from vericap.graphs.drawing import FONTS, text_width

_WIDTH, _PHOTO, _LINE, _GAP, _BAR = 900, 250, 26, 18, 130
_BAD, _GOOD = (205, 60, 45), (40, 140, 70)
_LISTED = 8


def picture(
    captions: Sequence[str],
    scores: Sequence[float],
    reasons: Sequence[Explanation | None],
    *,
    span: tuple[float, float],
    photo: Path | None = None,
) -> str:
    """One row per caption: a bar of its score, its words coloured, what was left out; beside the photo, if any."""
    left = _PHOTO + 2 * _GAP if photo else _GAP
    parts: list[str] = []
    y = float(_GAP)
    for caption, score, reason in zip(captions, scores, reasons):
        rows, y = _row(caption, score, reason, span, left, y)
        parts += rows
    if photo:
        shown, height = _photo(photo, reasons[0])
        parts += shown
        y = max(y, height + 2 * _GAP)
    moves = next((reason.transport for reason in reasons if reason and reason.transport), ())
    if moves:
        drawn, y = _moves(moves, left, y + _GAP)
        parts += drawn
    size = f'viewBox="0 0 {_WIDTH} {y:.0f}" width="{_WIDTH}" height="{y:.0f}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="{FONTS}" font-size="14">'
        f'<rect width="{_WIDTH}" height="{y:.0f}" fill="#fff"/>{"".join(parts)}</svg>\n'
    )


def _row(
    caption: str, score: float, reason: Explanation | None, span: tuple[float, float], left: float, y: float
) -> tuple[list[str], float]:
    """Bar, words and what was left out, of one caption."""
    low, high = span
    share = min(1.0, max(0.0, (score - low) / (high - low))) if high > low and score == score else 0.0
    parts = [
        f'<rect x="{left}" y="{y}" width="{_BAR}" height="14" rx="3" fill="#e8e8e8"/>',
        f'<rect x="{left}" y="{y}" width="{_BAR * share:.1f}" height="14" rx="3" fill="#3f6fb5"/>',
        _text(left + _BAR + 8, y + 12, "no score" if score != score else f"{score:.3f}", "#333"),
    ]
    y += _LINE + 6
    words = {word.start: word for word in reason.words} if reason else {}
    x = left
    for start, end in _pieces(caption):
        text = caption[start:end]
        if x + text_width(text) > _WIDTH - _GAP:
            x, y = left, y + _LINE
        parts += _word(text, _at(words, start, end), x, y)
        x += text_width(text) + 8
    y += _LINE
    missing = [content.text for content in reason.missing[:_LISTED]] if reason else []
    if missing:
        room = int((_WIDTH - _GAP - left) / 8.4)
        listed = ", ".join(missing)
        parts.append(
            _text(left, y, "left out: " + (listed if len(listed) < room else listed[: room - 2] + " …"), "#777")
        )
        y += _LINE
    return parts, y + 6


def _pieces(caption: str) -> list[tuple[int, int]]:
    """Places of the words; a text without blanks is cut into letters of some width."""
    if " " not in caption:
        return [(place, place + 1) for place in range(len(caption))]
    found, start = [], 0
    for word in caption.split(" "):
        found.append((start, start + len(word)))
        start += len(word) + 1
    return found


def _at(words: dict[int, WordEvidence], start: int, end: int) -> WordEvidence | None:
    """The evidence that covers a piece of the caption."""
    return next((word for word in words.values() if word.start < end and word.end > start), None)


def _word(text: str, evidence: WordEvidence | None, x: float, y: float) -> list[str]:
    if evidence is None or evidence.support is None:
        return [_text(x, y, text, "#999")]
    colour = _colour(min(1.0, max(0.0, evidence.support)))
    line = f'<rect x="{x}" y="{y + 4}" width="{text_width(text):.1f}" height="3" fill="{colour}"/>'
    return [_text(x, y, text, colour), line]


def _colour(share: float) -> str:
    return "#" + "".join(f"{round(bad + (good - bad) * share):02x}" for bad, good in zip(_BAD, _GOOD))


def _text(x: float, y: float, text: str, colour: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}">{escape(text)}</text>'


def _photo(file: Path, reason: Explanation | None) -> tuple[list[str], float]:
    """The photo, small, with the regions of the words and of what was left out."""
    from PIL import Image

    image = Image.open(file).convert("RGB")
    height = _PHOTO * image.height / image.width
    stream = io.BytesIO()
    image.resize((_PHOTO, round(height))).save(stream, "JPEG", quality=80)
    data = base64.b64encode(stream.getvalue()).decode()
    parts = [
        f'<image x="{_GAP}" y="{_GAP}" width="{_PHOTO}" height="{height:.0f}" href="data:image/jpeg;base64,{data}"/>'
    ]
    places: list[Box] = []
    labels: list[str] = []
    for label, box in _regions(reason):
        x0, y0, x1, y1 = (_GAP + value * side for value, side in zip(box, (_PHOTO, height, _PHOTO, height)))
        where = f'x="{x0:.0f}" y="{y0:.0f}" width="{x1 - x0:.0f}" height="{y1 - y0:.0f}"'
        parts.append(f'<rect {where} fill="none" stroke="#ffb300" stroke-width="2"/>')
        places.append(_free(x0, y0, text_width(label) * 12 / 14, places))
        left, _, _, bottom = places[-1]
        labels.append(
            f'<text x="{left:.0f}" y="{bottom:.0f}" fill="#fff" stroke="#000" stroke-width="3" paint-order="stroke" '
            f'font-size="12">{escape(label)}</text>'
        )
    return [*parts, *labels], height


def _free(x: float, y: float, wide: float, taken: Sequence[Box]) -> Box:
    """Where the label of a box stands: in its upper left corner, lower where another label is already.

    >>> _free(10, 10, 50, [])
    (13, 12, 63, 24)
    >>> _free(40, 14, 50, [(13, 12, 63, 24)])
    (43, 26, 93, 38)
    """
    left, top = x + 3, y + 2
    left = min(left, _GAP + _PHOTO - wide) if wide < _PHOTO else left
    while any(
        left < right and left + wide > start and top < low and top + 12 > high for start, high, right, low in taken
    ):
        top = min(low for start, high, right, low in taken if left < right and left + wide > start and low > top) + 2
    return (left, top, left + wide, top + 12)


def _regions(reason: Explanation | None) -> list[tuple[str, Box]]:
    """A few named boxes; words that share a box are named together."""
    if reason is None:
        return []
    named: dict[Box, list[str]] = {}
    for word in sorted(reason.words, key=lambda word: -(word.support or 0.0)):
        if word.region is not None:
            named.setdefault(word.region, []).append(word.text)
    for match in reason.matches:
        if match.region is not None:
            named.setdefault(match.region, []).append(" ".join(match.candidate))
    return [(", ".join(dict.fromkeys(texts))[:32], box) for box, texts in list(named.items())[:4]]


def _moves(moves: Sequence[Move], left: float, y: float) -> tuple[list[str], float]:
    """A transport plan: objects above, words below, a line for what is moved, thick by its mass, red by its cost."""
    above, below = (list(dict.fromkeys(getattr(move, side) for move in moves)) for side in ("object", "word"))
    places = [_centres(names, left) for names in (above, below)]
    dearest = max(move.cost for move in moves) or 1.0
    parts = []
    for move in moves:
        x0, x1 = places[0][move.object], places[1][move.word]
        colour, wide = _colour(1 - move.cost / dearest), 1 + 8 * move.mass
        parts.append(
            f'<line x1="{x0:.0f}" y1="{y + 22:.0f}" x2="{x1:.0f}" y2="{y + 92:.0f}" stroke="{colour}" '
            f'stroke-width="{wide:.1f}" stroke-opacity="0.6"/>'
        )
    for names, place, down in ((above, places[0], 14.0), (below, places[1], 110.0)):
        for name in names:
            parts.append(f'<text x="{place[name]:.0f}" y="{y + down:.0f}" text-anchor="middle">{escape(name)}</text>')
    return parts, y + 130


def _centres(names: Sequence[str], left: float) -> dict[str, float]:
    found, x = {}, left
    for name in names:
        wide = text_width(name) + 14
        found[name] = x + wide / 2
        x += wide
    return found
