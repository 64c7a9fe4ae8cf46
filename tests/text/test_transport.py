from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from vericap.text import transport, transport_python
from vericap.text.bags import Bags

RANDOM = np.random.default_rng(5)


def by_linear_programming(cost: np.ndarray, a: np.ndarray, b: np.ndarray) -> float:
    m, n = cost.shape
    rows = np.vstack([np.kron(np.eye(m), np.ones(n)), np.kron(np.ones(m), np.eye(n))])
    found = linprog(cost.ravel(), A_eq=rows[:-1], b_eq=np.concatenate([a, b])[:-1], method="highs")
    assert found.status == 0
    return float(found.fun)


def block_diagonal(problems: list[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> float:
    """Sum of the least costs of many problems: one sparse linear programme."""
    from scipy import sparse

    blocks = []
    for cost, *_ in problems:
        m, n = cost.shape
        rows = np.vstack([np.kron(np.eye(m), np.ones(n)), np.kron(np.ones(m), np.eye(n))])[:-1]
        blocks.append(sparse.csr_matrix(rows))
    right = np.concatenate([np.concatenate([a, b])[:-1] for _, a, b in problems])
    cost = np.concatenate([c.ravel() for c, _, _ in problems])
    found = linprog(cost, A_eq=sparse.block_diag(blocks, format="csr"), b_eq=right, method="highs")
    assert found.status == 0
    ends = np.cumsum([c.size for c, _, _ in problems])
    parts = np.split(found.x * cost, ends[:-1])
    return np.array([part.sum() for part in parts])  # type: ignore[return-value]


def problem(kind: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    m, n = RANDOM.integers(1, 9, 2)
    cost = RANDOM.random((m, n))
    a, b = RANDOM.random(m) + 1e-3, RANDOM.random(n) + 1e-3
    if kind == 1:  # counts: many equal masses, degenerate
        a, b = RANDOM.integers(1, 4, m).astype(float), RANDOM.integers(1, 4, n).astype(float)
    if kind == 2:  # ties in the costs, zero masses
        cost = RANDOM.integers(0, 3, (m, n)).astype(float)
        a[RANDOM.random(m) < 0.3] = 0.0
        a[0] += 0.5
    return cost, a / a.sum(), b / b.sum()


def test_equals_linear_programming_on_thousands_of_problems() -> None:
    for _ in range(10):
        problems = [problem(k % 3) for k in range(300)]
        wanted = block_diagonal(problems)
        got = [transport.solve(*one)[0] for one in problems]
        assert got == pytest.approx(wanted, abs=1e-8)


@pytest.mark.parametrize("kind", [0, 1, 2])
def test_python_twin_equals_the_kernel_and_the_plan_is_a_plan(kind: int) -> None:
    for _ in range(60):
        cost, a, b = problem(kind)
        value, plan = transport.solve(cost, a, b)
        twin, twin_plan = transport_python.solve(cost, a, b)
        assert value == pytest.approx(twin, abs=1e-12)
        for p in (plan, twin_plan):
            assert (p >= 0).all()
            assert p.sum(axis=1) == pytest.approx(a, abs=1e-10)
            assert p.sum(axis=0) == pytest.approx(b, abs=1e-10)
            assert (p * cost).sum() == pytest.approx(value, abs=1e-12)


def test_large_problem_equals_linear_programming() -> None:
    cost = RANDOM.random((40, 55))
    a, b = RANDOM.random(40), RANDOM.random(55)
    a, b = a / a.sum(), b / b.sum()
    assert transport.solve(cost, a, b)[0] == pytest.approx(by_linear_programming(cost, a, b), abs=1e-8)


def test_negative_costs_are_allowed() -> None:
    cost, a, b = RANDOM.random((4, 5)) - 0.7, np.full(4, 0.25), np.full(5, 0.2)
    assert transport.solve(cost, a, b)[0] == pytest.approx(by_linear_programming(cost, a, b), abs=1e-9)


@pytest.mark.parametrize(
    ("cost", "a", "b"),
    [
        (np.ones((2, 2)), [1.0], [0.5, 0.5]),
        (np.ones((1, 2)), [1.0], [0.5, 0.4]),
        (np.ones((1, 2)), [1.0], [1.5, -0.5]),
        (np.full((1, 1), np.nan), [1.0], [1.0]),
        (np.ones((1, 1)), [0.0], [0.0]),
    ],
)
def test_wrong_problems_are_refused(cost: np.ndarray, a: list[float], b: list[float]) -> None:
    with pytest.raises(ValueError, match=r"mass|cost"):
        transport.solve(cost, a, b)


def bags(words: list[list[int]]) -> Bags:
    return Bags.of({w: float(bag.count(w)) for w in bag} for bag in words)


word_lists = st.lists(st.integers(0, 9), min_size=1, max_size=7)


@settings(max_examples=60, deadline=None)
@given(word_lists, word_lists, st.sampled_from([1.0, 2.0, 1.5]), st.integers(0, 5))
def test_distance_is_symmetric_zero_on_itself_and_blind_to_order(
    one: list[int], two: list[int], p: float, seed: int
) -> None:
    vectors = np.random.default_rng(seed).normal(size=(10, 21)).astype(np.float32)
    left, right = bags([one, one, two[::-1]]), bags([two, one, one])
    there, same, back = transport.distances(vectors, left, right, p=p)
    assert same == 0.0
    assert there == pytest.approx(back, rel=1e-6)
    assert there >= 0.0
    twin = transport_python.distances(vectors, left, right, p=p)
    assert [there, same, back] == pytest.approx(list(twin), rel=1e-5, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(word_lists, word_lists, word_lists)
def test_triangle_inequality_holds_for_distances(one: list[int], two: list[int], three: list[int]) -> None:
    vectors = np.random.default_rng(3).normal(size=(10, 8)).astype(np.float32)
    a, b, c = (
        transport.distances(vectors, bags([x]), bags([y]), p=1.0)[0]
        for x, y in ((one, two), (two, three), (one, three))
    )
    assert c <= a + b + 1e-5


def test_empty_bags_have_no_distance() -> None:
    vectors = np.eye(3, dtype=np.float32)
    found = transport.distances(vectors, bags([[], [0]]), bags([[1], []]))
    assert np.isnan(found).all()


def test_penalties_by_hand_and_twin() -> None:
    angle = np.deg2rad([0, 60, 90, 180])
    vectors = np.stack([np.cos(angle), np.sin(angle)], axis=1).astype(np.float32)
    words, texts = bags([[0, 1, 3], [2], [0]]), bags([[0], [2, 1], [], []])
    offsets = np.array([0, 2, 3, 4])
    found = transport.penalties(vectors, words, offsets, texts)
    # word 0: 0 and (1-cos 60)/2; word 1: (1-.5)/2 and 0; word 3: (1+1)/2 and (1-cos 90)/2; empty texts: 1
    assert found == pytest.approx([0.125, 0.125, 0.75, 1.0, 1.0], abs=1e-6)
    assert transport_python.penalties(vectors, words, offsets, texts) == pytest.approx(found, abs=1e-6)


def test_bags_take_and_weights() -> None:
    made = Bags.of([{3: 2.0, 1: 1.0}, {}, {7: 5.0}])
    assert made.weights == pytest.approx([2 / 3, 1 / 3, 1.0])
    taken = made.take(np.array([2, 0, 1, 2]))
    assert taken.ids.tolist() == [7, 3, 1, 7]
    assert taken.sizes().tolist() == [1, 2, 0, 1]
    assert Bags.of([{3: 2.0, 1: 1.0}], binary=True).weights == pytest.approx([0.5, 0.5])
