"""Significance from statistics alone: fast forms against loops and against all draws there are, and without effect."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest

from vericap.core.metric import Metric
from vericap.core.statistics import Statistics
from vericap.run.significance import (
    RESAMPLES,
    Columns,
    PValue,
    aggregate,
    bootstrap,
    holm,
    interval,
    paired_bootstrap,
    randomisation,
)


class Ratio(Metric):
    """Sum over sum, as BLEU's precisions are."""

    name = "ratio"

    def statistics(self, batch, state=None):  # pragma: no cover - statistics are given
        return Statistics(np.zeros((len(batch), 2)))

    def corpus(self, sums, count):
        return sums[..., 0] / sums[..., 1]


class Average(Ratio):
    name = "average"
    corpus = Metric.corpus


def resampled_p(metric: Metric, one, two, *, resamples: int, seed: int = 0) -> float:
    draws = bootstrap([metric, metric], [one, two], resamples=resamples, seed=seed)
    return paired_bootstrap(draws[:, 1] - draws[:, 0], aggregate(metric, two) - aggregate(metric, one))


def swapped_p(metric: Metric, one, two, *, trials: int, seed: int = 0) -> float:
    return randomisation([metric], [one], [two], trials=trials, seed=seed)[0]


def ratios(rng, count: int):
    return np.stack([rng.integers(0, 5, count), rng.integers(5, 9, count)], axis=1).astype(float)


@pytest.mark.parametrize(("captions", "resamples"), [(40, 120), (131, 60), (1, 5)])
def test_bootstrap_equals_a_loop(captions: int, resamples: int) -> None:
    rng = np.random.default_rng(3)
    ratio, mean = ratios(rng, captions), rng.normal(size=(captions, 1))
    if captions > 7:
        mean[7] = np.nan
    draws = bootstrap([Ratio(), Average(), Ratio()], [ratio, mean, ratio], resamples=resamples, seed=5)
    generator = np.random.default_rng(5)
    # The blocks draw (rows, n) at once, which is the same stream as one draw per resample.
    for row in range(resamples):
        index = generator.integers(0, captions, size=captions)
        assert np.isclose(draws[row, 0], ratio[index, 0].sum() / ratio[index, 1].sum())
        assert np.isclose(draws[row, 1], np.nanmean(mean[index]))
        assert draws[row, 2] == draws[row, 0]


def test_columns_that_are_equal_are_multiplied_once() -> None:
    counts = ratios(np.random.default_rng(0), 30)
    columns = Columns.of([counts, counts[:, ::-1], counts[:, :1]])
    assert columns.table.shape == (30, 3)  # two columns of counts, and the one that says that all were judged
    assert [place.tolist() for place in columns.places] == [[0, 1], [1, 0], [0]]
    assert columns.counts == [2, 2, 2]


def test_aggregate_leaves_out_undefined_rows_and_says_when_none_is_left() -> None:
    assert aggregate(Average(), np.array([[1.0], [np.nan], [3.0]])) == 2.0
    assert np.isnan(aggregate(Average(), np.array([[np.nan]])))


def test_paired_bootstrap_equals_all_draws_of_a_tiny_corpus() -> None:
    rng = np.random.default_rng(8)
    one, two = ratios(rng, 5), ratios(rng, 5)
    every = np.array(list(itertools.product(range(5), repeat=5)))
    gaps = np.array([[v[rows].sum(axis=0) for rows in every] for v in (one, two)])
    gaps = gaps[1, :, 0] / gaps[1, :, 1] - gaps[0, :, 0] / gaps[0, :, 1]
    observed = aggregate(Ratio(), two) - aggregate(Ratio(), one)
    exact = np.mean(np.abs(gaps - gaps.mean()) >= abs(observed) - 1e-12)
    error = np.sqrt(exact * (1 - exact) / RESAMPLES)
    assert 0.01 < exact < 0.99
    assert abs(resampled_p(Ratio(), one, two, resamples=RESAMPLES) - exact) < 4 * error + 2 / RESAMPLES


