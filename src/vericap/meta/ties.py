"""Pairwise accuracy with tie calibration (Deutsch, Foster, Freitag 2023, "Ties Matter", EMNLP: acc_eq).

Kendall's tau gives nothing for a tie that people see too, so a metric that never ties looks better than one that knows
when two captions are equally good. Here a pair is right where the metric orders it as people do, or ties where they
tie; scores within epsilon of each other are tied, and every metric gets the epsilon that suits it best.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vericap.core.typing import Floats, Ints
from vericap.meta.agreement import STATISTICS, MeanOverClusters
from vericap.meta.bootstrap import estimate
from vericap.meta.caption_pairs import MOST, enough_within, image_of_rows, leads, within
from vericap.meta.judgements import Ratings
from vericap.meta.task import Task

_GRID = 64  # epsilons that are tried where pairs are too many to list
_SAMPLE = 100_000  # pairs that tell which epsilons to try


@dataclass(frozen=True)
class Calibrated:
    """The best accuracy of a metric, and the epsilon it takes."""

    accuracy: float
    epsilon: float
    pairs: int
    human_ties: float  # share of pairs that people do not tell apart
    plain: float  # the accuracy with epsilon 0
    same_image: bool
    interval: tuple[float, float] | None = None


def calibrated(task: Task, scores: Floats, weights: Floats | None = None, *, most: int = MOST) -> Calibrated | None:
    """Tie-calibrated accuracy of one run's scores of rated captions; None for pairs and where there is no pair.

    Accuracies are averaged over images where captions of one image can be compared ("group by item" in the paper).
    The epsilon is fitted on these judgements, for every metric alike, and held in the bootstrap.
    """
    ranked = task.protocol.statistic in STATISTICS and task.protocol.level == "caption"
    if not isinstance(task.data, Ratings) or not ranked:
        return None
    usable = ~np.isnan(scores)
    x, y, image = scores[usable], task.mean_judgement()[usable], image_of_rows(task)[usable]
    first, second = within(image)
    same = enough_within(len(first), len(x))
    if not same and len(x) * (len(x) - 1) // 2 > most:
        return sorted_calibration(x, y)
    if not same:
        first, second = (side.astype(np.int64) for side in np.triu_indices(len(x), 1))
    if not len(first):
        return None
    group = image[first] if same else np.zeros(len(first), np.int64)
    gap, lead = x[second] - x[first], leads(y, first, second)
    found = best_epsilon(gap, lead, group)
    interval = None
    if same and weights is not None:
        right = MeanOverClusters(per_group(gap, lead, group, found[1], task.clusters), np.arange(task.clusters))
        interval = estimate(right, weights).interval
    plain = float(np.nanmean(per_group(gap, lead, group, 0.0, int(group.max()) + 1)))
    return Calibrated(found[0], found[1], len(gap), float((lead == 0).mean()), plain, same, interval)


def best_epsilon(gap: Floats, lead: Floats, group: Ints) -> tuple[float, float]:
    """Highest mean over groups of the accuracy within them, and the smallest epsilon that reaches it: exact.

    Growing epsilon past a pair's gap makes it tied: a pair that people tie is won, one that was in order is lost, one
    in the wrong order was wrong before. So one sort of the gaps gives the accuracy for every epsilon.
    """
    counts = np.bincount(group)
    weight = 1.0 / counts[group] / np.count_nonzero(counts)
    size = np.abs(gap)
    tied = lead == 0
    ordered = (np.sign(gap) == np.sign(lead)) & ~tied & (gap != 0)
    change = np.where(tied, weight, 0.0) - np.where(ordered, weight, 0.0)
    order = np.argsort(size, kind="stable")
    size, moved = size[order], np.cumsum(change[order]) + weight[ordered].sum()
    last = np.flatnonzero(np.append(size[1:] != size[:-1], True))  # equal gaps become tied together
    epsilons, accuracies = size[last], moved[last]
    if epsilons[0] > 0:
        epsilons = np.concatenate([[0.0], epsilons])
        accuracies = np.concatenate([[weight[ordered].sum()], accuracies])
    # Sums that are equal but for rounding: the smaller epsilon is meant.
    place = int(np.argmax(accuracies >= accuracies.max() - 1e-12))
    return float(accuracies[place]), float(epsilons[place])


def per_group(gap: Floats, lead: Floats, group: Ints, epsilon: float, groups: int) -> Floats:
    """Accuracy inside every group; NaN where it has no pair."""
    called = np.where(np.abs(gap) <= epsilon, 0.0, np.sign(gap))
    right = np.bincount(group, called == np.sign(lead), groups)
    count = np.bincount(group, minlength=groups)
    return np.where(count > 0, right / np.maximum(count, 1), np.nan)


def sorted_calibration(x: Floats, y: Floats, *, seed: int = 0) -> Calibrated:
    """The same over all pairs of many captions, without listing them: counts are exact, epsilons come from a grid.

    The grid holds quantiles of the gaps of random pairs, then a finer one around the best of them.
    """
    generator = np.random.default_rng(seed)
    one = generator.integers(0, len(x), _SAMPLE)
    two = (one + generator.integers(1, len(x), _SAMPLE)) % len(x)
    grid = np.unique([0.0, *np.quantile(np.abs(x[one] - x[two]), np.linspace(0, 1, _GRID))])
    pairs = len(x) * (len(x) - 1) // 2
    right, tied = count_right(x, y, grid)
    best = int(right.argmax())
    finer = np.linspace(grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)], _GRID)
    grid, more = np.concatenate([grid, finer]), count_right(x, y, finer)[0]
    both = np.concatenate([right, more])
    place = int(both.argmax())
    return Calibrated(
        float(both[place] / pairs), float(grid[place]), pairs, tied / pairs, float(right[0] / pairs), same_image=False
    )


def count_right(x: Floats, y: Floats, epsilons: Floats) -> tuple[Floats, float]:
    """Pairs that are right for each epsilon, and pairs that people tie, in O(n log n) for each epsilon.

    Levels of judgement are passed from below: of the captions of a level, those below it that score lower by more than
    epsilon are in order, those of its own within epsilon are rightly tied.
    """
    right, tied = np.zeros(len(epsilons)), 0.0
    below = np.empty(0)
    for level in np.unique(y):
        own = np.sort(x[y == level])
        tied += len(own) * (len(own) - 1) / 2
        for place, epsilon in enumerate(epsilons):
            right[place] += np.searchsorted(below, own - epsilon, side="left").sum()
            right[place] += (np.searchsorted(own, own + epsilon, side="right") - np.arange(len(own)) - 1).sum()
        below = np.sort(np.concatenate([below, own]), kind="stable")
    return right, tied
