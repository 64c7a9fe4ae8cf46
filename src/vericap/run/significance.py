"""Bootstrap intervals and paired tests from per-sample statistics; no metric knows about them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from vericap.core.metric import Metric

Floats = NDArray[np.float64]
_BLOCK = 50  # resamples at once: keeps the weight matrix small


def aggregate(metric: Metric, values: Floats) -> float:
    """Corpus score of the rows that could be judged; NaN where there is none."""
    usable = values[~np.isnan(values[:, 0])]
    if not len(usable):
        return float("nan")
    return float(metric.corpus(usable.sum(axis=0), np.float64(len(usable))))  # type: ignore[arg-type]


def resample_weights(n: int, *, resamples: int, seed: int) -> Iterator[Floats]:
    """Blocks of weight rows: how often each sample was drawn."""
    generator = np.random.default_rng(seed)
    for start in range(0, resamples, _BLOCK):
        rows = min(_BLOCK, resamples - start)
        draws = generator.integers(0, n, size=(rows, n))
        draws += np.arange(rows)[:, None] * n
        yield np.bincount(draws.ravel(), minlength=rows * n).reshape(rows, n).astype(np.float64)


def bootstrap(metrics: list[Metric], values: list[Floats], *, resamples: int = 1000, seed: int = 0) -> Floats:
    """Corpus scores (resamples, metrics) of resampled captions; the same draws for every metric."""
    n = len(values[0])
    columns = [np.where(np.isnan(v), 0.0, v) for v in values]
    present = np.stack([~np.isnan(v[:, 0]) for v in values], axis=1).astype(np.float64)
    # One product per block over all metrics' columns: the weights are read once.
    stacked = np.concatenate([*columns, present], axis=1)
    edges = np.cumsum([0] + [c.shape[1] for c in columns])
    out = []
    for weights in resample_weights(n, resamples=resamples, seed=seed):
        sums = weights @ stacked
        counts = sums[:, edges[-1] :]
        out.append(
            np.stack(
                [m.corpus(sums[:, edges[i] : edges[i + 1]], counts[:, i]) for i, m in enumerate(metrics)],
                axis=1,
            )
        )
    return np.concatenate(out)


def interval(samples: Floats, level: float = 0.95) -> tuple[float, float]:
    """Percentile interval of bootstrap scores."""
    usable = samples[~np.isnan(samples)]
    if not usable.size:
        return (float("nan"), float("nan"))
    low, high = np.quantile(usable, [(1 - level) / 2, (1 + level) / 2])
    return (float(low), float(high))


def paired_bootstrap(differences: Floats, observed: float) -> float:
    """Two-sided p: how often a centred bootstrap difference is as large as the observed one."""
    usable = differences[~np.isnan(differences)]
    extreme = np.abs(usable - usable.mean()) >= abs(observed) - 1e-12
    return float((extreme.sum() + 1) / (usable.size + 1))


def approximate_randomisation(
    metric: Metric, a: Floats, b: Floats, *, trials: int = 1000, seed: int = 0
) -> float:
    """Two-sided p of the difference of two systems under random swaps of their outputs."""
    both = ~(np.isnan(a[:, 0]) | np.isnan(b[:, 0]))
    a, b = a[both], b[both]
    if not len(a):
        return float("nan")
    generator = np.random.default_rng(seed)
    count = np.float64(len(a))
    total, gap = a.sum(axis=0), b - a
    observed = abs(float(metric.corpus(total, count)) - float(metric.corpus(b.sum(axis=0), count)))  # type: ignore[arg-type]
    extreme = 0
    for start in range(0, trials, _BLOCK):
        rows = min(_BLOCK, trials - start)
        swap = generator.integers(0, 2, size=(rows, len(a))).astype(np.float64)
        moved = swap @ gap
        counts = np.full(rows, count)
        one = metric.corpus(total + moved, counts)
        two = metric.corpus(b.sum(axis=0) - moved, counts)
        extreme += int((np.abs(one - two) >= observed - 1e-12).sum())
    return float((extreme + 1) / (trials + 1))