def test_randomisation_equals_all_swaps_of_a_tiny_corpus() -> None:
    rng = np.random.default_rng(9)
    one, two = ratios(rng, 9), ratios(rng, 9)
    every = np.array(list(itertools.product([False, True], repeat=9)))[:, :, None]
    a, b = np.where(every, two, one).sum(axis=1), np.where(every, one, two).sum(axis=1)
    gaps = np.abs(a[:, 0] / a[:, 1] - b[:, 0] / b[:, 1])
    exact = np.mean(gaps >= gaps[0] - 1e-12)  # the first row swaps nothing
    error = np.sqrt(exact * (1 - exact) / RESAMPLES)
    assert abs(swapped_p(Ratio(), one, two, trials=RESAMPLES) - exact) < 4 * error + 2 / RESAMPLES


def test_randomisation_leaves_out_captions_that_one_system_has_no_score_for() -> None:
    rng = np.random.default_rng(4)
    one, two = rng.normal(size=(20, 1)), rng.normal(size=(20, 1)) + 0.3
    one[3] = two[5] = np.nan
    rest = np.delete(np.arange(20), [3, 5])
    trials = 20_000
    given, without = (
        swapped_p(Average(), one, two, trials=trials),
        swapped_p(Average(), one[rest], two[rest], trials=trials),
    )
    assert abs(given - without) < 0.02
    assert np.isnan(swapped_p(Average(), one * np.nan, two, trials=9))


def test_interval_covers_the_truth_at_about_the_nominal_rate() -> None:
    rng = np.random.default_rng(0)
    hits = 0
    for trial in range(200):
        values = rng.normal(1.0, 2.0, size=(120, 1))
        low, high = interval(bootstrap([Average()], [values], resamples=200, seed=trial)[:, 0])
        hits += low <= 1.0 <= high
    assert 0.88 <= hits / 200 <= 0.99


@pytest.mark.parametrize("test", [resampled_p, swapped_p])
def test_p_values_are_uniform_where_systems_are_equal(test) -> None:
    rng = np.random.default_rng(1)
    size = {"resamples": 499} if test is resampled_p else {"trials": 499}
    values = [test(Average(), *rng.normal(size=(2, 80, 1)), **size, seed=trial) for trial in range(300)]
    assert kstest(values, "uniform").pvalue > 0.01
    assert np.mean(np.array(values) < 0.05) < 0.09


def test_paired_tests_see_a_real_difference() -> None:
    rng = np.random.default_rng(2)
    base = rng.normal(size=(200, 1))
    better = base + 0.3 + 0.1 * rng.normal(size=(200, 1))
    assert swapped_p(Average(), base, better, trials=999) < 0.01
    assert resampled_p(Average(), base, better, resamples=999) < 0.01


def test_a_p_value_near_the_level_does_not_hang_on_the_seed() -> None:
    gap = np.random.default_rng(12).normal(size=(200, 1))
    gap = (gap - gap.mean()) / gap.std() + 1.96 / np.sqrt(200)  # a difference of 1.96 standard errors: p is about .05
    values = [resampled_p(Average(), gap * 0, gap, resamples=RESAMPLES, seed=seed) for seed in range(12)]
    assert np.mean(values) == pytest.approx(0.05, abs=0.005)
    assert np.std(values) < 0.003
    assert np.sqrt(0.05 * 0.95 / RESAMPLES) < 0.002


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=6))
def test_holm_is_the_closed_test_of_bonferroni(p_values: list[float]) -> None:
    """A hypothesis is rejected when every intersection with others is: the definition, over all subsets."""
    places = range(len(p_values))
    subsets = [chosen for size in places for chosen in itertools.combinations(places, size + 1)]
    wanted = [
        max(min(1.0, len(own) * min(p_values[place] for place in own)) for own in subsets if one in own)
        for one in places
    ]
    assert holm(p_values) == pytest.approx(wanted, abs=1e-12)


def test_holm_does_not_count_what_is_no_test() -> None:
    adjusted = holm([0.01, float("nan"), 0.04])
    assert adjusted[0] == 0.02
    assert np.isnan(adjusted[1])
    assert adjusted[2] == 0.04


@pytest.mark.parametrize(
    ("p", "shown"), [(0.00001, "<0.0001"), (0.00006, "0.0001"), (0.0, "<0.0001"), (0.05, "0.0500"), (1.0, "1.0000")]
)
def test_a_p_value_is_never_shown_as_zero(p: float, shown: str) -> None:
    assert f"{PValue(p):.4f}" == shown
