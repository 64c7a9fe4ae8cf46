"""TIGEr (Jiang et al. 2019): does the candidate ground in the image as the references do?

Grounding vector of a caption: g_i = cos(v_i, a_i) over the regions; the references' vectors are averaged.
RRS: NDCG of the candidate's ranking of the regions; gains: the reference vector scaled to 0..1; discount
     log2(rank + 1).
WDS: D = KL(softmax(reference) || softmax(candidate)) + ln(|reference| / |candidate|),
     WDS = 1 - sigmoid(1.5 D).
TIGEr = (RRS + WDS) / 2.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from vericap.metrics.base import Metric, Option, Statistics
from vericap.metrics.grounding import ANALYSES, Grounding
from vericap.metrics.reo import cosine
from vericap.models import scan, store
from vericap.run.batch import Batch

Array = NDArray[np.float64]
_TINY = 1e-8


def ranking(candidate: Array, reference: Array) -> float:
    """Region Rank Similarity of two grounding vectors."""
    low, high = float(reference.min()), float(reference.max())
    if high - low < _TINY:  # the references prefer no region: every ranking is as good
        return 1.0
    gains = (reference - low) / (high - low)
    discount = 1.0 / np.log2(np.arange(2, len(gains) + 2))
    found = float((gains[np.argsort(-candidate, kind="stable")] * discount).sum())
    best = float((np.sort(gains)[::-1] * discount).sum())
    return found / best


def weight_distribution(candidate: Array, reference: Array) -> float:
    """Weight Distribution Similarity of two grounding vectors."""
    log_reference, log_candidate = _log_softmax(reference), _log_softmax(candidate)
    divergence = float((np.exp(log_reference) * (log_reference - log_candidate)).sum())
    lengths = max(float(np.linalg.norm(reference)), _TINY) / max(float(np.linalg.norm(candidate)), _TINY)
    distance = divergence + float(np.log(lengths))
    return 1.0 - 1.0 / (1.0 + float(np.exp(-1.5 * distance)))


def _log_softmax(x: Array) -> Array:
    shifted = x - x.max()
    return np.asarray(shifted - np.log(np.exp(shifted).sum()))


class Tiger(Metric):
    name, title = "tiger", "TIGEr"
    range = (0.0, 1.0)
    needs = ("image", "references")
    analyses = ANALYSES
    options: ClassVar = {"model": Option("default", "the shipped model (default) or a folder of a trained one")}

    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        grounding = Grounding(batch, self.opt.model)
        problems = dict(grounding.problems)
        rows = np.full((len(batch), 3), np.nan)
        for group in grounding.groups():
            own = cosine(group.candidate, group.regions)
            others = cosine(group.reference, group.regions[group.owner])
            for place, row in enumerate(group.rows):
                if not group.counts[place]:
                    problems[int(row)] = "no references"
                    continue
                inside = group.mask[place] > 0
                reference = others[group.owner == place].mean(axis=0)[inside].astype(np.float64)
                candidate = own[place][inside].astype(np.float64)
                rank, weight = ranking(candidate, reference), weight_distribution(candidate, reference)
                rows[row] = (rank + weight) / 2, rank, weight
        return Statistics(rows, problems, {"rrs": rows[:, 1], "wds": rows[:, 2]})

    def signature_parts(self, batch: Batch) -> dict[str, str]:
        model = scan.load(self.opt.model)
        return {"scan": store.version(model.meta), "features": model.fingerprint}
