"""Three-valued logic against a plain reading of it row by row; shares against sorting by hand."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vericap.run.filter.grammar import parse
from vericap.run.filter.tree import All, Column, Comparison, Either, Flag, Node, Not
from vericap.run.filter.truth import best_share, judge


def by_hand(node: Node, row: dict[str, float | None]) -> bool | None:
    """Kleene's tables for one record; None is not known."""
    if isinstance(node, Not):
        part = by_hand(node.part, row)
        return None if part is None else not part
    if isinstance(node, All):
        parts = [by_hand(part, row) for part in node.parts]
        return False if False in parts else (None if None in parts else True)
    if isinstance(node, Either):
        parts = [by_hand(part, row) for part in node.parts]
        return True if True in parts else (None if None in parts else False)
    assert isinstance(node, Comparison)
    value = row[node.column.name]
    return None if value is None else value >= node.value  # type: ignore[operator]


_LEAVES = st.builds(Comparison, st.sampled_from("ab").map(Column), st.just(">="), st.sampled_from([0.25, 0.5]))
_NODES = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        inner.map(Not),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: All(tuple(parts))),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: Either(tuple(parts))),
    ),
    max_leaves=6,
)
_CELLS = st.lists(st.tuples(*[st.sampled_from([None, 0.1, 0.3, 0.7])] * 2), min_size=1, max_size=9)


@given(_NODES, _CELLS)
@settings(max_examples=200, deadline=None)
def test_logic_is_that_of_every_row(node: Node, cells: list[tuple[float | None, float | None]]) -> None:
    columns = {name: np.array([row[k] for row in cells], dtype=np.float64) for k, name in enumerate("ab")}
    found = judge(node, columns)
    wanted = [by_hand(node, dict(zip("ab", row))) for row in cells]
    assert found.yes.tolist() == [one is True for one in wanted]
    assert found.no.tolist() == [one is False for one in wanted]


@pytest.mark.parametrize(
    ("text", "yes", "no"),
    [
        ("c>=2", [1], [0, 4]),  # texts that are numbers count as numbers; others are not known
        ("c==x", [2], [0, 1, 4]),
        ("c!=x", [0, 1, 4], [2]),
        ("!(c>=2)", [0, 4], [1]),
        ("c", [0, 1, 4], []),
    ],
)
def test_columns_of_the_input(text: str, yes: list[int], no: list[int]) -> None:
    (node,) = parse(text).stages
    cells = np.empty(5, dtype=object)
    cells[:] = ["1", 2.5, "x", None, True]
    found = judge(node, {"c": cells})
    assert np.flatnonzero(found.yes).tolist() == yes
    assert np.flatnonzero(found.no).tolist() == no


def test_flags() -> None:
    found = judge(Not(Flag(Column("url"))), {"url": np.array([True, False])})
    assert found.yes.tolist() == [False, True]


@given(
    st.lists(st.sampled_from([0.1, 0.2, 0.3, 0.5, float("nan")]), max_size=30),
    st.fractions(min_value=Fraction(1, 100), max_value=1),
    st.booleans(),
)
@settings(max_examples=200, deadline=None)
def test_a_share_is_exact(values: list[float], share: Fraction, highest: bool) -> None:
    found, cut = best_share(np.array(values, dtype=np.float64), share, highest=highest)
    known = [place for place, value in enumerate(values) if not math.isnan(value)]
    ranked = sorted(known, key=lambda place: (-values[place] if highest else values[place], place))
    wanted = ranked[: min(math.floor(share * len(values)), len(known))]
    assert np.flatnonzero(found.yes).tolist() == sorted(wanted)
    assert (found.yes | found.no).tolist() == [not math.isnan(value) for value in values]
    outside = [place for place in known if place not in wanted]
    assert cut.tied == sum(bool(wanted) and values[place] == values[wanted[-1]] for place in outside)


def test_decimal_shares_do_not_lose_a_record() -> None:
    # 0.29 * 100 is 28.999999999999996 in floating point
    assert best_share(np.arange(100.0), Fraction("0.29"))[1].kept == 29
