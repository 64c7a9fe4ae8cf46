"""Means of a feature map inside boxes, weighted by how much of each cell a box covers."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from vericap.core.errors import VericapError
from vericap.core.typing import Floats32, Ints32
from vericap.native import load


def coverage(low: Floats32, high: Floats32, cells: int) -> Floats32:
    """How much of each of `cells` equal cells lies between `low` and `high` (shares): (boxes, cells)."""
    edges = np.arange(cells + 1, dtype=np.float64)
    start, end = low.astype(np.float64) * cells, high.astype(np.float64) * cells
    inside = np.minimum(end[:, None], edges[None, 1:]) - np.maximum(start[:, None], edges[None, :-1])
    return np.asarray(np.clip(inside, 0.0, None), dtype=np.float32)


def pool(features: Floats32, boxes: Floats32) -> Floats32:
    """Area-weighted mean of a (height, width, d) map inside each box: (boxes, d). A box without area is an
    error."""
    return _pooled(features, *_cells(boxes.astype(np.float32).tobytes(), *features.shape[:2]))


def pool_own(features: Floats32, boxes: Floats32) -> Floats32:
    """`pool` for boxes that no other image has: their shares of cells are made anew. One without area is all zero."""
    kernel = load("regions")
    height, width, depth = features.shape
    if kernel is not None:
        found = np.empty((len(boxes), depth), dtype=np.float32)
        given = np.ascontiguousarray(features, dtype=np.float32), height, width, depth
        kernel.pool_boxes(*given, np.ascontiguousarray(boxes, dtype=np.float32), found)
        return found
    down, across = coverage(boxes[:, 1], boxes[:, 3], height), coverage(boxes[:, 0], boxes[:, 2], width)
    weights = down[:, :, None] * across[:, None, :]
    weights /= np.maximum(weights.sum(axis=(1, 2), keepdims=True), np.float32(1e-12))
    ranges = np.tile(np.array([0, height, 0, width], dtype=np.int32), (len(boxes), 1))
    return _pooled(features, ranges, weights.ravel())


def _pooled(features: Floats32, ranges: Ints32, weights: Floats32) -> Floats32:
    features = np.ascontiguousarray(features, dtype=np.float32)
    height, width, depth = features.shape
    found = np.empty((len(ranges), depth), dtype=np.float32)
    kernel = load("regions")
    if kernel is not None:
        kernel.pool(features, height, width, depth, ranges, weights, found)
        return found
    # Sums, not a matrix product: its threads would wait for work on another core.
    start = 0
    for box, (top, bottom, left, right) in enumerate(ranges.tolist()):
        end = start + (bottom - top) * (right - left)
        cells = features[top:bottom, left:right].reshape(-1, depth)
        np.sum(cells * weights[start:end, None], axis=0, out=found[box])
        start = end
    return found


@lru_cache(maxsize=4)
def _cells(boxes: bytes, height: int, width: int) -> tuple[Ints32, Floats32]:
    """Cells each box touches (top, bottom, left, right) and, box after box, their shares of it.

    Most images have the same boxes, the windows.
    """
    shares = np.frombuffer(boxes, dtype=np.float32).reshape(-1, 4)
    ranges, weights = np.empty((len(shares), 4), dtype=np.int32), [np.empty(0, dtype=np.float32)]
    for box, down, across, place in zip(
        shares, coverage(shares[:, 1], shares[:, 3], height), coverage(shares[:, 0], shares[:, 2], width), ranges
    ):
        y, x = np.flatnonzero(down), np.flatnonzero(across)
        if not len(y) or not len(x):
            raise VericapError(f"box {box.tolist()} has no area inside the image")
        place[:] = y[0], y[-1] + 1, x[0], x[-1] + 1
        tall, wide = down[place[0] : place[1], None], across[place[2] : place[3]]
        weights.append((tall * (wide / (down.sum() * across.sum()))).ravel())
    return ranges, np.concatenate(weights)
