"""A metric over all data sets in one table: value, rank with its interval, cost, what its models may have seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from vericap.core.settings import Settings
from vericap.core.table import Table
from vericap.core.typing import Floats
from vericap.meta.exposure import TRAININGS, UNKNOWN, parts_of, seen
from vericap.run.significance import interval

if TYPE_CHECKING:
    from vericap.meta.evaluation import Agreements


def ranks(found: Agreements) -> dict[str, tuple[int, int, int]]:
    """Rank of every metric among those with a value, and the 95 % interval of the rank over the draws of images."""
    names = [line.metric for line in found.lines if line.value is not None]
    if not names:
        return {}
    values = np.array([[found[name].value for name in names]], dtype=np.float64)
    place = _rank(values)[0]
    drawn = place[None, :]
    if found.resamples:
        drawn = _rank(np.stack([found.estimates[name].draws for name in names], axis=1))
    spans = [interval(column) for column in drawn.T]
    return {
        name: (int(own), int(np.floor(low)), int(np.ceil(high))) for name, own, (low, high) in zip(names, place, spans)
    }


def _rank(values: Floats) -> Floats:
    """1 for the highest of every row; equal ones share the better rank."""
    values = np.where(np.isnan(values), -np.inf, values)
    return 1.0 + np.stack([(values > column[:, None]).sum(axis=1) for column in values.T], axis=1)


def overview(tables: Sequence[Agreements], costs: Mapping[str, float | None]) -> Table:
    """A row per metric, the best mean rank first; a column per data set with value, interval and rank."""
    placed = [ranks(found) for found in tables]
    heads = [f"{found.protocol.name} ({found.protocol.statistic})" for found in tables]
    table = Table(["metric", "mean rank", *heads, "s / 1,000", "may have seen"], digits=1)
    names = list(dict.fromkeys(name for own in placed for name in own))
    mean = {name: float(np.mean([own[name][0] for own in placed if name in own])) for name in names}
    for name in sorted(names, key=lambda name: mean[name]):
        cells = [_cell(found, own, name) for found, own in zip(tables, placed)]
        cost = costs.get(name)
        table.add(name, mean[name], *cells, None if cost is None else f"{cost:.3g}", _warning(tables, name))
    return table


def _cell(found: Agreements, placed: Mapping[str, tuple[int, int, int]], name: str) -> str | None:
    if name not in placed:
        return None
    line, (rank, low, high) = found[name], placed[name]
    assert line.value is not None
    spread = f" [{100 * line.interval[0]:.1f}, {100 * line.interval[1]:.1f}]" if line.interval else ""
    return f"{100 * line.value:.2f}{spread}; {rank}" + (f" ({low}-{high})" if low != high else "")


def _warning(tables: Sequence[Agreements], name: str) -> str | None:
    """The data sets whose source the training of a metric's parts may have held."""
    found = [
        table.dataset
        for table in tables
        if name in table.scores and name in table.metrics and seen(table.metrics[name], table.dataset, table.settings)
    ]
    return ", ".join(dict.fromkeys(found)) or None


def trainings(tables: Sequence[Agreements]) -> list[str]:
    """What the trained parts of the metrics were trained on, a line each, with the metrics that read them."""
    readers: dict[str, dict[str, None]] = {}
    for table in tables:
        for name, metric in table.metrics.items():
            settings: Settings = table.settings
            for part in parts_of(metric, settings):
                readers.setdefault(part, {})[name] = None
    lines = []
    for part, names in readers.items():
        own = TRAININGS.get(part, UNKNOWN)
        origin = f" ({own.origin})" if own.origin else ""
        lines.append(f"{part}, read by {', '.join(names)}: {own.what}{origin}.")
    return lines
