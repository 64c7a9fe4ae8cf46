"""Small functions on arrays that several models share."""

from __future__ import annotations

import numpy as np

from vericap.core.typing import Array, Floats32, Ints

_TINY = 1e-8


def unit(values: Array) -> Floats32:
    """Vectors of length 1 along the last axis; a zero vector stays zero."""
    return np.asarray(values / np.maximum(np.linalg.norm(values, axis=-1, keepdims=True), _TINY), dtype=np.float32)


def softmax(values: Array) -> Floats32:
    """Softmax over the last axis; a row with nothing to look at is all zero."""
    if values.shape[-1] == 0:
        return np.asarray(values, dtype=np.float32)
    top = values.max(axis=-1, keepdims=True)
    raised = np.exp(values - np.where(np.isfinite(top), top, 0.0))
    return np.asarray(raised / np.maximum(raised.sum(axis=-1, keepdims=True), 1e-30), dtype=np.float32)


def runs(starts: Ints, counts: Ints) -> Ints:
    """start, start + 1, ... for every run, one run after the other."""
    ends = np.cumsum(counts)
    return np.asarray(np.arange(counts.sum()) + np.repeat(starts - ends + counts, counts))


def shares(values: Array, counts: Ints) -> Floats32:
    """Softmax of (..., nodes) within each run of nodes."""
    counts = counts[counts > 0]
    if not len(counts):
        return np.asarray(values, dtype=np.float32)
    starts = np.cumsum(counts) - counts
    raised = np.exp(values - np.repeat(np.maximum.reduceat(values, starts, axis=-1), counts, axis=-1))
    return np.asarray(raised / np.repeat(np.add.reduceat(raised, starts, axis=-1), counts, axis=-1), dtype=np.float32)
