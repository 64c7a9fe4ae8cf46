"""How well scores tell two kinds apart (true and false, right and wrong), for any weights of the images."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from vericap.core.typing import Array, Floats, Ints
from vericap.meta.agreement import Agreement

_BLOCK = 2_000_000  # numbers held at once


class _Levels(Agreement):
    """Mass of the sought kind and of the other one at every distinct score, under cluster weights."""

    def __init__(self, x: Floats, sought: Array, cluster: Ints, *, clusters: int = 0) -> None:
        self._count = max(clusters, int(cluster.max()) + 1 if len(cluster) else 0)
        levels, self._level = np.unique(np.asarray(x, dtype=np.float64), return_inverse=True)
        self._levels = len(levels)
        self._cluster = np.asarray(cluster, dtype=np.int64)
        self._sought = np.asarray(sought, dtype=bool)

    @property
    def clusters(self) -> int:
        return self._count

    def resampled(self, weights: Floats) -> Floats:
        step = max(1, _BLOCK // max(1, len(self._level)))
        return np.concatenate([self._block(weights[s : s + step]) for s in range(0, len(weights), step)])

    def _block(self, weights: Floats) -> Floats:
        entry = weights[:, self._cluster]
        with np.errstate(invalid="ignore", divide="ignore"):
            return self._statistic(self._mass(entry * self._sought), self._mass(entry * ~self._sought))

    def _mass(self, entry: Floats) -> Floats:
        """(resamples, entries) summed to (resamples, levels)."""
        place = (self._level[None, :] + self._levels * np.arange(len(entry))[:, None]).ravel()
        mass = np.bincount(place, entry.ravel(), self._levels * len(entry))
        return np.asarray(mass.reshape(len(entry), self._levels), dtype=np.float64)

    @abstractmethod
    def _statistic(self, sought: Floats, other: Floats) -> Floats:
        """The statistic from the mass of both kinds at every level of the score, (resamples, levels)."""


class AreaUnderCurve(_Levels):
    """How often one of the sought kind scores higher than one of the other kind; equal scores count one half."""

    def _statistic(self, sought: Floats, other: Floats) -> Floats:
        below = np.cumsum(other, axis=1) - other / 2
        return np.asarray((sought * below).sum(axis=1) / (sought.sum(axis=1) * other.sum(axis=1)))


class AveragePrecision(_Levels):
    """Mean precision over all recalls, from the highest score down; equal scores enter together."""

    def _statistic(self, sought: Floats, other: Floats) -> Floats:
        hits = np.cumsum(sought[:, ::-1], axis=1)
        told = hits + np.cumsum(other[:, ::-1], axis=1)
        # A draw may leave out all entries at the top: nothing is told there yet, and nothing is found.
        precision = np.divide(hits, told, out=np.zeros_like(hits), where=told > 0)
        return np.asarray((sought[:, ::-1] * precision).sum(axis=1) / sought.sum(axis=1))


class Share(Agreement):
    """A quotient of two sums over entries: precision, recall, F1."""

    def __init__(self, part: Array, whole: Array, cluster: Ints, *, clusters: int) -> None:
        self._count = clusters
        self._sums = np.stack([np.bincount(cluster, values, clusters) for values in (part, whole)], axis=1)

    @property
    def clusters(self) -> int:
        return self._count

    def resampled(self, weights: Floats) -> Floats:
        part, whole = (weights @ self._sums).T
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(part / whole)


def right_by_threshold(x: Floats, sought: Array, cluster: Ints) -> Array:
    """Whether each entry is decided rightly by the threshold that makes most decisions right on other images."""
    return np.asarray(decided(x, sought, cluster, criterion="accuracy") == sought)


def decided(x: Floats, sought: Array, cluster: Ints, *, criterion: str) -> Array:
    """Which entries are taken for the sought kind: each half of the images has the threshold of the other half."""
    sought = np.asarray(sought, dtype=bool)
    # A fixed shuffle: every second image could be one kind of image.
    half = (np.random.default_rng(0).permutation(int(cluster.max()) + 1) % 2 == 0)[cluster]
    found = np.zeros(len(x), dtype=bool)
    for own in (half, ~half):
        others = ~own if (~own).any() else own
        found[own] = x[own] >= best_threshold(x[others], sought[others], criterion=criterion)
    return found


def best_threshold(x: Floats, sought: Array, *, criterion: str) -> float:
    """The lowest score to take for the sought kind: the one with the highest accuracy, or the highest F1."""
    levels, place = np.unique(x, return_inverse=True)
    hits = np.cumsum(np.bincount(place, sought, len(levels))[::-1])[::-1]
    told = np.cumsum(np.bincount(place, minlength=len(levels))[::-1])[::-1]
    if criterion == "f1":
        quality = 2 * hits / (told + sought.sum())
    else:
        quality = hits - (told - hits)
        if quality.max() < 0:
            return float("inf")
    return float(levels[int(np.argmax(quality))])
