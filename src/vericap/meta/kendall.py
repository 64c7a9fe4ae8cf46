"""Kendall's tau for clustered data under many cluster weights.

Concordant minus discordant pairs are a quadratic form in the cluster weights: every pair of entries
belongs to a pair of clusters. The matrix of that form is built once by a sweep over the sorted
scores; after that a resample costs one matrix-vector product instead of a new sort and count.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from vericap.core.errors import UnknownName
from vericap.core.typing import Floats, Ints

_MATRIX_LIMIT = 6_000  # clusters: the matrix takes 8 bytes x clusters^2
_LEVEL_LIMIT = 4_000_000  # numbers in the sweep's table (levels x clusters)
_GROUP = 64  # equal scores from which whole-array steps are faster than one entry at a time
_BLOCK = 4_000_000  # numbers at once in the products


class Kendall:
    """Counts of one (x, y, cluster) data set, ready for any integer cluster weights."""

    def __init__(self, x: Floats, y: Floats, cluster: Ints, *, clusters: int = 0) -> None:
        x_level = np.unique(x, return_inverse=True)[1].astype(np.int64)
        y_level = np.unique(y, return_inverse=True)[1].astype(np.int64)
        self.clusters = max(clusters, int(cluster.max()) + 1)
        self._cluster = np.asarray(cluster, dtype=np.int64)
        self._x, self._y = x_level, y_level
        self._x_table = _membership(x_level, self._cluster, self.clusters)
        self._y_table = _membership(y_level, self._cluster, self.clusters)
        self._sizes = np.bincount(self._cluster, minlength=self.clusters).astype(np.float64)
        self._pairs = self._pair_matrix()

    def _pair_matrix(self) -> Floats | None:
        """Concordant minus discordant pairs by pair of clusters; None where it would be too large."""
        if self.clusters > _MATRIX_LIMIT:
            return None
        # The statistic is symmetric: the side with fewer levels becomes the table of the sweep.
        x, y = self._x, self._y
        if x.max() < y.max():
            x, y = y, x
        levels = int(y.max()) + 1
        if levels * self.clusters <= _LEVEL_LIMIT:
            return _sweep(x, y, self._cluster, self.clusters, levels)
        return _all_pairs(x, y, self._cluster, self.clusters)

    def tau(self, weights: Floats, variant: str) -> Floats:
        """Tau of every weight row; NaN where one side is constant."""
        if variant not in ("b", "c"):
            raise UnknownName(f"Kendall's tau has no variant '{variant}'; there are: b, c")
        size = weights @ self._sizes
        x_squares, x_kinds = _squares(self._x_table, weights)
        y_squares, y_kinds = _squares(self._y_table, weights)
        excess = self._excess(weights)
        with np.errstate(invalid="ignore", divide="ignore"):
            if variant == "b":
                # n0 - ties = (N^2 - sum of squares) / 2 on either side
                free_x, free_y = (size * size - x_squares) / 2, (size * size - y_squares) / 2
                tau = excess / np.sqrt(free_x) / np.sqrt(free_y)
            else:
                kinds = np.minimum(x_kinds, y_kinds)
                tau = 2 * excess / (size * size * (kinds - 1) / kinds)
        undefined = (x_kinds < 2) | (y_kinds < 2)
        return np.where(undefined, np.nan, np.clip(tau, -1.0, 1.0))

    def _excess(self, weights: Floats) -> Floats:
        """Concordant minus discordant pairs of every weight row."""
        if self._pairs is not None:
            step = max(1, _BLOCK // self.clusters)
            parts = [
                np.einsum("bk,bk->b", weights[s : s + step] @ self._pairs, weights[s : s + step])
                for s in range(0, len(weights), step)
            ]
            return np.concatenate(parts)
        return np.array([_weighted_excess(self._x, self._y, row[self._cluster]) for row in weights])


def _membership(level: Ints, cluster: Ints, clusters: int) -> sparse.csr_matrix:
    """(levels, clusters): how many entries of a cluster have a level."""
    shape = (int(level.max()) + 1, clusters)
    return sparse.csr_matrix((np.ones(len(level)), (level, cluster)), shape=shape)


def _squares(table: sparse.csr_matrix, weights: Floats) -> tuple[Floats, Floats]:
    """Sum over levels of (weighted size)^2, and the number of levels present, per weight row."""
    step = max(1, _BLOCK // table.shape[0])
    squares, kinds = [], []
    for start in range(0, len(weights), step):
        mass = table @ weights[start : start + step].T
        squares.append(np.einsum("lb,lb->b", mass, mass))
        kinds.append(np.count_nonzero(mass, axis=0).astype(np.float64))
    return np.concatenate(squares), np.concatenate(kinds)


def _sweep(x: Ints, y: Ints, cluster: Ints, clusters: int, levels: int) -> Floats:
    """Pair matrix by one pass in the order of x.

    `ahead[l, k]` holds, for the entries already passed in cluster k, how many lie below level l
    minus how many lie above: what one more entry of level l gains against that cluster.
    """
    matrix = np.zeros((clusters, clusters))
    ahead = np.zeros((levels, clusters))
    sign = np.sign(np.arange(levels)[:, None] - np.arange(levels)[None, :]).astype(np.float64)
    order = np.argsort(x, kind="stable")
    edges = np.concatenate([[0], np.flatnonzero(np.diff(x[order])) + 1, [len(x)]])
    y_sorted, k_sorted = y[order].tolist(), cluster[order].tolist()
    for start, end in zip(edges[:-1].tolist(), edges[1:].tolist()):
        # Entries of equal x are read before any of them is entered: they are tied, not ordered.
        if end - start > _GROUP:
            _enter_group(matrix, ahead, sign, order[start:end], y, cluster)
            continue
        for place in range(start, end):
            matrix[k_sorted[place]] += ahead[y_sorted[place]]
        for place in range(start, end):
            ahead[:, k_sorted[place]] += sign[:, y_sorted[place]]
    return matrix


def _enter_group(matrix: Floats, ahead: Floats, sign: Floats, rows: Ints, y: Ints, cluster: Ints) -> None:
    """The same step for a large group of equal x (a metric that is 0 for most captions)."""
    levels = len(ahead)
    present, place = np.unique(cluster[rows], return_inverse=True)
    counts = np.bincount(place * levels + y[rows], minlength=len(present) * levels)
    table = counts.reshape(len(present), levels).astype(np.float64)
    matrix[present] += table @ ahead
    ahead[:, present] += sign @ table.T


def _all_pairs(x: Ints, y: Ints, cluster: Ints, clusters: int) -> Floats:
    """Pair matrix from all pairs of entries, for many levels on both sides and few entries."""
    matrix = np.zeros((clusters, clusters))
    order = np.argsort(cluster, kind="stable")
    x, y, cluster = x[order], y[order], cluster[order]
    starts = np.concatenate([[0], np.flatnonzero(np.diff(cluster)) + 1])
    step = max(1, _BLOCK // len(x))
    for begin in range(0, len(x), step):
        rows = slice(begin, begin + step)
        signs = np.sign(x[rows, None] - x[None, :]) * np.sign(y[rows, None] - y[None, :])
        by_cluster = np.add.reduceat(signs, starts, axis=1).astype(np.float64)
        np.add.at(matrix, (cluster[rows, None], cluster[starts][None, :]), by_cluster)
    return matrix / 2  # every pair was met twice


def _weighted_excess(x: Ints, y: Ints, weight: Floats) -> float:
    """Concordant minus discordant pairs of one weighting, by merging: any number of levels and clusters."""
    kept = weight > 0
    x, y, weight = x[kept], y[kept], weight[kept]
    order = np.lexsort((y, x))
    x, y, weight = x[order], y[order], weight[order]
    total = weight.sum()
    same_x, same_y = np.bincount(x, weight), np.bincount(y, weight)
    both = np.bincount(np.unique(np.stack([x, y]), axis=1, return_inverse=True)[1].ravel(), weight)
    pairs = total * total - (same_x @ same_x) - (same_y @ same_y) + (both @ both)
    return float(pairs / 2 - 2 * _inversions(y, weight))


def _inversions(y: Ints, weight: Floats) -> float:
    """Weight of pairs that come in falling order, by bottom-up merging with whole-array operations."""
    size = 1 << max(0, int(len(y) - 1).bit_length())
    top = int(y.max()) + 1 if len(y) else 1
    values = np.full(size, top, dtype=np.int64)
    values[: len(y)] = y
    mass = np.zeros(size)
    mass[: len(y)] = weight
    found = 0.0
    width = 1
    while width < size:
        block = np.arange(size) // (2 * width)
        left = (np.arange(size) // width) % 2 == 0
        key = block * (top + 1) + values
        order = np.lexsort((~left, key))  # left before right among equals: ties are no inversions
        passed = np.cumsum(np.where(left[order], mass[order], 0.0))
        ends = passed.reshape(-1, 2 * width)[:, -1]
        right = ~left[order]
        block_sorted = block[order]
        found += float(((ends[block_sorted] - passed) * mass[order])[right].sum())
        values, mass = values[order], mass[order]
        width *= 2
    return found
