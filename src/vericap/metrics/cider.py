"""CIDEr-D and CIDEr (Vedantam et al. 2015) as the COCO evaluation tool computes them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from vericap.core.analysis import Key
from vericap.core.batch import Batch
from vericap.core.metric import Metric, Option
from vericap.core.settings import Settings
from vericap.core.statistics import Statistics
from vericap.core.typing import Floats, Ints
from vericap.metrics.toolbox import without_references
from vericap.run.analyses import NGrams, Tokens
from vericap.text.frequency import DocumentFrequency
from vericap.text.frequency_files import table
from vericap.text.ngrams import ORDERS, NGramTable, cosines

if TYPE_CHECKING:
    from vericap.core.explanation import Explanation

SIGMA = 6.0  # width of the length penalty, in n-grams

_DF = Option("", "document frequencies: corpus, coco-val or a file; empty: what the run says")


class _Cider(Metric):
    range = (0.0, 10.0)
    needs = ("references",)
    prepares_from = "references"
    options: ClassVar[Mapping[str, Option]] = {"df": _DF}
    clip: ClassVar[bool]

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        return (NGrams(settings.tokenizer),)

    def source(self, batch: Batch) -> str:
        """Where document frequencies come from."""
        return str(self.opt.df or batch.settings.df)

    def prepare(self, batch: Batch) -> DocumentFrequency:
        source = self.source(batch)
        if source != "corpus":
            return table(source)
        grams = batch[NGrams(batch.settings.tokenizer)]
        return DocumentFrequency.count(grams, batch.reference_offsets, batch.reference_index)

    def merge(self, states: Sequence[DocumentFrequency]) -> DocumentFrequency:
        if states[0].source != "corpus":
            return states[0]
        return type(states[0]).merge(states)  # of a large corpus: `NumberedFrequency`

    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        frequency: DocumentFrequency = self.prepare(batch) if state is None else state
        grams = batch[NGrams(batch.settings.tokenizer)]
        offsets, references = batch.reference_offsets, batch.reference_index
        codes, idf = frequency.weights(grams)
        similarity = cosines(grams, codes, idf, batch.candidates, offsets, references, clip=self.clip)
        counts = batch.reference_counts()
        if self.clip:
            similarity *= self.penalty(grams, np.repeat(batch.candidates, counts), references)[:, None]
        # References, orders, number of references: in the tool's order, so that the last digit is the tool's too.
        total = np.zeros((len(batch), ORDERS))
        if len(references):
            total[counts > 0] = np.add.reduceat(similarity, offsets[:-1][counts > 0], axis=0)
        found = without_references(batch, total.sum(axis=1) / ORDERS / np.maximum(counts, 1) * 10.0)
        if frequency.images <= 1 and len(batch):
            found.warnings.append(
                f"{self.label}: document frequencies come from one image, so every idf and every score is 0; "
                "bring frequencies with `df=coco-val` or `df=FILE`"
            )
        return found

    @staticmethod
    def penalty(grams: NGramTable, own: Ints, other: Ints) -> Floats:
        """Gaussian of the difference in length; the tool measures length in 2-grams, not in words."""
        length = np.maximum(grams.lengths - 1, 0)
        difference = np.abs(length[own] - length[other])
        away = range(int(difference.max(initial=0)) + 1)
        return np.array([math.e ** (-(n**2) / (2 * SIGMA**2)) for n in away])[difference]

    def explain_requires(self, settings: Settings) -> tuple[Key, ...]:
        return (Tokens(settings.tokenizer),)

    def explain(
        self, batch: Batch, rows: Sequence[int], state: Any = None, *, full: bool = False
    ) -> list[Explanation | None]:
        """Which words a reference has, the heaviest n-grams that are shared, and the heaviest ones that lack."""
        from vericap.metrics.ngram_reasons import weighted_ngrams

        frequency: DocumentFrequency = self.prepare(batch) if state is None else state
        idf = frequency.idf(batch[NGrams(batch.settings.tokenizer)])
        return weighted_ngrams(self.label, batch, rows, idf, full=full)

    def signature_parts(self, batch: Batch) -> dict[str, str]:
        source = self.source(batch)
        if source in ("corpus", "coco-val"):
            return {"df": source}
        return {"df": f"file-{table(source).digest}"}


class CiderD(_Cider):
    name, title = "cider-d", "CIDEr-D"
    clip = True


class Cider(_Cider):
    name, title = "cider", "CIDEr"
    clip = False
