"""Grounding: do words score high on the regions they name? (FAIEr, Table 5)

For a metric that exposes a region-word matrix: the score of a region with the words that name its
ground-truth object, against its score with all other words of the caption.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from vericap.errors import VericapError
from vericap.meta.judgements import Floats
from vericap.report.tables import Table


@dataclass(frozen=True)
class Grounded:
    """One caption on one image: scores (regions, words), and what each region shows."""

    words: Sequence[str]
    scores: Floats
    labels: Sequence[str]  # ground-truth label of every region; empty where unknown


@dataclass(frozen=True)
class Grounding:
    """Mean scores of ground-truth and other words, and how often the true word is the region's best."""

    truth: float
    others: float
    best: float
    regions: int
    skipped: int  # regions whose label is not in the caption


def analyse(items: Iterable[Grounded], *, names: Callable[[str, str], bool] | None = None) -> Grounding:
    """`names(word, label)` says whether a word names a label; by default equality without plural s."""
    same = names or _same
    truth, others, best, skipped = [], [], [], 0
    for item in items:
        scores = np.asarray(item.scores, dtype=np.float64)
        if scores.shape != (len(item.labels), len(item.words)):
            raise VericapError(
                f"a grounding matrix has shape {scores.shape} for {len(item.labels)} regions "
                f"and {len(item.words)} words"
            )
        for region, label in enumerate(item.labels):
            hit = np.array([bool(label) and same(word, label) for word in item.words], dtype=bool)
            if not hit.any() or hit.all():
                skipped += 1
                continue
            truth.append(scores[region, hit].mean())
            others.append(scores[region, ~hit].mean())
            best.append(float(hit[scores[region].argmax()]))
    if not truth:
        raise VericapError("no region's label occurs in its caption; there is nothing to analyse")
    return Grounding(float(np.mean(truth)), float(np.mean(others)), float(np.mean(best)), len(truth), skipped)


def _same(word: str, label: str) -> bool:
    word, label = word.lower(), label.lower()
    return word.removesuffix("s") == label.removesuffix("s") or word in label.split()


def grounding_table(found: dict[str, Grounding]) -> Table:
    table = Table(["metric", "ground-truth words", "other words", "true word is best", "regions"])
    for name, each in found.items():
        table.add(name, each.truth, each.others, each.best, each.regions)
    return table
