"""Tie-calibrated pairwise accuracy against a count by hand over every pair and every epsilon."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from vericap.meta.caption_pairs import caption_pairs, within
from vericap.meta.evaluation import evaluate
from vericap.meta.judgements import Pairs, Ratings
from vericap.meta.protocols import protocol_of
from vericap.meta.task import make_task
from vericap.meta.ties import calibrated, count_right, sorted_calibration


def rated(human, images, name="made"):
    count = len(human)
    return Ratings(name, [f"c {k}" for k in range(count)], [("r",)] * count, np.array(human, float), (0, 9), images)


def right(x, y, a, b, epsilon):
    called = 0.0 if abs(x[a] - x[b]) <= epsilon else np.sign(x[a] - x[b])
    return called == np.sign(y[a] - y[b])


def brute(x, y, groups, epsilon):
    """The mean over groups of the share of pairs that are right."""
    found = []
    for group in dict.fromkeys(groups):
        rows = [row for row in range(len(x)) if groups[row] == group and not np.isnan(x[row])]
        each = [right(x, y, a, b, epsilon) for a, b in combinations(rows, 2)]
        found += [np.mean(each)] if each else []
    return float(np.mean(found))


def best_by_hand(x, y, groups):
    gaps = {0.0, *(abs(a - b) for a, b in combinations(x[~np.isnan(x)], 2))}
    found = [(brute(x, y, groups, epsilon), -epsilon) for epsilon in sorted(gaps)]
    top = max(value for value, _ in found)
    return next((value, -epsilon) for value, epsilon in found if value >= top - 1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_against_brute_force(seed):
    generator = np.random.default_rng(seed)
    count = 40
    y = generator.integers(0, 4, count).astype(float)
    x = np.round(y + generator.normal(0, 2, count), 1 if seed % 2 else 6)
    if seed > 4:
        x[3:6] = np.nan
    alone = [f"i{k}" for k in range(count)]
    images = [f"i{k}" for k in generator.integers(0, 6, count)]
    for groups, same in ((images, True), (alone, False)):
        task = make_task(rated(y, groups), protocol_of("made"))
        found = calibrated(task, x)
        expected = best_by_hand(x, y, groups if same else ["all"] * count)
        assert (found.accuracy, found.epsilon) == (pytest.approx(expected[0]), pytest.approx(expected[1]))
        assert found.plain == pytest.approx(brute(x, y, groups if same else ["all"] * count, 0.0))
        assert found.same_image is same
        assert found.accuracy >= found.plain - 1e-12


def test_counting_without_listing_pairs():
    generator = np.random.default_rng(3)
    y = generator.integers(0, 5, 300).astype(float)
    x = np.round((y + generator.normal(0, 2, 300)) * 8) / 8  # eighths: sums of two have no rounding
    epsilons = np.array([0.0, 0.125, 0.5, 3.0, 40.0])
    counted, tied = count_right(x, y, epsilons)
    for value, epsilon in zip(counted, epsilons):
        assert value / (300 * 299 / 2) == pytest.approx(brute(x, y, ["all"] * 300, epsilon))
    assert tied == sum(a == b for a, b in combinations(y, 2))
    listed = calibrated(make_task(rated(y, [f"i{k}" for k in range(300)]), protocol_of("made")), x)
    found = sorted_calibration(x, y)
    assert found.accuracy == pytest.approx(listed.accuracy, abs=1e-3)
    assert (found.pairs, found.human_ties, found.plain) == (listed.pairs, listed.human_ties, listed.plain)
    short = calibrated(make_task(rated(y, [f"i{k}" for k in range(300)]), protocol_of("made")), x, most=1000)
    assert short == found


def test_a_metric_that_ties_where_people_do_is_rewarded():
    human = [1.0, 1.0, 2.0, 2.0, 3.0, 3.0] * 20
    images = [f"i{k // 6}" for k in range(120)]
    noise = np.random.default_rng(0).normal(0, 0.01, 120)
    found = evaluate(rated(human, images), scores={"noisy": np.array(human) + noise}, resamples=50)
    tie = calibrated(found.task, found.scores["noisy"], found.weights())
    assert tie.accuracy == pytest.approx(1.0)
    assert 0.0 < tie.epsilon < 0.1
    assert tie.plain == pytest.approx(12 / 15)  # the three ties of six captions are lost
    assert tie.interval == (1.0, 1.0)
    assert tie.human_ties == pytest.approx(3 / 15)


def test_pairs_of_captions():
    group = np.array([2, 0, 2, 1, 0, 2])
    first, second = within(group)
    assert {(min(p), max(p)) for p in zip(first.tolist(), second.tolist())} == {(0, 2), (0, 5), (2, 5), (1, 4)}
    task = make_task(rated([1, 2, 3, 4], list("abcd")), protocol_of("made"))
    assert len(caption_pairs(task)) == 6
    assert not caption_pairs(task).same_image
    assert len(caption_pairs(task, most=5)) == 5
    data = Pairs("p", ["i", "j"], ["a", "b"], ["c", "d"], [()] * 2, {"preference": np.array([0.0, 1.0])})
    own = caption_pairs(make_task(data, protocol_of("p", pairs=True)))
    assert own.lead.tolist() == [-1.0, 1.0]
    assert own.gaps(np.array([[1.0, 3.0], [2.0, 0.0]])).tolist() == [2.0, -2.0]
    assert calibrated(make_task(data, protocol_of("p", pairs=True)), np.ones((2, 2))) is None
