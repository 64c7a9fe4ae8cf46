"""Agreement between scores and judgements, for one weighting of the clusters or for thousands at once.

Everything here takes a matrix of cluster weights (resamples, clusters): a bootstrap draws images with
replacement, so a resample is nothing but how often each image was drawn. Row of ones = the data itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial

import numpy as np

from vericap.core.errors import UnknownName, VericapError
from vericap.core.typing import Array, Floats, Ints
from vericap.meta.kendall import Kendall

_BLOCK = 2_000_000  # numbers held at once in the rank correlation


class Agreement(ABC):
    """A statistic of (scores, judgements) prepared for any cluster weights."""

    @abstractmethod
    def resampled(self, weights: Floats) -> Floats:
        """(resamples, clusters) -> (resamples,); NaN where the statistic is undefined."""

    @property
    @abstractmethod
    def clusters(self) -> int: ...

    @property
    def value(self) -> float:
        """The statistic on the data as it is."""
        return float(self.resampled(np.ones((1, self.clusters)))[0])


class Pearson(Agreement):
    """Pearson's r from weighted sums."""

    def __init__(self, x: Floats, y: Floats, cluster: Ints, *, clusters: int = 0) -> None:
        x, y, cluster = _checked(x, y, cluster)
        self._count = _number(cluster, clusters)
        # Centring first keeps the sums of squares small: no cancellation.
        x, y = x - x.mean(), y - y.mean()
        columns = [np.ones_like(x), x, y, x * x, y * y, x * y]
        self._sums = np.stack([np.bincount(cluster, c, self._count) for c in columns], axis=1)

    @property
    def clusters(self) -> int:
        return self._count

    def resampled(self, weights: Floats) -> Floats:
        n, sx, sy, sxx, syy, sxy = (weights @ self._sums).T
        with np.errstate(invalid="ignore", divide="ignore"):
            vx, vy = sxx - sx * sx / n, syy - sy * sy / n
            flat = (vx <= 1e-12 * np.maximum(sxx, 1e-300)) | (vy <= 1e-12 * np.maximum(syy, 1e-300))
            r = (sxy - sx * sy / n) / np.sqrt(vx * vy)
        return np.where(flat, np.nan, np.clip(r, -1.0, 1.0))


