"""Which metrics say the same: Spearman's rho between their scores of the same captions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from vericap.core.table import Table
from vericap.core.typing import Floats
from vericap.meta.agreement import correlation, why_undefined
from vericap.meta.judgements import Pairs

if TYPE_CHECKING:
    from vericap.meta.evaluation import Agreements

SAME = 0.9  # from which on two metrics say the same


def metric_correlations(found: Agreements) -> tuple[list[str], Floats]:
    """Spearman's rho between the metrics' scores, on captions that both scored; NaN where it is undefined."""
    names = list(found.scores)
    flat = [found.scores[name].ravel() for name in names]
    matrix = np.eye(len(names))
    for i in range(len(names)):
        for j in range(i):
            matrix[i, j] = matrix[j, i] = _spearman(flat[i], flat[j])
    return names, matrix


def _spearman(one: Floats, two: Floats) -> float:
    both = ~(np.isnan(one) | np.isnan(two))
    if why_undefined(one[both], two[both]):
        return float("nan")
    return correlation("spearman", one[both], two[both])


def largest(tables: Sequence[Agreements]) -> Agreements | None:
    """Of several results the one with most captions and at least two metrics."""
    usable = [found for found in tables if len(found.scores) > 1]
    return max(usable, key=lambda found: len(found.task.rows), default=None)


def same_table(found: Agreements, *, limit: float = SAME) -> Table:
    """Pairs of metrics whose scores hardly differ in order, the likest first."""
    names, matrix = metric_correlations(found)
    pairs = [
        (names[j], names[i], float(matrix[i, j])) for i in range(len(names)) for j in range(i) if matrix[i, j] >= limit
    ]
    table = Table(["metric", "says the same as", "Spearman"], digits=3)
    for pair in sorted(pairs, key=lambda pair: -pair[2]):
        table.add(*pair)
    total = len(names) * (len(names) - 1) // 2
    unit = "pairs of captions" if isinstance(found.task.data, Pairs) else "captions"
    advice = "; to report both of a pair says little more than to report one" if pairs else ""
    table.notes = [
        f"{len(pairs)} of {total} pairs of metrics have a Spearman correlation of at least {limit:g} on the "
        f"{len(found.task.rows):,} {unit} of {found.dataset}{advice}."
    ]
    return table
