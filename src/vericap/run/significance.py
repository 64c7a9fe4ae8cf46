"""Bootstrap intervals and paired tests from per-sample statistics; no metric knows about them.

Resampled corpus scores come from one product, weights x statistics, over the columns of all metrics and systems.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from vericap.core.metric import Metric
from vericap.core.typing import Floats, Ints

# So many draws that a star hardly ever hangs on them: the standard error of a p-value near .05 is .0015.
RESAMPLES = 20_000

_BLOCK = 50  # rows of weights that are handed out at once
_CHUNK = 2000  # resamples whose sums are held at once
_WEIGHTS = 2**20  # weights that are held at once
_PIECE = 64  # captions of one small product
# OpenBLAS starts its threads from so many multiplications on. They wait for each other in a busy loop: where other
# work runs beside, products in one thread were done in a seventieth of the processor time.
_ONE_THREAD = 2**18
_TIE = 1e-12  # differences that are equal but for rounding

Draw = Callable[[int], Floats]  # number of rows -> weights (rows, captions)


class PValue(float):
    """A p-value. Where it would be shown as 0.0000 it is shown as <0.0001: no number of draws shows that p is 0.

    Examples
    --------
    >>> f"{PValue(0.00003):.4f}", f"{PValue(0.03):.4f}"
    ('<0.0001', '0.0300')
    """

    def __format__(self, spec: str) -> str:
        shown = super().__format__(spec)
        return f"<{shown[:-1]}1" if "." in shown and float(shown) == 0.0 else shown


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment: one error rate for all tests together. NaN is no test and stays NaN.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted((place for place, p in enumerate(p_values) if p == p), key=lambda place: p_values[place])
    adjusted, worst = [float("nan")] * len(p_values), 0.0
    for rank, place in enumerate(order):
        worst = max(worst, min(1.0, (len(order) - rank) * p_values[place]))
        adjusted[place] = worst
    return adjusted


def aggregate(metric: Metric, values: Floats) -> float:
    """Corpus score of the rows that could be judged; NaN where there is none."""
    usable = values[~np.isnan(values[:, 0])]
    if not len(usable):
        return float("nan")
    return float(metric.corpus(usable.sum(axis=0), np.float64(len(usable))))  # type: ignore[arg-type]


# --- draws ------------------------------------------------------------------------------------------------------


def resample_weights(n: int, *, resamples: int, seed: int) -> Iterator[Floats]:
    """Blocks of weight rows: how often each sample was drawn."""
    draw = _with_replacement(n, seed)
    for start in range(0, resamples, _BLOCK):
        yield draw(min(_BLOCK, resamples - start))


def _with_replacement(n: int, seed: int) -> Draw:
    generator = np.random.default_rng(seed)

    def draw(rows: int) -> Floats:
        drawn = generator.integers(0, n, size=(rows, n))
        drawn += np.arange(rows)[:, None] * n
        return np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n).astype(np.float64)

    return draw


def _swaps(n: int, seed: int) -> Draw:
    generator = np.random.default_rng(seed)
    return lambda rows: generator.integers(0, 2, size=(rows, n)).astype(np.float64)


@dataclass(frozen=True)
class Columns:
    """The statistics of several metrics and systems side by side, each distinct column once.

    BLEU-1 to BLEU-4 read the same counts, and mostly every caption can be judged by every metric: half of the columns
    need not be multiplied.
    """

    table: Floats  # (captions, distinct columns)
    places: list[Ints]  # where the columns of each metric stand in it
    counts: list[int]  # and where the one that says which captions it judged

    @classmethod
    def of(cls, values: Sequence[Floats]) -> Columns:
        present = [~np.isnan(own[:, :1]) for own in values]
        filled = [np.where(here & ~np.isnan(own), own, 0.0) for own, here in zip(values, present)]
        known: dict[bytes, tuple[int, Floats]] = {}
        places: list[Ints] = []
        for own in (*filled, *(here.astype(np.float64) for here in present)):
            columns = np.ascontiguousarray(own.T)
            digests = [hashlib.blake2b(column.data).digest() for column in columns]
            entries = [known.setdefault(key, (len(known), column)) for key, column in zip(digests, columns)]
            places.append(np.array([place for place, _ in entries], dtype=np.int64))
        table = np.stack([column for _, column in known.values()], axis=1)
        return cls(table, places[: len(values)], [int(place[0]) for place in places[len(values) :]])

    def sums(self, draw: Draw, resamples: int) -> Iterator[Floats]:
        """Chunks of weighted sums (rows, columns), from products so small that BLAS keeps to one thread."""
        n, width = self.table.shape
        rows = max(1, min(_ONE_THREAD // (_PIECE * width), _WEIGHTS // n))
        for start in range(0, resamples, _CHUNK):
            sums = np.zeros((min(_CHUNK, resamples - start), width))
            for first in range(0, len(sums), rows):
                part = sums[first : first + rows]
                weights = draw(len(part))
                for place in range(0, n, _PIECE):
                    part += weights[:, place : place + _PIECE] @ self.table[place : place + _PIECE]
            yield sums


def bootstrap(metrics: Sequence[Metric], values: Sequence[Floats], *, resamples: int = 1000, seed: int = 0) -> Floats:
    """Corpus scores (resamples, metrics) of resampled captions; the same draws for every metric."""
    columns = Columns.of(values)
    parts = list(zip(metrics, columns.places, columns.counts))
    chunks = [
        np.stack([metric.corpus(sums[:, own], sums[:, count]) for metric, own, count in parts], axis=1)
        for sums in columns.sums(_with_replacement(len(values[0]), seed), resamples)
    ]
    return np.concatenate(chunks)


# --- what the draws say -----------------------------------------------------------------------------------------


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
    if not usable.size:
        return float("nan")
    extreme = np.abs(usable - usable.mean()) >= abs(observed) - _TIE
    return float((extreme.sum() + 1) / (usable.size + 1))


def randomisation(
    metrics: Sequence[Metric], one: Sequence[Floats], two: Sequence[Floats], *, trials: int = 1000, seed: int = 0
) -> list[float]:
    """Two-sided p of each metric's difference between two systems under random swaps of their captions.

    `one[i]` and `two[i]` are the statistics of `metrics[i]`: the same swaps serve all metrics and pairs of systems. A
    caption that one of the two systems has no score for is left out.
    """
    both = [~(np.isnan(a[:, :1]) | np.isnan(b[:, :1])) for a, b in zip(one, two)]
    first = [np.where(own, a, 0.0) for own, a in zip(both, one)]
    second = [np.where(own, b, 0.0) for own, b in zip(both, two)]
    columns = Columns.of([b - a for a, b in zip(first, second)])

    def gaps(place: int, moved: Floats) -> Floats:
        """Differences of a metric once the statistics `moved` have changed sides."""
        count = np.full(len(moved), float(both[place].sum()))
        metric, a, b = metrics[place], first[place].sum(axis=0), second[place].sum(axis=0)
        return np.asarray(np.abs(metric.corpus(b - moved, count) - metric.corpus(a + moved, count)))

    observed = [gaps(place, np.zeros((1, own.shape[1])))[0] for place, own in enumerate(first)]
    extreme = [0] * len(metrics)
    for sums in columns.sums(_swaps(len(both[0]), seed), trials):
        for place, own in enumerate(columns.places):
            extreme[place] += int((gaps(place, sums[:, own]) >= observed[place] - _TIE).sum())
    return [(k + 1) / (trials + 1) if own.any() else float("nan") for k, own in zip(extreme, both)]