class Spearman(Agreement):
    """Spearman's rho: Pearson's r of mid-ranks, ranked anew in every resample."""

    def __init__(self, x: Floats, y: Floats, cluster: Ints, *, clusters: int = 0) -> None:
        x, y, cluster = _checked(x, y, cluster)
        self._count = _number(cluster, clusters)
        self._cluster = cluster
        self._x = np.unique(x, return_inverse=True)[1]
        self._y = np.unique(y, return_inverse=True)[1]

    @property
    def clusters(self) -> int:
        return self._count

    def resampled(self, weights: Floats) -> Floats:
        step = max(1, _BLOCK // len(self._x))
        parts = [self._block(weights[s : s + step]) for s in range(0, len(weights), step)]
        return np.concatenate(parts)

    def _block(self, weights: Floats) -> Floats:
        entry = weights[:, self._cluster]
        total = entry.sum(axis=1)
        middle = (total[:, None] + 1) / 2
        rx, ry = (_mid_ranks(level, entry) - middle for level in (self._x, self._y))
        xx, yy, xy = (entry * rx * rx).sum(1), (entry * ry * ry).sum(1), (entry * rx * ry).sum(1)
        with np.errstate(invalid="ignore", divide="ignore"):
            rho = xy / np.sqrt(xx * yy)
        return np.where((xx <= 0) | (yy <= 0), np.nan, np.clip(rho, -1.0, 1.0))


def _mid_ranks(level: Ints, entry: Floats) -> Floats:
    """Mid-rank of every entry under integer weights."""
    count = int(level.max()) + 1
    flat = (level[None, :] + count * np.arange(len(entry))[:, None]).ravel()
    mass = np.bincount(flat, entry.ravel(), count * len(entry)).reshape(len(entry), count)
    ranks = np.cumsum(mass, axis=1) - mass + (mass + 1) / 2
    return np.take_along_axis(ranks, np.broadcast_to(level, entry.shape), axis=1)


class KendallAgreement(Agreement):
    """Kendall's tau-b or tau-c."""

    def __init__(self, x: Floats, y: Floats, cluster: Ints, *, variant: str, clusters: int = 0) -> None:
        x, y, cluster = _checked(x, y, cluster)
        self._kendall = Kendall(x, y, cluster, clusters=clusters)
        self._variant = variant

    @property
    def clusters(self) -> int:
        return self._kendall.clusters

    def resampled(self, weights: Floats) -> Floats:
        return self._kendall.tau(weights, self._variant)


class MeanOverClusters(Agreement):
    """A mean of values that belong to clusters (pairwise accuracy, per-image correlations)."""

    def __init__(self, values: Floats, cluster: Ints, *, clusters: int = 0) -> None:
        usable = ~np.isnan(values)
        self._count = _number(cluster, clusters)
        self._sum = np.bincount(cluster[usable], values[usable], self._count)
        self._n = np.bincount(cluster[usable], minlength=self._count).astype(np.float64)

    @property
    def clusters(self) -> int:
        return self._count

    def resampled(self, weights: Floats) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray((weights @ self._sum) / (weights @ self._n))


class MeanOfAgreements(Agreement):
    """The mean of several agreements under the same draws: runs over random references, or groups."""

    def __init__(self, parts: list[Agreement]) -> None:
        if not parts:
            raise VericapError("a mean over no runs was asked for")
        self.parts = parts

    @property
    def clusters(self) -> int:
        return self.parts[0].clusters

    def resampled(self, weights: Floats) -> Floats:
        return np.mean([part.resampled(weights) for part in self.parts], axis=0)


class SystemAgreement(Agreement):
    """Correlation over systems of mean score and mean judgement (system level)."""

    def __init__(self, x: Floats, y: Floats, cluster: Ints, system: Ints, *, statistic: str, clusters: int = 0) -> None:
        x, y, cluster, system = _checked(x, y, cluster, system)
        self._statistic = statistic
        self._systems = int(system.max()) + 1
        self._count = _number(cluster, clusters)
        place = cluster * self._systems + system
        shape = (self._count, self._systems)
        self._n = np.bincount(place, minlength=self._count * self._systems).reshape(shape).astype(float)
        self._x = np.bincount(place, x, self._count * self._systems).reshape(shape)
        self._y = np.bincount(place, y, self._count * self._systems).reshape(shape)

    @property
    def clusters(self) -> int:
        return self._count

    def resampled(self, weights: Floats) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            n = weights @ self._n
            x, y = (weights @ self._x) / n, (weights @ self._y) / n
        one = np.ones((1, self._systems))
        own = np.arange(self._systems)
        make = STATISTICS[self._statistic]
        return np.array([_or_nan(make, a, b, own, one) for a, b in zip(x, y)])


def _or_nan(make: Callable[..., Agreement], x: Floats, y: Floats, own: Ints, one: Floats) -> float:
    usable = ~(np.isnan(x) | np.isnan(y))
    if usable.sum() < 2:
        return float("nan")
    n = int(usable.sum())
    return float(make(x[usable], y[usable], own[:n]).resampled(one[:, :n])[0])


STATISTICS: dict[str, Callable[..., Agreement]] = {
    "pearson": Pearson,
    "spearman": Spearman,
    "tau-b": partial(KendallAgreement, variant="b"),
    "tau-c": partial(KendallAgreement, variant="c"),
}


def agreement(statistic: str, x: Floats, y: Floats, cluster: Ints | None = None, *, clusters: int = 0) -> Agreement:
    """The named statistic, prepared for cluster weights; without clusters every row is its own.

    `clusters` counts the clusters where some have no row left, so that weights keep their width.
    """
    if statistic not in STATISTICS:
        raise UnknownName(f"no statistic is called '{statistic}'; there are: {', '.join(STATISTICS)}")
    rows = np.arange(len(x)) if cluster is None else np.asarray(cluster, dtype=np.int64)
    return STATISTICS[statistic](np.asarray(x, float), np.asarray(y, float), rows, clusters=clusters)


def correlation(statistic: str, x: Floats, y: Floats) -> float:
    """One number: pearson, spearman, tau-b or tau-c; NaN where it is undefined (a constant side)."""
    return agreement(statistic, x, y, np.zeros(len(x), dtype=np.int64)).value


def why_undefined(x: Floats, y: Floats) -> str:
    """In words, why a correlation of these two does not exist; empty where it does."""
    if len(x) < 2:
        return f"only {len(x)} judged captions; a correlation needs at least 2"
    if np.all(x == x[0]):
        return f"all scores are equal ({x[0]:g}), so the correlation is undefined"
    if np.all(y == y[0]):
        return f"all judgements are equal ({y[0]:g}), so the correlation is undefined"
    return ""


def _number(cluster: Ints, clusters: int) -> int:
    return max(clusters, int(cluster.max()) + 1 if len(cluster) else 0)


def _checked(x: Floats, y: Floats, *indices: Ints) -> tuple[Array, ...]:
    """Equal lengths and finite numbers, or an error that says which is not."""
    lengths = {len(x), len(y), *(len(i) for i in indices)}
    if len(lengths) != 1:
        raise VericapError(f"scores and judgements differ in length: {len(x)} and {len(y)}")
    if not len(x):
        raise VericapError("there is no judged caption to correlate")
    for name, values in (("score", x), ("judgement", y)):
        bad = np.flatnonzero(~np.isfinite(values))
        if bad.size:
            raise VericapError(f"{name} {int(bad[0])} is {values[bad[0]]}; leave such rows out first")
    return (np.asarray(x, float), np.asarray(y, float), *(np.asarray(i, np.int64) for i in indices))
