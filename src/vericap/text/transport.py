"""Exact optimal transport between bags of words: many small problems at once, with their cost matrices."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vericap.native import load
from vericap.text import transport_python
from vericap.text.bags import Bags

Floats = NDArray[np.float64]


def solve(cost: ArrayLike, a: ArrayLike, b: ArrayLike) -> tuple[float, Floats]:
    """Least cost of moving masses a (m) onto masses b (n) with cost (m, n), and the plan (m, n).

    The masses must not be negative and must have the same sum.
    """
    matrix, left, right = (np.ascontiguousarray(x, dtype=np.float64) for x in (cost, a, b))
    if matrix.shape != (left.size, right.size) or not matrix.size:
        raise ValueError(f"cost has shape {matrix.shape} for {left.size} and {right.size} masses")
    if not (np.isfinite(matrix).all() and (left >= 0).all() and (right >= 0).all()):
        raise ValueError("costs must be finite and masses must not be negative")
    if abs(left.sum() - right.sum()) > 1e-9 * max(left.sum(), right.sum()) or left.sum() <= 0:
        raise ValueError(f"masses must have the same positive sum, not {left.sum():g} and {right.sum():g}")
    floor = min(float(matrix.min()), 0.0)  # shortest paths want costs from 0 up; a shift moves every plan alike
    kernel = load("transport")
    if kernel is None:
        value, plan = transport_python.solve(matrix - floor, left, right)
    else:
        plan = np.empty(matrix.shape)
        value = kernel.solve(matrix - floor, left, right, plan)
    return float(value + floor * left.sum()), plan


def distances(vectors: NDArray[np.float32], left: Bags, right: Bags, *, p: float = 2.0) -> Floats:
    """Least cost of moving bag k of `left` onto bag k of `right`, NaN where one is empty.

    Moving from word i to word j costs |s_i x_i - s_j x_j|^p, x rows of `vectors` and s the bags' scales.
    """
    kernel = load("transport")
    vectors = np.ascontiguousarray(vectors, dtype=np.float32)
    if kernel is None:
        return transport_python.distances(vectors, left, right, p=p)
    out = np.empty(len(left))
    kernel.distances(
        vectors, vectors.shape[1], float(p),
        left.offsets, left.ids, left.weights, left.scales,
        right.offsets, right.ids, right.weights, right.scales, out,
    )  # fmt: skip
    return out


def costs(vectors: NDArray[np.float32], left: Bags, right: Bags, problem: int, *, p: float = 2.0) -> Floats:
    """The cost matrix of one problem, for explanations."""
    return transport_python.costs(vectors, left, right, problem, p=p)


def penalties(vectors: NDArray[np.float32], words: Bags, reference_offsets: NDArray[np.int64], texts: Bags) -> Floats:
    """VIFIDEL's rho (equation 5) of every word: mean over references of (1 - max_t cos(x, x_t)) / 2.

    `words` has one bag per sample; the references of sample k are the bags reference_offsets[k]:[k + 1] of
    `texts`. `vectors` must be unit vectors. References without words are passed over; without any, rho is 1.
    """
    kernel = load("transport")
    vectors = np.ascontiguousarray(vectors, dtype=np.float32)
    if kernel is None:
        return transport_python.penalties(vectors, words, reference_offsets, texts)
    out = np.empty(len(words.ids))
    kernel.penalties(
        vectors, vectors.shape[1], words.offsets, words.ids,
        np.ascontiguousarray(reference_offsets, dtype=np.int64), texts.offsets, texts.ids, out,
    )  # fmt: skip
    return out
