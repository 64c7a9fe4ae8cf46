"""Parts of explanations that metrics over regions share: boxes, heat maps, and which nodes make up a word."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from vericap.core.explanation import Box, HeatMap, WordEvidence
from vericap.core.typing import Array
from vericap.metrics.toolbox import words_of
from vericap.text.stopwords import ENGLISH

Span = tuple[int, int]  # letters of a text: the first one, and the one after the last


def box_of(region: Array) -> Box:
    """A region's place as shares of the image's sides."""
    left, top, right, bottom = (float(side) for side in region)
    return left, top, right, bottom


def heatmap(title: str, columns: Iterable[str], values: Array, boxes: Array) -> HeatMap:
    """A matrix (regions, columns) with the places of its regions."""
    rows = tuple(tuple(row) for row in values.round(4).tolist())
    return HeatMap(title, tuple(columns), rows, tuple(map(box_of, boxes)))


def word_parts(text: str, spans: Sequence[Span]) -> list[tuple[str, int, int, list[int]]]:
    """Every word of a caption with its letters, and the places of the tokens that overlap it (none: not read)."""
    return [
        (word, start, end, [place for place, (first, last) in enumerate(spans) if first < end and last > start])
        for word, start, end in words_of(text)
    ]


def word_evidence(
    text: str, spans: Sequence[Span], judge: Callable[[list[int]], tuple[float, Box | None]], source: str
) -> tuple[WordEvidence, ...]:
    """Every word of a caption with what `judge` says of its tokens: support and region.

    A word that no token belongs to is not judged; "the" and the like are shown without a region.
    """
    found = []
    for word, start, end, own in word_parts(text, spans):
        if not own:
            found.append(WordEvidence(word, start, end))
            continue
        support, region = judge(own)
        found.append(WordEvidence(word, start, end, support, source, None if word.lower() in ENGLISH else region))
    return tuple(found)
