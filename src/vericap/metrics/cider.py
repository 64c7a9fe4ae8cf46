"""CIDEr-D and CIDEr (Vedantam et al. 2015) as the COCO evaluation tool computes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from vericap.metrics.base import Floats, Metric, Option, Statistics
from vericap.metrics.references import without_references
from vericap.run.batch import Batch
from vericap.text.frequency import DocumentFrequency
from vericap.text.frequency_files import table
from vericap.text.ngrams import ORDERS, Ints, NGrams, cosines

SIGMA = 6.0  # width of the length penalty, in n-grams

_DF = Option("", "document frequencies: corpus, coco-val or a file; empty: what the run says (--df)")


class _Cider(Metric):
    range = (0.0, 10.0)
    needs = ("references",)
    analyses = ("tokens",)
    options: ClassVar[Mapping[str, Option]] = {"df": _DF}
    clip: ClassVar[bool]

    def source(self, batch: Batch) -> str:
        """Where document frequencies come from."""
        return str(self.opt.df or batch.settings.df)

    def prepare(self, batch: Batch) -> DocumentFrequency:
        source = self.source(batch)
        if source != "corpus":
            return table(source)
        return DocumentFrequency.count(batch.analysis("ngrams"), batch.reference_offsets, batch.reference_index)

    def merge(self, states: Sequence[DocumentFrequency]) -> DocumentFrequency:
        if states[0].source != "corpus":
            return states[0]
        return DocumentFrequency.merge(states)

    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        frequency: DocumentFrequency = self.prepare(batch) if state is None else state
        grams: NGrams = batch.analysis("ngrams")
        offsets, references = batch.reference_offsets, batch.reference_index
        similarity = cosines(grams, frequency.idf(grams), batch.candidates, offsets, references, clip=self.clip)
        counts = np.diff(offsets)
        if self.clip:
            similarity *= self.penalty(grams, np.repeat(batch.candidates, counts), references)[:, None]
        sample = np.repeat(np.arange(len(batch)), counts)
        total = np.bincount(sample, weights=similarity.sum(axis=1), minlength=len(batch))
        score = 10.0 * total / (ORDERS * np.maximum(counts, 1))
        found = without_references(batch, score)
        if frequency.images <= 1 and len(batch):
            found.warnings.append(
                f"{self.label}: document frequencies come from one image, so every idf and every score is 0; "
                "bring frequencies with --df coco-val or --df FILE"
            )
        return found

    @staticmethod
    def penalty(grams: NGrams, own: Ints, other: Ints) -> Floats:
        """Gaussian of the difference in length; the tool measures length in 2-grams, not in words."""
        length = np.maximum(grams.lengths - 1, 0)
        difference = (length[own] - length[other]).astype(np.float64)
        return np.asarray(np.exp(-(difference**2) / (2 * SIGMA**2)))

    def signature_parts(self, batch: Batch) -> dict[str, str]:
        source = self.source(batch)
        if source in ("corpus", "coco-val"):
            return {"df": source}
        return {"df": f"file-{table(source).digest()}"}


class CiderD(_Cider):
    name, title = "cider-d", "CIDEr-D"
    clip = True


class Cider(_Cider):
    name, title = "cider", "CIDEr"
    clip = False
