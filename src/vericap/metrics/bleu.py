"""BLEU-1..4 (Papineni et al. 2002) as the COCO evaluation tool computes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from vericap.core.analysis import Key
from vericap.core.batch import Batch
from vericap.core.metric import Metric
from vericap.core.settings import Settings
from vericap.core.statistics import Statistics
from vericap.core.typing import Floats
from vericap.metrics.toolbox import without_references
from vericap.run.analyses import BleuCounts, Tokens
from vericap.text import ngrams

if TYPE_CHECKING:
    from vericap.core.explanation import Explanation

# The tool's constants: an order without matches counts as TINY, an order without n-grams as SMALL.
TINY = 1e-15
SMALL = 1e-9


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
    width = 2 * ngrams.ORDERS + 2

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        return (BleuCounts(settings.tokenizer),)

    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        return without_references(batch, batch[BleuCounts(batch.settings.tokenizer)])

    def explain_requires(self, settings: Settings) -> tuple[Key, ...]:
        return (Tokens(settings.tokenizer),)

    def explain(
        self, batch: Batch, rows: Sequence[int], state: Any = None, *, full: bool = False
    ) -> list[Explanation | None]:
        """Which words a reference has, and how many n-grams of each length matched."""
        from vericap.metrics.ngram_reasons import matched_orders

        return matched_orders(self.label, batch, rows, batch[BleuCounts(batch.settings.tokenizer)], self.order)

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
