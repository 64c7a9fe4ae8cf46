"""Resampling works on statistics alone: checked against plain loops and on the null hypothesis."""

from __future__ import annotations

import numpy as np

from vericap.core.metric import Metric
from vericap.core.statistics import Statistics
from vericap.run.significance import (
    aggregate,
    approximate_randomisation,
    bootstrap,
    interval,
    paired_bootstrap,
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


def test_bootstrap_equals_a_loop() -> None:
    rng = np.random.default_rng(3)
    ratio = np.stack([rng.integers(0, 5, 40), rng.integers(5, 9, 40)], axis=1).astype(float)
    mean = rng.normal(size=(40, 1))
    mean[7] = np.nan
    draws = bootstrap([Ratio(), Average()], [ratio, mean], resamples=120, seed=5)
    generator = np.random.default_rng(5)
    # The blocks draw (rows, n) at once, which is the same stream as one draw per resample.
    for row in range(120):
        index = generator.integers(0, 40, size=40)
        assert np.isclose(draws[row, 0], ratio[index, 0].sum() / ratio[index, 1].sum())
        assert np.isclose(draws[row, 1], np.nanmean(mean[index]))


def test_aggregate_leaves_out_undefined_rows_and_says_when_none_is_left() -> None:
    assert aggregate(Average(), np.array([[1.0], [np.nan], [3.0]])) == 2.0
    assert np.isnan(aggregate(Average(), np.array([[np.nan]])))


def test_interval_covers_the_truth_at_about_the_nominal_rate() -> None:
    rng = np.random.default_rng(0)
    hits = 0
    for trial in range(200):
        values = rng.normal(1.0, 2.0, size=(120, 1))
        low, high = interval(bootstrap([Average()], [values], resamples=200, seed=trial)[:, 0])
        hits += low <= 1.0 <= high
    assert 0.88 <= hits / 200 <= 0.99


def false_alarms(p_value) -> float:
    rng = np.random.default_rng(1)
    return np.mean([p_value(rng.normal(size=(80, 2)), trial) < 0.05 for trial in range(200)])


def test_paired_tests_keep_their_level_when_systems_are_equal() -> None:
    metric = Average()

    def randomised(x, seed):
        return approximate_randomisation(metric, x[:, :1], x[:, 1:], trials=199, seed=seed)

    def resampled(x, seed):
        one, two = x[:, :1], x[:, 1:]
        a, b = (bootstrap([metric], [v], resamples=199, seed=seed)[:, 0] for v in (one, two))
        return paired_bootstrap(b - a, aggregate(metric, two) - aggregate(metric, one))

    assert false_alarms(randomised) <= 0.10
    assert false_alarms(resampled) <= 0.10


def test_paired_tests_see_a_real_difference() -> None:
    rng = np.random.default_rng(2)
    base = rng.normal(size=(200, 1))
    better = base + 0.3 + 0.1 * rng.normal(size=(200, 1))
    assert approximate_randomisation(Average(), base, better, trials=999) < 0.01
