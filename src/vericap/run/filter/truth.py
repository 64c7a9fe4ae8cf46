"""Conditions on columns: true, false, or not known where a record cannot be judged (Kleene's logic of three values).

A record is kept only where its condition is true: `!(chair>0)` does not keep what no metric could look at.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np

from vericap.core.typing import Array, Bools, Floats, Ints
from vericap.run.filter.tree import All, Comparison, Either, Flag, Node, Not, Share

Columns = Mapping[str, Array]  # name -> numbers (NaN: not known), flags, or texts (None: not known)
Shares = Mapping[Share, "Truth"]

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    ">=": np.greater_equal,
    "<=": np.less_equal,
    ">": np.greater,
    "<": np.less,
    "==": np.equal,
    "!=": np.not_equal,
}


@dataclass(frozen=True)
class Truth:
    """Which rows are known to hold and which are known not to; the others are not known."""

    yes: Bools
    no: Bools

    def __and__(self, other: Truth) -> Truth:
        return Truth(self.yes & other.yes, self.no | other.no)

    def __or__(self, other: Truth) -> Truth:
        return Truth(self.yes | other.yes, self.no & other.no)

    def __invert__(self) -> Truth:
        return Truth(self.no, self.yes)

    def take(self, rows: Ints) -> Truth:
        """Some rows."""
        return Truth(self.yes[rows], self.no[rows])

    @staticmethod
    def of(values: Bools, known: Bools) -> Truth:
        return Truth(values & known, ~values & known)


def judge(node: Node, columns: Columns, shares: Shares | None = None) -> Truth:
    """The truth of a condition for every row.

    Parameters
    ----------
    node : the condition.
    columns : every column it reads.
    shares : the outcome of its share conditions, which are judged over all records together (`best_share`).

    Examples
    --------
    >>> from vericap.run.filter.grammar import parse
    >>> (stage,) = parse("vse>=0.3 & !url").stages
    >>> columns = {"vse": np.array([0.5, 0.1, np.nan]), "url": np.array([False, False, False])}
    >>> judge(stage, columns).yes.tolist(), judge(stage, columns).no.tolist()
    ([True, False, False], [False, True, False])
    """
    if isinstance(node, Not):
        return ~judge(node.part, columns, shares)
    if isinstance(node, All):
        return reduce(Truth.__and__, (judge(part, columns, shares) for part in node.parts))
    if isinstance(node, Either):
        return reduce(Truth.__or__, (judge(part, columns, shares) for part in node.parts))
    if isinstance(node, Share):
        return (shares or {})[node]
    values = np.asarray(columns[node.column.name])
    return _flag(values) if isinstance(node, Flag) else _compared(node, values)


def _flag(values: Array) -> Truth:
    if values.dtype == np.bool_:
        return Truth.of(values, np.ones(len(values), dtype=np.bool_))
    found = numbers(values)
    known = ~np.isnan(found)
    return Truth.of(known & (found != 0), known)


def _compared(node: Comparison, values: Array) -> Truth:
    if isinstance(node.value, str):
        texts = values.tolist()
        same = np.array([_text(value) == node.value for value in texts], dtype=np.bool_)
        known = np.array([value is not None and value == value for value in texts], dtype=np.bool_)
        return Truth.of(same if node.sign == "==" else ~same, known)
    found = numbers(values)
    return Truth.of(np.asarray(_COMPARE[node.sign](found, node.value), dtype=np.bool_), ~np.isnan(found))


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def numbers(values: Array) -> Floats:
    """A column as numbers; a cell that is empty or no number is NaN."""
    if values.dtype != object:
        return np.asarray(values, dtype=np.float64)
    return np.array([_number(value) for value in values.tolist()], dtype=np.float64)


def _number(value: Any) -> float:
    if isinstance(value, str):
        value = {"true": 1.0, "false": 0.0}.get(value.strip().lower(), value)
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")


@dataclass(frozen=True)
class Cut:
    """Where a share condition cut: the last value inside, and how many records with that very value are outside."""

    records: int  # that entered
    kept: int
    value: float
    tied: int


def best_share(values: Floats, share: Fraction, *, highest: bool = True) -> tuple[Truth, Cut]:
    """Exactly the given share of all rows, those with the best values.

    The number kept is `share` x rows, rounded down; rows without a value are never kept but counted. Of rows with equal
    values at the cut those that come first are kept; `Cut.tied` says how many others there were.

    Examples
    --------
    >>> truth, cut = best_share(np.array([0.2, 0.9, 0.5, 0.5]), Fraction("0.5"))
    >>> truth.yes.tolist(), cut.kept, cut.value, cut.tied
    ([False, True, True, False], 2, 0.5, 1)
    """
    known = ~np.isnan(values)
    wanted = math.floor(share * len(values))  # of fractions: 0.3 of 10 is 3, not 2.9999
    key = np.where(known, -values if highest else values, np.inf)
    order = np.argsort(key, kind="stable")[: min(wanted, int(known.sum()))]
    yes = np.zeros(len(values), dtype=np.bool_)
    yes[order] = True
    value = float(values[order[-1]]) if len(order) else float("nan")
    tied = int((values[known & ~yes] == value).sum())
    return Truth.of(yes, known), Cut(len(values), len(order), value, tied)
