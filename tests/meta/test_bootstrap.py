"""Simulations: intervals cover the truth, paired tests keep their false-alarm rate."""

from __future__ import annotations

import numpy as np
import pytest

from vericap.core.errors import VericapError
from vericap.meta.agreement import agreement, correlation
from vericap.meta.bootstrap import cluster_weights, difference, estimate, randomisation
from vericap.run.significance import holm


def world(generator, images, noise=1.0):
    """Captions in images that share a difficulty; ratings with four levels; two metrics of equal merit."""
    cluster = np.repeat(np.arange(images), 5)
    quality = generator.normal(size=images)[cluster] + generator.normal(size=len(cluster))
    rating = np.digitize(quality + 0.5 * generator.normal(size=len(cluster)), [-1.0, 0.0, 1.0]).astype(float)
    shared = 0.7 * generator.normal(size=images)[cluster]
    one, two = (quality + shared + noise * generator.normal(size=len(cluster)) for _ in range(2))
    return one, two, rating, cluster


@pytest.mark.parametrize("statistic", ["tau-c", "pearson"])
def test_interval_covers_truth_at_nominal_rate(statistic):
    generator = np.random.default_rng(3)
    one, _, rating, _ = world(generator, 40_000)
    truth = correlation(statistic, one, rating) if statistic == "pearson" else _large_tau(one, rating)
    covered = []
    for trial in range(300):
        one, _, rating, cluster = world(generator, 80)
        found = estimate(agreement(statistic, one, rating, cluster), cluster_weights(80, resamples=200, seed=trial))
        covered.append(found.interval[0] <= truth <= found.interval[1])
    # 95 % nominal; a binomial of 300 stays within 3.8 points of it, percentile intervals run a little short
    assert 0.90 <= np.mean(covered) <= 0.985


def _large_tau(x, y):
    from scipy.stats import kendalltau

    return kendalltau(x, y, variant="c")[0]


def test_ignoring_clusters_would_be_too_sure():
    one, _, rating, cluster = world(np.random.default_rng(5), 100)
    clustered = estimate(agreement("tau-b", one, rating, cluster), cluster_weights(100, seed=1))
    single = estimate(agreement("tau-b", one, rating), cluster_weights(500, seed=1))
    assert np.diff(clustered.interval) > np.diff(single.interval)


def test_paired_tests_keep_their_false_alarm_rate():
    generator = np.random.default_rng(11)
    by_bootstrap, by_swaps = [], []
    for trial in range(200):
        one, two, rating, cluster = world(generator, 60)
        weights = cluster_weights(60, resamples=200, seed=trial)
        gap = difference(*(estimate(agreement("tau-c", x, rating, cluster), weights) for x in (one, two)))
        by_bootstrap.append(gap.p < 0.05)
        p = randomisation("tau-c", one, two, rating, cluster, trials=200, seed=trial)
        by_swaps.append(p < 0.05)
    assert 0.015 <= np.mean(by_bootstrap) <= 0.095
    assert 0.015 <= np.mean(by_swaps) <= 0.095


def test_paired_tests_find_a_real_difference():
    generator = np.random.default_rng(2)
    one, _, rating, cluster = world(generator, 150, noise=0.5)
    two = one + 3 * generator.normal(size=len(one))
    weights = cluster_weights(150, seed=0)
    gap = difference(*(estimate(agreement("tau-b", x, rating, cluster), weights) for x in (one, two)))
    assert gap.p < 0.01
    assert gap.interval[0] > 0
    assert randomisation("tau-b", one, two, rating, cluster, seed=0) < 0.01


def test_seeded_and_explicit_about_too_few_images():
    assert (cluster_weights(9, resamples=20, seed=4) == cluster_weights(9, resamples=20, seed=4)).all()
    assert (cluster_weights(9, resamples=20, seed=4).sum(axis=1) == 9).all()
    with pytest.raises(VericapError, match="at least 2 images"):
        cluster_weights(1)


def test_holm():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([]) == []
