"""Intervals and paired tests for agreement: images are drawn, not captions.

Captions of one image share its difficulty and its raters, so they are not independent; drawing whole
images keeps them together. The same draws serve every metric, which makes differences paired.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vericap.core.errors import VericapError
from vericap.core.typing import Floats, Ints
from vericap.meta.agreement import Agreement, agreement
from vericap.run.significance import interval, paired_bootstrap, resample_weights

RESAMPLES = 1000


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % interval and its bootstrap draws."""

    value: float
    interval: tuple[float, float]
    draws: Floats


@dataclass(frozen=True)
class Difference:
    """How two estimates differ on the same draws."""

    value: float
    interval: tuple[float, float]
    p: float


def cluster_weights(clusters: int, *, resamples: int = RESAMPLES, seed: int = 0) -> Floats:
    """(resamples, clusters): how often each cluster was drawn with replacement."""
    if clusters < 2:
        raise VericapError(
            f"a clustered bootstrap needs at least 2 images, the data has {clusters}; "
            "intervals are not available (`resamples=0` leaves them out)"
        )
    return np.concatenate(list(resample_weights(clusters, resamples=resamples, seed=seed)))


def estimate(statistic: Agreement, weights: Floats | None, *, level: float = 0.95) -> Estimate:
    """Value, percentile interval and draws; without weights only the value."""
    if weights is None:
        return Estimate(statistic.value, (float("nan"), float("nan")), np.empty(0))
    draws = statistic.resampled(weights)
    return Estimate(statistic.value, interval(draws, level), draws)


def difference(one: Estimate, two: Estimate, *, level: float = 0.95) -> Difference:
    """`one` minus `two` by the paired bootstrap: both must come from the same weights."""
    value = one.value - two.value
    if not one.draws.size or one.draws.size != two.draws.size:
        return Difference(value, (float("nan"), float("nan")), float("nan"))
    gaps = one.draws - two.draws
    if np.isnan(gaps).all():
        return Difference(value, (float("nan"), float("nan")), float("nan"))
    return Difference(value, interval(gaps, level), paired_bootstrap(gaps, value))


def randomisation(
    statistic: str,
    one: Floats,
    two: Floats,
    judgement: Floats,
    cluster: Ints,
    *,
    trials: int = RESAMPLES,
    seed: int = 0,
) -> float:
    """Two-sided p of the difference of two metrics when their scores are swapped image by image.

    Scores are put on one scale first (mid-ranks; z-scores for Pearson), else a swap would mix units.
    Both metrics become one data set with twice the clusters, and a swap is a choice of cluster
    weights: the machinery of the bootstrap does the rest.
    """
    one, two = (_common_scale(np.asarray(scores, float), statistic) for scores in (one, two))
    cluster = np.asarray(cluster, dtype=np.int64)
    count = int(cluster.max()) + 1
    both = agreement(
        statistic,
        np.concatenate([one, two]),
        np.concatenate([judgement, judgement]),
        np.concatenate([cluster, cluster + count]),
    )
    swaps = np.random.default_rng(seed).integers(0, 2, size=(trials, count)).astype(np.float64)
    swaps = np.concatenate([np.zeros((1, count)), swaps])
    gaps = both.resampled(np.concatenate([1 - swaps, swaps], axis=1)) - both.resampled(
        np.concatenate([swaps, 1 - swaps], axis=1)
    )
    extreme = np.abs(gaps[1:]) >= abs(gaps[0]) - 1e-12
    return float((extreme.sum() + 1) / (trials + 1))


def _common_scale(scores: Floats, statistic: str) -> Floats:
    if statistic == "pearson":
        spread = scores.std()
        return (scores - scores.mean()) / (spread if spread else 1.0)
    from scipy.stats import rankdata

    return np.asarray(rankdata(scores), dtype=np.float64)
