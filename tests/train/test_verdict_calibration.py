"""The verdict's calibration: cases say what is wrong where, weights are found again, thresholds hold their rate."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vericap.metrics.verdict.judge import BOTH, FEATURES, IMAGE, RIGHT, Judge, features, shipped_judge
from vericap.metrics.verdict.parts import CLAIM
from vericap.metrics.verdict.rating import RATING
from vericap.train.data import Captioned
from vericap.train.ratings import share_of
from vericap.train.verdict.cases import changed
from vericap.train.verdict.fit import area, average_precision, balanced, logistic
from vericap.train.verdict.texts import there_or_not, with_foreign
from vericap.train.words.boxes import PhotoBoxes

CAPTIONS = Captioned(["1", "2"], [["A dog on a sofa.", "A brown dog"], ["A man rides a horse", "A rider"]])


@pytest.mark.parametrize(
    ("right", "wrong", "places"),
    [
        ("A dog on a sofa", "A cat on a sofa", ["cat"]),
        ("A dog runs", "Two dogs run", ["Two"]),  # another form of the same word is right
        ("A man rides a horse", "A man rides a brown horse", ["brown"]),
        ("The same", "The same", []),
    ],
)
def test_only_what_was_changed_is_wrong(right: str, wrong: str, places: list[str]) -> None:
    assert [wrong[start:end] for start, end in changed(right, wrong)] == places


def test_texts_name_things_that_boxes_show_or_do_not() -> None:
    classes = ["person", "dog", "sofa", "car"]
    box = np.array([[0.1, 0.1, 0.6, 0.6]], dtype=np.float32)
    boxes = {1: PhotoBoxes(box, np.array([1])), 2: PhotoBoxes(np.tile(box, (2, 1)), np.array([0, 3]))}
    cases = there_or_not(CAPTIONS, boxes, classes, seed=1)
    assert {case.image for case in cases} == {"000000000001.jpg", "000000000002.jpg"}
    for case in cases:
        said = [case.caption[start:end].lower() for start, end in case.wrong]
        own = {"000000000001.jpg": {"dog"}, "000000000002.jpg": {"person", "car"}}[case.image]
        assert not own & set(said)
    assert any(case.wrong for case in cases)
    assert any(not case.wrong for case in cases)


def test_a_foreign_sentence_is_the_one_marked() -> None:
    for case in with_foreign(CAPTIONS, seed=3):
        ((start, end),) = case.wrong
        assert case.caption[start:end].endswith(".")
        assert start == 0 or case.caption[start - 1] == " "


def test_logistic_regression_finds_the_weights_of_made_data() -> None:
    rng = np.random.default_rng(0)
    given_ = rng.normal(size=(20_000, 3))
    chance = 1 / (1 + np.exp(-(given_ @ [1.0, -2.0, 0.0] + 0.5)))
    found = logistic(given_, rng.random(20_000) < chance)
    np.testing.assert_allclose(found, [1.0, -2.0, 0.0, 0.5], atol=0.1)


def test_weights_pulled_towards_shares_share_what_two_features_say_alike() -> None:
    """One feature is nearly a copy of another: alone the fit may choose either, pulled it takes both."""
    rng = np.random.default_rng(0)
    first = rng.normal(size=4000)
    given_ = np.stack([first, first + 0.05 * rng.normal(size=4000)], axis=1)
    target = rng.random(4000) < 1 / (1 + np.exp(-2 * first))
    free, pulled = logistic(given_, target, ridge=1e-6), balanced(given_, target, np.ones(2), pull=1000.0)
    assert abs(pulled[0] - pulled[1]) < 0.1 < abs(free[0] - free[1])
    assert pulled[:2].sum() == pytest.approx(2.0, abs=0.2)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5)), min_size=2, max_size=40))
def test_the_area_is_the_share_of_pairs_in_order(rows: list[tuple[bool, int]]) -> None:
    positive, scores = np.array([row[0] for row in rows]), np.array([row[1] for row in rows], dtype=float)
    if positive.all() or not positive.any():
        return
    pairs = [(a > b) + (a == b) / 2 for a in scores[positive] for b in scores[~positive]]
    assert area(positive, scores) == pytest.approx(np.mean(pairs))
    assert 0 < average_precision(positive, scores) <= 1


def test_photos_are_parted_by_name_alone_and_evenly() -> None:
    shares = [share_of(f"{number:012d}.jpg") for number in range(4000)]
    assert np.histogram(shares, bins=4, range=(0, 1))[0] == pytest.approx([1000] * 4, rel=0.1)


def test_shipped_weights_have_every_name_and_what_they_were_measured_to_do() -> None:
    judge = shipped_judge()
    for way in (IMAGE, BOTH):
        assert set(judge.weights["right"][way]) == set(RIGHT)
        assert set(judge.weights["rating"][way]) == {*RATING[way], "constant"}
        assert all(set(own) == {*FEATURES[way], "constant"} for own in judge.weights["support"][way].values())
        assert judge.weights["found"][f"words_{way}"]["false alarms"] == pytest.approx(0.02, abs=0.01)


@pytest.mark.parametrize("way", [IMAGE, BOTH])
def test_more_evidence_means_more_support(way: str) -> None:
    weights = shipped_judge().weights["support"][way]["object"]
    given_ = np.array([weights[name] for name in FEATURES[way]])
    low, high = np.zeros((1, len(CLAIM)), np.float32), np.zeros((1, len(CLAIM)), np.float32)
    low[0, :3], high[0, :3] = -2, 4
    assert (features(high, way) @ given_)[0] > (features(low, way) @ given_)[0]


def test_low_fluency_and_bland_captions_lower_the_verdict_alone() -> None:
    judge: Judge = shipped_judge()
    assert judge.reads(1.0) == judge.reads(0.6) == 1.0
    assert judge.reads(0.1) < 0.5
    assert judge.tells(0.5) == 1.0
    assert 0.7 < judge.tells(0.0) < judge.tells(0.1) < 1.0
