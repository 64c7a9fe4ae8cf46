"""What a gap of scores means: the curve of agreement, its interval, and its words."""

from __future__ import annotations

import numpy as np
import pytest

from vericap.meta import gaps
from vericap.meta.evaluation import evaluate
from vericap.meta.gaps import Gap, gap_of, gaps_of, isotonic, meaning
from vericap.meta.judgements import Pairs, Ratings


def rated(count=2000, seed=0, per_image=5):
    """Captions whose quality the score shows with noise, judged with noise."""
    generator = np.random.default_rng(seed)
    truth = generator.normal(0, 1, count)
    ratings = np.clip(np.round(3 + truth + generator.normal(0, 0.5, count)), 1, 5)
    images = [f"i{row // per_image}" for row in range(count)]
    data = Ratings("made", [f"c {k}" for k in range(count)], [("r",)] * count, ratings, (1, 5), images)
    return data, truth + generator.normal(0, 0.5, count), generator.normal(0, 1, count)


def shares_by_hand(data, scores, low, high):
    """Share of agreeing pairs of one image with a gap between two bounds, human ties left out."""
    right = []
    for a in range(len(scores)):
        for b in range(a + 1, min(len(scores), a + 5)):
            gap, lead = scores[a] - scores[b], data.ratings[a, 0] - data.ratings[b, 0]
            if data.images[a] == data.images[b] and lead and low <= abs(gap) < high:
                right.append((gap > 0) == (lead > 0))
    return np.mean(right)


def test_larger_gaps_mean_more_and_noise_means_nothing():
    data, good, noise = rated()
    found = evaluate(data, scores={"good": good, "noise": noise}, resamples=200)
    curves = gaps_of(found)
    shares = [curves["good"].agree(gap)[0] for gap in (0, 0.1, 0.5, 1, 2, 9)]
    assert shares == sorted(shares)
    assert shares[0] == 0.5
    assert shares[-1] > 0.97
    for gap in (0.5, 1.0, 2.0):
        share, low, high = curves["good"].agree(gap)
        assert share == pytest.approx(shares_by_hand(data, good, gap - 0.1, gap + 0.1), abs=0.04)
        assert low < share < high
    assert curves["noise"].agree(1.0)[1] < 0.5 < curves["noise"].agree(1.0)[2]
    assert curves["noise"].needed(0.75) is None
    need = curves["good"].needed(0.75)
    assert curves["good"].agree(need)[0] == pytest.approx(0.75)
    assert curves["good"].same_image
    assert 0.2 < curves["good"].ties < 0.5


def test_pairs_across_images_where_an_image_has_one_caption():
    data, good, _ = rated(300, per_image=1)
    found = evaluate(data, scores={"good": good}, resamples=50)
    curve = gap_of(found, "good")
    assert not curve.same_image
    assert curve.agree(2.0)[0] > 0.9
    assert curve.agree(2.0)[1] <= curve.agree(2.0)[0] <= curve.agree(2.0)[2]


def test_pairs_that_people_compared():
    generator = np.random.default_rng(0)
    lead = generator.normal(0, 1, 600)
    preference = (lead + generator.normal(0, 0.5, 600) > 0).astype(float)
    data = Pairs(
        "made", [f"i{k}" for k in range(600)], ["a"] * 600, ["b"] * 600, [()] * 600, {"preference": preference}
    )
    found = evaluate(data, scores={"x": [*np.zeros(600), *lead]}, resamples=50)
    assert gap_of(found, "x").agree(1.5)[0] > 0.95
    assert gap_of(found, "y") is None


def test_too_few_judgements_say_nothing():
    data, good, _ = rated(60)
    assert gaps_of(evaluate(data, scores={"good": good}, resamples=20)) == {}


def test_isotonic_is_pooling_of_violators():
    from scipy.optimize import isotonic_regression

    generator = np.random.default_rng(1)
    for _ in range(20):
        count = generator.integers(1, 30, 12).astype(float)
        hits = np.minimum(count, generator.integers(0, 30, 12))
        expected = isotonic_regression(hits / count, weights=count).x
        assert isotonic(hits[None], count[None])[0] == pytest.approx(expected)
    falling = isotonic(np.array([[3.0, 2.0, 1.0]]), np.array([[4.0, 4.0, 4.0]]))[0]
    assert falling.tolist() == [0.5] * 3


def test_tables_are_written_and_read(tmp_path):
    data, good, noise = rated()
    found = evaluate(data, scores={"good": good, "noise": noise}, resamples=50)
    path = gaps.save(found, tmp_path / "made.json")
    curves = gaps.read(path.read_text())
    assert [curve.metric for curve in curves] == ["good", "noise"]
    assert curves[0].agree(0.7)[0] == pytest.approx(gap_of(found, "good").agree(0.7)[0], abs=1e-3)
    assert meaning("good", -2.0, curves) == meaning("good", 2.0, curves)
    assert "% of caption pairs with such a gap (made)" in meaning("good", 2.0, curves)
    assert "hardly more than chance" in meaning("noise", 1.0, curves)
    for metric, difference in (("other", 0.1), ("good", 0.0), ("good", float("nan"))):
        assert meaning(metric, difference, curves) == ""


def test_shipped_tables_are_curves():
    assert gaps.shipped()
    for curve in gaps.shipped():
        assert isinstance(curve, Gap)
        assert list(curve.sizes) == sorted(curve.sizes)
        assert list(curve.shares) == sorted(curve.shares)
        assert all(low <= share <= high for low, share, high in zip(curve.low, curve.shares, curve.high))
    assert meaning("cider-d", 0.02).startswith("people agree in ")
    assert meaning("no-such-metric", 0.02) == ""
    assert meaning("bleu-4", 0.02) == ""  # corpus BLEU is no mean of BLEU of captions: another unit
