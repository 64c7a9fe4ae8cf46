"""ROUGE-L (Lin 2004) as the COCO evaluation tool computes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from vericap.core.analysis import Key
from vericap.core.batch import Batch
from vericap.core.metric import Metric, Option
from vericap.core.settings import Settings
from vericap.core.statistics import Statistics
from vericap.metrics.toolbox import without_references
from vericap.run.analyses import Tokens
from vericap.text.ngrams import lcs_lengths

if TYPE_CHECKING:
    from vericap.core.explanation import Explanation


class RougeL(Metric):
    name, title = "rouge-l", "ROUGE-L"
    range = (0.0, 1.0)
    needs = ("references",)
    options: ClassVar[Mapping[str, Option]] = {"beta": Option(1.2, "weight of recall against precision")}

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        return (Tokens(settings.tokenizer),)

    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        tokens = batch[Tokens(batch.settings.tokenizer)]
        offsets, references = batch.reference_offsets, batch.reference_index
        counts = np.diff(offsets)
        common = lcs_lengths(tokens, batch.candidates, offsets, references).astype(np.float64)
        lengths = tokens.lengths()
        own, other = np.repeat(lengths[batch.candidates], counts), lengths[references]
        # The tool splits an empty line into one empty token, which matches another empty line.
        common[(own == 0) & (other == 0)] = 1.0
        filled = counts > 0
        precision = np.zeros(len(batch))
        recall = np.zeros(len(batch))
        if filled.any():
            starts = offsets[:-1][filled]
            precision[filled] = np.maximum.reduceat(common / np.maximum(own, 1), starts)
            recall[filled] = np.maximum.reduceat(common / np.maximum(other, 1), starts)
        # Best precision and best recall are taken independently over the references.
        square = self.opt.beta**2
        bottom = recall + square * precision
        top = (1 + square) * precision * recall
        score = np.divide(top, bottom, out=np.zeros(len(batch)), where=(precision != 0) & (recall != 0))
        return without_references(batch, score)

    def explain(
        self, batch: Batch, rows: Sequence[int], state: Any = None, *, full: bool = False
    ) -> list[Explanation | None]:
        """Which words a reference has."""
        from vericap.metrics.ngram_reasons import shared_words

        return shared_words(self.label, batch, rows)
