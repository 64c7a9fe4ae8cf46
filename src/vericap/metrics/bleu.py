"""BLEU-1..4 (Papineni et al. 2002) as the COCO evaluation tool computes it."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from vericap.metrics.base import Floats, Metric, Statistics
from vericap.metrics.references import without_references
from vericap.run.batch import Batch
from vericap.text import ngrams

# The tool's constants: an order without matches counts as TINY, an order without n-grams as SMALL.
TINY = 1e-15
SMALL = 1e-9


def analyse(batch: Batch) -> NDArray[np.int64]:
    """Provider of the `bleu_counts` analysis, which BLEU-1..4 share."""
    return ngrams.bleu_counts(
        batch.analysis("ngrams"), batch.candidates, batch.reference_offsets, batch.reference_index
    )


def bleu(counts: Floats, order: int) -> Floats:
    """BLEU of rows (..., 10): matches, guesses, candidate length, reference length."""
    counts = np.asarray(counts, dtype=np.float64)
    precision = np.ones(counts.shape[:-1])
    for n in range(order):
        precision = precision * ((counts[..., n] + TINY) / (counts[..., ngrams.ORDERS + n] + SMALL))
    ratio = (counts[..., -2] + TINY) / (counts[..., -1] + SMALL)
    brevity = np.exp(np.minimum(0.0, 1.0 - 1.0 / ratio))
    return np.asarray(precision ** (1.0 / order) * brevity)


class _Bleu(Metric):
    order: ClassVar[int]
    range = (0.0, 1.0)
    needs = ("references",)
    analyses = ("tokens",)

    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        return without_references(batch, batch.analysis("bleu_counts"))

    def captions(self, values: Floats) -> Floats:
        return bleu(values, self.order)

    def corpus(self, sums: Floats, count: Floats) -> Floats:
        # From summed counts, not the mean of the captions' scores.
        return np.where(np.asarray(count) > 0, bleu(sums, self.order), np.nan)


class Bleu1(_Bleu):
    name, title, order = "bleu-1", "BLEU-1", 1


class Bleu2(_Bleu):
    name, title, order = "bleu-2", "BLEU-2", 2


class Bleu3(_Bleu):
    name, title, order = "bleu-3", "BLEU-3", 3


class Bleu4(_Bleu):
    name, title, order = "bleu-4", "BLEU-4", 4
