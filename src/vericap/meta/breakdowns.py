"""Agreement taken apart: by length of the captions, by kind, and at the level of systems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from vericap.core.errors import VericapError
from vericap.core.table import Number, Table
from vericap.core.typing import Bools, Floats, Ints
from vericap.meta.agreement import SystemAgreement, correlation, why_undefined
from vericap.meta.baselines import count_words
from vericap.meta.bootstrap import estimate
from vericap.meta.judgements import Pairs, Ratings, cluster_index
from vericap.meta.tables import share, span
from vericap.meta.task import Task

if TYPE_CHECKING:
    from vericap.meta.evaluation import Agreements

FEWEST = 30  # captions or pairs below which a part is not judged
MOST_KINDS = 12


def detail_tables(found: Agreements) -> list[Table]:
    """All the tables that the data allows."""
    tables = (by_length(found), by_kind(found), by_system(found))
    return [table for table in tables if table is not None]


# --- parts ------------------------------------------------------------------------------------------------------


def part_of(task: Task, kept: Bools) -> Task:
    """The task on some of its rows."""
    inside = kept[task.entry]
    entry = (np.cumsum(kept) - 1)[task.entry[inside]]
    return Task(task.data, task.protocol, task.rows[kept], entry, task.judgement[inside], [], task.seed)


def _parts_table(found: Agreements, parts: dict[str, Bools], title: str, note: str) -> Table | None:
    usable = {name: rows for name, rows in parts.items() if rows.sum() >= FEWEST}
    if len(usable) < 2 or found.task.protocol.level == "system":
        return None
    heads = [f"{name} ({int(rows.sum())})" for name, rows in usable.items()]
    table = Table(["metric", *heads], title=f"{found.dataset}: {found.protocol.statistic} {title}", x100=True)
    tasks = [(part_of(found.task, rows), rows) for rows in usable.values()]
    for name in found.scores:
        table.add(name, *(_value(task, [run[rows] for run in found.runs[name]]) for task, rows in tasks))
    table.notes = [note]
    return table


def _value(task: Task, runs: Sequence[Floats]) -> Number | None:
    try:
        value = task.agreement(runs).value
    except VericapError:
        return None  # a part in which all scores or all judgements are equal
    return share(value)


def by_length(found: Agreements) -> Table | None:
    """Agreement in each third of the captions, from short to long."""
    task = found.task
    if task.data.lang == "ja":
        return None
    count = np.array([count_words(sample.candidate) for sample in task.samples(0)], dtype=np.float64)
    count = count.reshape(-1, len(task.rows)).mean(axis=0)  # of a pair, both captions
    edges = np.unique(np.quantile(count, [1 / 3, 2 / 3]))
    third = np.searchsorted(edges, count, side="left")
    parts = {_words(count[third == place]): third == place for place in np.unique(third)}
    return _parts_table(found, parts, "by length of the caption", "thirds by words; number of captions or pairs.")


def _words(count: Floats) -> str:
    low, high = count.min(), count.max()
    return f"{low:g} words" if low == high else f"{low:g}-{high:g} words"


def by_kind(found: Agreements) -> Table | None:
    """Agreement for each kind (of error, of pair) that the data set names, where it is not a column already."""
    data, task = found.task.data, found.task
    named = getattr(data, "kinds", None) or getattr(data, "groups", None)
    if not named or len(task.groups()) > 1:
        return None
    own = np.array([named[row] for row in task.rows])
    kinds, counts = np.unique(own, return_counts=True)
    most = [str(kinds[place]) for place in np.argsort(-counts, kind="stable")[:MOST_KINDS]]
    return _parts_table(found, {kind: own == kind for kind in most}, "by kind", "number of captions or pairs.")


# --- systems ----------------------------------------------------------------------------------------------------


def by_system(found: Agreements) -> Table | None:
    """How well the metric's order of systems agrees with that of people; None without three systems."""
    data = found.task.data
    if isinstance(data, Ratings) and data.systems and len({data.systems[row] for row in found.task.rows}) > 2:
        return _rated_systems(found, cluster_index([data.systems[row] for row in found.task.rows]))
    written = getattr(data, "systems", None)
    if isinstance(data, Pairs) and written and len({name for row in found.task.rows for name in written[row]}) > 2:
        return _fighting_systems(found, [written[row] for row in found.task.rows])
    return None


def _rated_systems(found: Agreements, system: Ints) -> Table:
    task, weights = found.task, found.weights()
    count = int(system.max()) + 1
    table = Table(["metric", "pearson", "95 % interval", "tau-b"], title=f"{found.dataset}: systems", x100=True)
    for name, scores in found.scores.items():
        x = scores[task.entry]
        usable = ~np.isnan(x)
        cells: list[object] = []
        for statistic in ("pearson", "tau-b"):
            columns = (x[usable], task.judgement[usable], task.cluster[usable], system[task.entry][usable])
            own = estimate(SystemAgreement(*columns, statistic=statistic, clusters=task.clusters), weights)
            cells.append(share(own.value))
            if statistic == "pearson":
                cells.append(span(own.interval))
        table.add(name, *cells)
    table.notes = [f"mean score against mean rating of {count} systems; so few points move far in the bootstrap."]
    return table


def _fighting_systems(found: Agreements, written: Sequence[tuple[str, str]]) -> Table:
    """Share of battles won, by people and by the metric."""
    names = cluster_index([name for pair in written for name in pair]).reshape(-1, 2)
    table = Table(["metric", "spearman", "tau-b"], title=f"{found.dataset}: systems", x100=True)
    for name, scores in found.scores.items():
        gap = scores[:, 1] - scores[:, 0]
        usable = ~np.isnan(gap)
        won = _won(names[usable], (np.sign(gap[usable]) + 1) / 2)
        theirs = _won(names[usable], found.task.judgement[usable])
        both = ~(np.isnan(won) | np.isnan(theirs))
        if why_undefined(won[both], theirs[both]):
            table.add(name, None, None)
        else:
            table.add(name, *(share(correlation(s, won[both], theirs[both])) for s in ("spearman", "tau-b")))
    table.notes = [f"share of battles won by each of {int(names.max()) + 1} systems, by the metric and by people."]
    return table


def _won(names: Ints, second: Floats) -> Floats:
    """Share of wins by system; `second` is 1 where the second of a pair wins, 0.5 where neither does."""
    count = int(names.max()) + 1
    wins = np.bincount(names[:, 0], 1 - second, count) + np.bincount(names[:, 1], second, count)
    battles = np.bincount(names.ravel(), minlength=count)
    return np.where(battles > 0, wins / np.maximum(battles, 1), np.nan)
