"""Grounding: do words score high on the regions they name? (FAIEr, Table 5)

For a metric that exposes a region-word matrix: the score of a region with the words that name its
ground-truth object, against its score with all other words of the caption.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from vericap.core.errors import VericapError
from vericap.core.explanation import Explanation, HeatMap
from vericap.core.table import Table
from vericap.core.typing import Bools, Floats

WORD_MAP = "regions x words of the candidate"  # how metrics call the heat map that is analysed here


@dataclass(frozen=True)
class Grounded:
    """One caption on one image: scores (regions, words), and what each region shows."""

    words: Sequence[str]
    scores: Floats
    labels: Sequence[str]  # ground-truth label of every region; empty where unknown


@dataclass(frozen=True)
class WordGrounding:
    """Mean scores of ground-truth and other words, and how often the true word is the region's best."""

    truth: float
    others: float
    best: float
    regions: int
    skipped: int  # regions whose label is not in the caption


def analyse(items: Iterable[Grounded], *, names: Callable[[str, str], bool] | None = None) -> WordGrounding:
    """`names(word, label)` says whether a word names a label; by default equality without plural s."""
    same = names or _same
    return compared((np.asarray(item.scores, dtype=np.float64), _named(item, same)) for item in items)


def _named(item: Grounded, same: Callable[[str, str], bool]) -> Bools:
    """(regions, words): whether a word names what a region shows."""
    if np.shape(item.scores) != (len(item.labels), len(item.words)):
        raise VericapError(
            f"a grounding matrix has shape {np.shape(item.scores)} for {len(item.labels)} regions "
            f"and {len(item.words)} words"
        )
    return np.array([[bool(label) and same(word, label) for word in item.words] for label in item.labels], dtype=bool)


def compared(items: Iterable[tuple[Floats, Bools]]) -> WordGrounding:
    """From scores (regions, words) and whether a word names what a region shows."""
    truth, others, best, skipped = [], [], [], 0
    for scores, named in items:
        for row, hit in zip(scores, named):
            if not hit.any() or hit.all():
                skipped += 1
                continue
            truth.append(row[hit].mean())
            others.append(row[~hit].mean())
            best.append(float(hit[row.argmax()]))
    if not truth:
        raise VericapError("no region's label occurs in its caption; there is nothing to analyse")
    return WordGrounding(float(np.mean(truth)), float(np.mean(others)), float(np.mean(best)), len(truth), skipped)


def grounded(explanation: Explanation, labels: Sequence[str]) -> Grounded:
    """One item from a metric's full explanation.

    `labels` are the ground-truth labels of the regions, in the metric's order; see `labels_of_boxes`.
    """
    found = word_map(explanation)
    return Grounded(found.columns, np.asarray(found.values, dtype=np.float64), labels)


def word_map(explanation: Explanation) -> HeatMap:
    """The heat map of an explanation that holds regions x words of the candidate."""
    for found in explanation.heatmaps:
        if found.title.startswith(WORD_MAP):
            return found
    raise VericapError(
        f"the explanation by '{explanation.metric}' has no heat map '{WORD_MAP}'; "
        "grounding needs a metric that draws one, asked with `full=True`"
    )


def labels_of_boxes(regions: Floats, boxes: Floats, labels: Sequence[str], *, overlap: float = 0.5) -> list[str]:
    """The label of the annotated box that overlaps each region most (intersection over union), or ''."""
    if not len(boxes):
        return [""] * len(regions)
    low = np.maximum(regions[:, None, :2], boxes[None, :, :2])
    high = np.minimum(regions[:, None, 2:], boxes[None, :, 2:])
    shared = np.clip(high - low, 0, None).prod(axis=2)
    areas = [np.clip(b[:, 2:] - b[:, :2], 0, None).prod(axis=1) for b in (regions, boxes)]
    union = areas[0][:, None] + areas[1][None, :] - shared
    share = shared / np.maximum(union, 1e-12)
    return [labels[row.argmax()] if row.max() >= overlap else "" for row in share]


def _same(word: str, label: str) -> bool:
    word, label = word.lower(), label.lower()
    return word.removesuffix("s") == label.removesuffix("s") or word in label.split()


def grounding_table(found: dict[str, WordGrounding]) -> Table:
    table = Table(["metric", "ground-truth words", "other words", "true word is best", "regions"])
    for name, each in found.items():
        table.add(name, each.truth, each.others, each.best, each.regions)
    return table
