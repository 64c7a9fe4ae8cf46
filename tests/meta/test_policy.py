"""Scores from elsewhere beside metrics, and what scored, failed and not judged mean for the denominator."""

from __future__ import annotations

import numpy as np
import pytest

from vericap.core.errors import InputError, VericapError
from vericap.meta import policy
from vericap.meta.agreement import correlation
from vericap.meta.bootstrap import difference, estimate
from vericap.meta.evaluation import ELSEWHERE, evaluate, evaluate_each
from vericap.meta.given import lay_out
from vericap.meta.judgements import Pairs, Ratings
from vericap.meta.protocols import protocol_of
from vericap.meta.scoring import metrics_of
from vericap.meta.task import make_task


def length(candidates, references, images):
    return [len(text.split()) for text in candidates]


def rated(n=60, seed=0):
    generator = np.random.default_rng(seed)
    sizes = generator.integers(1, 11, n)
    return Ratings(
        name="made",
        candidates=[" ".join(["w"] * size) for size in sizes],
        references=[("w w w",)] * n,
        ratings=np.clip(sizes[:, None] // 2 + generator.integers(-2, 3, (n, 3)), 1, 5).astype(float),
        scale=(1, 5),
        images=[f"i{row // 4}" for row in range(n)],
        ids=[f"c{row}" for row in range(n)],
    )


def lengths(data):
    return [float(len(text.split())) for text in data.candidates]


def test_scores_from_elsewhere_stand_in_the_same_table():
    data = rated()
    by_id = dict(zip(data.ids, lengths(data)))
    found = evaluate(data, [length], scores={"array": lengths(data), "mapped": by_id}, resamples=100)
    for name in ("array", "mapped"):
        assert found[name].value == found["length"].value
        assert found[name].interval == found["length"].interval
        assert found[name].kind == ELSEWHERE
    alone = evaluate(data, scores={"array": np.array(lengths(data)), "noise": np.arange(60.0)}, resamples=100)
    assert alone["array"].value == found["length"].value
    assert alone["noise"].p is not None
    assert "array" in alone.table().text()
    drawn = evaluate(data, "rouge-l", scores={"array": lengths(data)}, references=1, runs=3, resamples=20)
    assert drawn["array"].deviation == 0.0


def test_ids_of_samples_and_of_the_data_set():
    data = rated()
    task = make_task(data, protocol_of("made"))
    full = dict(zip([sample.id for sample in task.samples(0)], lengths(data)))
    assert lay_out("x", full, task).runs[0].tolist() == lengths(data)
    full["c99~0"] = 1.0
    del full["c3~0"], full["c5~0"]
    found = evaluate(data, scores={"x": full}, resamples=0)
    assert found["x"].unscored == 2
    assert "x: 1 ids are not in the data set: c99~0" in found.notes
    assert "x: 2 captions have no score: c3, c5" in found.notes


def test_draws_of_references_have_scores_of_their_own():
    data = rated()
    task = make_task(data, protocol_of("made").changed(references=1, runs=2))
    by_run = {sample.id: float(place) for place, sample in enumerate(task.items())}
    assert "c0@1" in by_run
    one, two = lay_out("x", by_run, task).runs
    assert (one[0], two[0]) == (0.0, 60.0)
    assert lay_out("x", np.arange(120), task).runs[1][0] == 60.0
    once = lay_out("x", dict(zip(data.ids, lengths(data))), task)
    assert once.runs[0].tolist() == once.runs[1].tolist() == lengths(data)
    assert once.notes == []


def test_pairs_take_both_sides():
    data = Pairs("made", ["i", "j"], ["a b", "a"], ["a", "a b"], [("a",)] * 2, {"preference": np.array([0.0, 0.0])})
    assert evaluate(data, scores={"x": [2, 1, 1, 2]}, resamples=0)["x"].value == 0.5
    mapped = {"0~0": 2, "1~0": 3, "0~1": 1, "1~1": 2}
    assert evaluate(data, scores={"x": mapped}, resamples=0)["x"].value == 1.0


def test_scores_that_do_not_fit_are_refused_or_named():
    data = rated()
    with pytest.raises(InputError, match="hold 3 numbers, protocol 'ratings/tau-c' has 60 captions"):
        evaluate(data, scores={"x": [1, 2, 3]})
    with pytest.raises(InputError, match="caption 'c0' is inf"):
        evaluate(data, scores={"x": dict(zip(data.ids, [float("inf")] * 60))})
    with pytest.raises(InputError, match="not all numbers"):
        evaluate(data, scores={"x": ["good"] * 60})
    with pytest.raises(VericapError, match="called 'rouge-l' like a metric"):
        evaluate(data, "rouge-l", scores={"rouge-l": lengths(data)})
    with pytest.raises(VericapError, match="no metric was named"):
        evaluate(data)
    found = evaluate(data, scores={"x": {"7": 1.0}, "y": dict.fromkeys(data.ids, float("nan"))}, resamples=0)
    assert "no id is one of the data set, whose first is 'c0'" in found["x"].reason
    assert found["y"].reason == "no caption has a score"


def test_a_caption_that_a_protocol_leaves_out_is_no_unknown_id():
    data = rated()
    data.ratings[7] = np.nan
    found = evaluate_each(
        data, [], [protocol_of("made")], scores={"x": dict(zip(data.ids, lengths(data)))}, resamples=0
    )
    assert found[0].notes == []
    assert found[0]["x"].captions == 59


def test_unscored_captions_are_left_out_and_counted():
    data = rated()
    scores = np.array(lengths(data))
    scores[::5] = np.nan
    found = evaluate(data, scores={"x": scores}, protocol="mean-tau-c", resamples=0)
    kept = ~np.isnan(scores)
    expected = correlation("tau-c", scores[kept], data.ratings.mean(axis=1)[kept])
    assert found["x"].value == pytest.approx(expected)
    assert (found["x"].captions, found["x"].unscored) == (48, 12)
    assert "x: 12 captions could not be scored and are left out" in found.table().notes


def test_unscored_captions_get_the_worst_score_where_asked_for():
    data = rated()
    scores = np.array(lengths(data))
    scores[::5] = np.nan
    found = evaluate(data, scores={"x": scores}, protocol="mean-pearson", resamples=0, unscored="worst")
    low = np.where(np.isnan(scores), np.nanmin(scores), scores)
    assert found["x"].value == pytest.approx(correlation("pearson", low, data.ratings.mean(axis=1)))
    assert (found["x"].captions, found["x"].unscored) == (60, 12)
    assert any("12 captions could not be scored and count as its worst score" in n for n in found.table().notes)
    with pytest.raises(VericapError, match="not one of left-out, worst"):
        evaluate(data, scores={"x": scores}, unscored="zero")


def test_the_worst_score_is_the_bad_end_of_the_range():
    rouge, chair = metrics_of("rouge-l,chair")
    scores = np.array([0.4, np.nan, 0.9])
    assert policy.filled(scores, policy.WORST, rouge).tolist() == [0.4, 0.0, 0.9]
    assert chair.direction == "lower"
    assert policy.filled(-scores, policy.WORST, chair)[1] == -1.0
    assert policy.filled(scores, policy.WORST).tolist() == [0.4, 0.4, 0.9]
    assert np.isnan(policy.filled(scores, policy.LEFT_OUT)[1])


def test_paired_tests_use_captions_that_both_scored():
    data = rated()
    generator = np.random.default_rng(1)
    one, two = np.array(lengths(data)), np.array(lengths(data)) + generator.normal(0, 3, 60)
    one[:12], two[30:40] = np.nan, np.nan
    found = evaluate(data, scores={"one": one, "two": two}, resamples=200)
    shared = ~(np.isnan(one) | np.isnan(two))
    first, second = (np.where(shared, scores, np.nan) for scores in (one, two))
    weights = found.weights()
    gap = difference(*(estimate(found.task.agreement([own]), weights) for own in (second, first)))
    assert (found["two"].gap, found["two"].p) == (gap.value, gap.p)
    assert found["two"].gap != found["two"].value - found["one"].value
    assert policy.both([one], [one]) is None


def test_a_failed_metric_has_a_reason_and_no_value():
    found = evaluate(rated(), scores={"same": [1.0] * 60}, resamples=0)
    assert found["same"].value is None
    assert "all scores are equal" in found["same"].reason
