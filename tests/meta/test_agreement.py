"""Statistics against scipy, on random data with ties, plain and under cluster weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau, pearsonr, spearmanr

from vericap.core.errors import UnknownName, VericapError
from vericap.meta import kendall
from vericap.meta.agreement import SystemAgreement, agreement, correlation, why_undefined

WITNESS = {
    "tau-b": lambda x, y: kendalltau(x, y, variant="b")[0],
    "tau-c": lambda x, y: kendalltau(x, y, variant="c")[0],
    "spearman": lambda x, y: spearmanr(x, y)[0],
    "pearson": lambda x, y: pearsonr(x, y)[0],
}


def made(generator, trial):
    n = int(generator.integers(3, 80))
    x = generator.integers(0, int(generator.integers(2, 30)), n).astype(float)
    y = generator.integers(0, int(generator.integers(2, 9)), n).astype(float)
    if trial % 2:
        x = generator.normal(size=n)
    if trial % 3 == 0:
        y = generator.normal(size=n)
    cluster = np.unique(generator.integers(0, int(generator.integers(1, n + 1)), n), return_inverse=True)[1]
    return x, y, cluster


@pytest.mark.parametrize("statistic", WITNESS)
@pytest.mark.parametrize("path", ["sweep", "groups", "pairs", "merge"])
def test_equal_to_scipy_under_weights(statistic, path, monkeypatch):
    monkeypatch.setattr(kendall, "_MATRIX_LIMIT", 0 if path == "merge" else 6000)
    monkeypatch.setattr(kendall, "_LEVEL_LIMIT", 0 if path == "pairs" else 4_000_000)
    monkeypatch.setattr(kendall, "_GROUP", 0 if path == "groups" else 64)
    generator = np.random.default_rng(7)
    for trial in range(60):
        x, y, cluster = made(generator, trial)
        weights = generator.integers(0, 3, (3, cluster.max() + 1)).astype(float)
        weights[0] = 1
        for row, ours in zip(weights, agreement(statistic, x, y, cluster).resampled(weights)):
            times = row[cluster].astype(int)
            a, b = np.repeat(x, times), np.repeat(y, times)
            if len(set(a)) < 2 or len(set(b)) < 2:
                assert np.isnan(ours)
            else:
                assert ours == pytest.approx(WITNESS[statistic](a, b), abs=1e-12)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), min_size=2, max_size=30))
def test_properties(pairs):
    x, y = np.array(pairs, dtype=float).T
    for statistic in WITNESS:
        value = correlation(statistic, x, y)
        if why_undefined(x, y):
            assert np.isnan(value)
            continue
        assert -1 <= value <= 1
        assert correlation(statistic, -x, y) == pytest.approx(-value, abs=1e-12)
        assert correlation(statistic, y, x) == pytest.approx(value, abs=1e-12)
        if statistic != "pearson":
            assert correlation(statistic, np.exp(x), y) == pytest.approx(value, abs=1e-12)


def test_published_size_quickly_equals_scipy():
    """5,664 captions with three ratings 1-4, as Flickr8k-Expert."""
    generator = np.random.default_rng(0)
    x = np.repeat(generator.normal(size=5664), 3)
    y = generator.integers(1, 5, 16992).astype(float)
    cluster = np.repeat(generator.integers(0, 1000, 5664), 3)
    for variant in "bc":
        ours = agreement(f"tau-{variant}", x, y, cluster).value
        assert ours == pytest.approx(kendalltau(x, y, variant=variant)[0], abs=1e-12)


def test_system_level_is_correlation_of_means():
    generator = np.random.default_rng(1)
    system = np.tile(np.arange(6), 50)
    image = np.repeat(np.arange(50), 6)
    x, y = generator.normal(size=300) + system, generator.normal(size=300) + system
    means = [np.array([v[system == s].mean() for s in range(6)]) for v in (x, y)]
    ours = SystemAgreement(x, y, image, system, statistic="pearson").value
    assert ours == pytest.approx(pearsonr(*means)[0], abs=1e-12)


def test_bad_input():
    with pytest.raises(VericapError, match="differ in length"):
        correlation("tau-b", np.zeros(3), np.zeros(4))
    with pytest.raises(VericapError, match="score 1 is nan"):
        agreement("pearson", np.array([0.0, np.nan]), np.array([0.0, 1.0]))
    with pytest.raises(UnknownName, match="tau-d"):
        agreement("tau-d", np.zeros(2), np.zeros(2))
    assert np.isnan(correlation("tau-c", np.ones(5), np.arange(5.0)))
    assert "all scores are equal" in why_undefined(np.ones(5), np.arange(5.0))
