"""Bootstrap intervals of a run over shards: draws are made shard by shard, so that no more than one is held."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from vericap.core.metric import Metric
from vericap.core.typing import Floats, Ints
from vericap.run.significance import bootstrap, interval
from vericap.run.stream import Outcome

_HELD = 8 << 20  # numbers of statistics that are held at once: below, the draws are those of a run in memory
_BLOCK = 1 << 20  # draws that are held at once


def add_intervals(
    outcome: Outcome, metrics: Sequence[Metric], files: Sequence[Path], *, resamples: int, seed: int
) -> None:
    """95 % percentile intervals for every corpus score, from one set of draws.

    `files` hold the rows of statistics of each shard, the columns of all metrics side by side.
    """
    borders = np.cumsum([metric.width for metric in metrics])[:-1]
    sizes = np.array([_rows(file) for file in files])
    if sizes.sum() * sum(metric.width for metric in metrics) <= _HELD:
        values = np.split(np.concatenate([_table(file) for file in files]), borders, axis=1)
        draws = bootstrap(metrics, values, resamples=resamples, seed=seed)
    else:
        draws = _by_shard(metrics, files, sizes, borders, resamples, seed)
    for place, metric in enumerate(metrics):
        score = outcome.corpus[metric.label]
        if score.value is not None:
            outcome.corpus[metric.label] = replace(score, interval=interval(draws[:, place]))


def _table(file: Path) -> Floats:
    found: Floats = np.load(file, allow_pickle=False)
    return found


def _rows(file: Path) -> int:
    """Of a table that is closed again: a system lets a process have a thousand open files, not ten thousand."""
    return len(np.load(file, mmap_mode="r", allow_pickle=False))


def _by_shard(
    metrics: Sequence[Metric], files: Sequence[Path], sizes: Ints, borders: Ints, resamples: int, seed: int
) -> Floats:
    """Corpus scores (resamples, metrics): how many captions are drawn from a shard first, then which."""
    generator = np.random.default_rng(seed)
    shares = generator.multinomial(int(sizes.sum()), sizes / sizes.sum(), size=resamples)
    sums = np.zeros((resamples, sum(metric.width for metric in metrics)))
    counts = np.zeros((resamples, len(metrics)))
    for place, file in enumerate(files):
        parts = np.split(_table(file), borders, axis=1)
        here = np.stack([~np.isnan(part[:, 0]) for part in parts], axis=1).astype(np.float64)
        filled = np.concatenate(
            [np.where(here[:, [i]] > 0, np.nan_to_num(part), 0.0) for i, part in enumerate(parts)], 1
        )
        step = max(1, _BLOCK // len(filled))
        for first in range(0, resamples, step):
            rows = shares[first : first + step, place]
            drawn = generator.integers(0, len(filled), size=int(rows.sum()))
            drawn += np.repeat(np.arange(len(rows)), rows) * len(filled)
            weights = np.bincount(drawn, minlength=len(rows) * len(filled)).reshape(len(rows), len(filled))
            sums[first : first + step] += weights @ filled
            counts[first : first + step] += weights @ here
    each = np.split(sums, borders, axis=1)
    return np.stack([metric.corpus(each[i], counts[:, i]) for i, metric in enumerate(metrics)], axis=1)
