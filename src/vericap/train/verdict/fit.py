"""Logistic and linear regression with few weights, by Newton's method: the same weights on every machine."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vericap.core.typing import Array, Floats

_STEPS = 60


def logistic(given: Array, target: Array, *, ridge: float = 1.0, towards: Array | float = 0.0) -> Floats:
    """Weights of standardised features and a constant (last), given back for the features as they are.

    `target` may be any share between 0 and 1; `ridge` pulls the standardised weights `towards` some values.
    """
    mean, spread = given.mean(axis=0), given.std(axis=0) + 1e-9
    x = np.concatenate([(given - mean) / spread, np.ones((len(given), 1))], axis=1)
    pull = np.append(np.full(given.shape[1], ridge), 1e-6)
    begin = np.append(np.broadcast_to(np.asarray(towards, dtype=np.float64), given.shape[1:]), 0.0)
    found = begin.copy()
    for _ in range(_STEPS):
        expected = 1 / (1 + np.exp(-(x @ found)))
        slope = x.T @ (expected - target) + pull * (found - begin)
        curve = (x * (expected * (1 - expected))[:, None]).T @ x + np.diag(pull)
        step = np.linalg.solve(curve, slope)
        found -= step
        if np.abs(step).max() < 1e-8:
            break
    plain = found[:-1] / spread
    return np.append(plain, found[-1] - mean @ plain)


def balanced(given: Array, target: Array, shares: Array, *, pull: float) -> Floats:
    """As `logistic`, the weights pulled towards fixed shares: fitted on one kind of captions, they hold on others."""
    standard = (given - given.mean(axis=0)) / (given.std(axis=0) + 1e-9)
    slope = logistic((standard @ shares)[:, None], target, ridge=0.0)[0]
    return logistic(given, target, ridge=pull, towards=slope * shares)


def named(weights: Sequence[float] | Array, names: Sequence[str]) -> dict[str, float]:
    """Weights under their names, with as many digits as matter."""
    return {name: round(float(value), 5) for name, value in zip(names, weights, strict=True)}


def area(positive: Array, scores: Array) -> float:
    """Area under the curve: how often a positive case scores higher than another one, ties one half."""
    _, inverse, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    own = int(positive.sum())
    return float((ranks[positive].sum() - own * (own + 1) / 2) / max(own * (len(scores) - own), 1))


def average_precision(positive: Array, scores: Array) -> float:
    """Mean precision at each positive case, highest scores first."""
    found = positive[np.argsort(-scores, kind="stable")]
    hits = np.cumsum(found)
    return float((hits[found] / (np.flatnonzero(found) + 1)).mean())
