"""How well people agree with each other: the ceiling for a metric, and people against machines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from vericap.core.errors import VericapError
from vericap.core.table import Number, Table
from vericap.core.typing import Floats, Ints
from vericap.meta.agreement import correlation, why_undefined
from vericap.meta.judgements import Judgements, Pairs, Ratings
from vericap.meta.protocols import protocol_of
from vericap.meta.task import make_task, pair_credit


@dataclass(frozen=True)
class Ceiling:
    """Agreement among raters by one statistic."""

    statistic: str
    between: float  # r_human: mean correlation between two raters
    others: float  # mean of the other raters against the one left out
    raters: int
    pairs: int


def human_ceiling(
    data: Ratings,
    *,
    statistic: str = "tau-c",
    aspect: str = "rating",
    rows: Ints | None = None,
) -> Ceiling:
    """r_human = mean correlation between raters; raters are columns of the ratings (or votes of a crowd).

    `rows` are the captions that a protocol keeps (`Task.rows`); all of them by default.
    """
    ratings = _votes(data) if data.votes is not None else data.aspect(aspect)
    ratings = ratings if rows is None else ratings[rows]
    columns = [c for c in range(ratings.shape[1]) if (~np.isnan(ratings[:, c])).sum() > 1]
    if len(columns) < 2:
        raise VericapError(
            f"data set '{data.name}' has {len(columns)} rater; agreement between raters needs at least 2"
        )
    between = [_pair(statistic, ratings[:, a], ratings[:, b]) for a, b in combinations(columns, 2)]
    others = []
    for left in columns:
        rest = ratings[:, [c for c in columns if c != left]]
        counted = (~np.isnan(rest)).sum(axis=1)
        mean = np.where(counted > 0, np.nansum(rest, axis=1) / np.maximum(counted, 1), np.nan)
        others.append(_pair(statistic, mean, ratings[:, left]))
    usable = [value for value in between if value == value]
    if not usable:
        raise VericapError(f"data set '{data.name}': no two raters judged the same captions differently")
    return Ceiling(statistic, float(np.mean(usable)), float(np.nanmean(others)), len(columns), len(usable))


def ceiling_table(data: Judgements, protocol: str | None = None) -> Table:
    """Agreement between raters on the captions that a protocol keeps, by every rank statistic."""
    if not isinstance(data, Ratings):
        raise VericapError(f"data set '{data.name}' has no raters to compare")
    task = make_task(data, protocol_of(data.name, protocol))
    table = Table(["statistic", "two raters", "one against the others", "raters"], x100=True)
    table.title = f"{data.name}: agreement between raters"
    table.notes = [f"{len(task.rows)} captions, as kept by {task.protocol.name}"]
    for statistic in ("tau-c", "tau-b", "spearman", "pearson"):
        found = human_ceiling(data, statistic=statistic, aspect=task.protocol.aspect, rows=task.rows)
        table.add(statistic, Number(found.between), Number(found.others), found.raters)
    return table


def _pair(statistic: str, x: Floats, y: Floats) -> float:
    both = ~(np.isnan(x) | np.isnan(y))
    if why_undefined(x[both], y[both]):
        return float("nan")
    return correlation(statistic, x[both], y[both])


def _votes(data: Ratings, *, seed: int = 0) -> Floats:
    """Anonymous yes/no votes as columns in random order: any two columns are two people of the crowd."""
    assert data.votes is not None
    width = int(data.votes.sum(axis=1).max())
    generator = np.random.default_rng(seed)
    table = np.full((len(data), width), np.nan)
    for row, (yes, no) in enumerate(data.votes):
        table[row, : yes + no] = generator.permutation([1.0] * int(yes) + [0.0] * int(no))
    return table


@dataclass(frozen=True)
class HumanMachine:
    """People against machines by one metric (FAIEr, Table 2)."""

    group: str
    accuracy: float  # share of pairs where the human caption scores higher
    human: float  # mean score of human captions
    machine: float
    pairs: int


def human_machine(data: Pairs, scores: Floats, *, label: str = "human") -> list[HumanMachine]:
    """Accuracy and average scores by group; `scores` is (pairs, 2) with the human caption first."""
    groups = data.groups or ["all"] * len(data)
    credit = pair_credit(scores, data.preference(label))
    found = []
    for group in dict.fromkeys(groups):
        inside = np.array([name == group for name in groups])
        usable = inside & ~np.isnan(scores).any(axis=1)
        if not usable.any():
            continue
        human, machine = scores[usable].mean(axis=0)
        found.append(HumanMachine(group, float(credit[usable].mean()), float(human), float(machine), int(usable.sum())))
    return found


def averages_table(data: Pairs, scores: Mapping[str, Floats]) -> Table:
    """Accuracy and average scores of people and machines, by metric and system."""
    table = Table(["metric", "system", "human wins", "mean human", "mean machine", "pairs"], x100=True)
    for metric, values in scores.items():
        for row in human_machine(data, values):
            numbers = (Number(value) for value in (row.accuracy, row.human, row.machine))
            table.add(metric, row.group, *numbers, row.pairs)
    return table
