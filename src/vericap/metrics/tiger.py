"""TIGEr (Jiang et al. 2019): does the candidate ground in the image as the references do?

Grounding vector of a caption: g_i = cos(v_i, a_i) over the regions; the references' vectors are averaged.
RRS: NDCG of the candidate's ranking of the regions; gains: the reference vector scaled to 0..1; discount
     log2(rank + 1).
WDS: D = KL(softmax(reference) || softmax(candidate)) + ln(|reference| / |candidate|),
     WDS = 1 - sigmoid(1.5 D).
TIGEr = (RRS + WDS) / 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from vericap.core.analysis import Key
from vericap.core.batch import Batch
from vericap.core.metric import Metric, Option
from vericap.core.settings import Settings
from vericap.core.statistics import Statistics
from vericap.core.typing import Floats, Ints
from vericap.metrics.reo.groups import Group, groups, problems
from vericap.metrics.reo.measures import cosine, weighted
from vericap.metrics.toolbox import NO_REFERENCE, judged
from vericap.models.scan import halves
from vericap.run.analyses import Grounding
from vericap.run.analyses.grounding import GroundedBatch

_TINY = 1e-8


def ranking(candidate: Floats, reference: Floats) -> float:
    """Region Rank Similarity of two grounding vectors."""
    low, high = float(reference.min()), float(reference.max())
    if high - low < _TINY:  # the references prefer no region: every ranking is as good
        return 1.0
    gains = (reference - low) / (high - low)
    discount = 1.0 / np.log2(np.arange(2, len(gains) + 2))
    found = float((gains[np.argsort(-candidate, kind="stable")] * discount).sum())
    best = float((np.sort(gains)[::-1] * discount).sum())
    return found / best


def weight_distribution(candidate: Floats, reference: Floats) -> float:
    """Weight Distribution Similarity of two grounding vectors."""
    log_reference, log_candidate = _log_softmax(reference), _log_softmax(candidate)
    divergence = float((np.exp(log_reference) * (log_reference - log_candidate)).sum())
    lengths = max(float(np.linalg.norm(reference)), _TINY) / max(float(np.linalg.norm(candidate)), _TINY)
    distance = divergence + float(np.log(lengths))
    return 1.0 - 1.0 / (1.0 + float(np.exp(-1.5 * distance)))


def _log_softmax(x: Floats) -> Floats:
    shifted = x - x.max()
    return np.asarray(shifted - np.log(np.exp(shifted).sum()))


class Tiger(Metric):
    name, title = "tiger", "TIGEr"
    range = (0.0, 1.0)
    needs = ("image", "references")
    languages = ("en",)
    width = 3
    options: ClassVar[Mapping[str, Option]] = {
        "model": Option("default", "the shipped model (default) or a folder of a trained one")
    }

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        return tuple(Grounding(model) for _, model in halves(self.opt.model))

    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        models = [(share, batch[Grounding(model)]) for share, model in halves(self.opt.model)]
        bad = problems(batch, models[0][1])
        values = weighted((share, _values(batch, grounding, judged(batch, bad))) for share, grounding in models)
        for row in np.flatnonzero(np.isnan(values[:, 0])).tolist():
            bad.setdefault(row, NO_REFERENCE)
        return Statistics(values, bad, {"rrs": values[:, 1], "wds": values[:, 2]})


def _values(batch: Batch, grounding: GroundedBatch, rows: Ints) -> Floats:
    """(samples, 3): TIGEr, RRS and WDS by one model; NaN without references."""
    values = np.full((len(batch), 3), np.nan)
    for group in groups(batch, grounding, rows, references=True):
        for row, candidate, reference in grounding_vectors(group):
            rank, weight = ranking(candidate, reference), weight_distribution(candidate, reference)
            values[row] = (rank + weight) / 2, rank, weight
    return values


def grounding_vectors(group: Group) -> Iterator[tuple[int, Floats, Floats]]:
    """Rows that have references, with their vector and the mean vector of their references."""
    own = cosine(group.candidate, group.regions)
    others = cosine(group.said, group.grounding.regions[group.pairs[0]])
    ends = np.cumsum(group.counts)
    for place in np.flatnonzero(group.counts).tolist():
        inside = group.mask[place] > 0
        said = others[group.which[ends[place] - group.counts[place] : ends[place]]].mean(axis=0)
        yield int(group.rows[place]), own[place][inside].astype(np.float64), said[inside].astype(np.float64)
