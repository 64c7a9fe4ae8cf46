"""Matching on given tuples: the published golden pairs, the set rule, synonyms, grades."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vericap.graphs.ja.match import MatchRules, phrase, read, score_tuples, similarity, tuple_set, word_similarity
from vericap.text import wordnet_ja

WORDS = ["男性", "男", "女性", "犬", "動物", "傘", "人", "熊", "クマ", "ラケット", "テニスラケット", "[PHI]"]
TUPLES = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(tuple), min_size=0, max_size=6)
ALL = MatchRules(hypernyms=0.7, compounds=0.7)


def golden(data_dir: Path) -> dict:
    return json.loads((data_dir / "japanese" / "jaspice_golden.json").read_text("utf-8"))


def test_graph_pairs_of_the_golden_file(data_dir: Path) -> None:
    bread = [["パン"], ["ハム"], ["キュウリ"], ["トマト"], ["チーズ"], ["チーズ", "挟まる", "パン"]]
    for pair in golden(data_dir)["graph_pairs"]:
        reference = pair.get("reference_tuples", bread)
        for synonyms, key in ((True, "f1"), (False, "f1_no_synonyms")):
            score = score_tuples(pair["candidate_tuples"], [reference], synonyms=synonyms)
            assert score.f1 == pytest.approx(pair[key], abs=5e-4), pair["candidate"]


def test_written_tuples_put_the_attribute_first() -> None:
    assert read("青い_電話") == ("電話", "青い")
    assert read("女性_持つ_片手") == ("女性", "持つ", "片手")
    assert read(["電話", "青い"]) == ("電話", "青い")
    with pytest.raises(ValueError, match="one, two or three"):
        tuple_set(["a_b_c_d"])


def test_references_are_one_set() -> None:
    score = score_tuples([["犬"], ["猫"]], [[["犬"], ["傘"]], [["犬"], ["猫"], ["海"]]], synonyms=False)
    assert (score.precision, score.recall) == (1.0, 0.5)  # the union holds 犬 傘 猫 海
    assert score.f1 == pytest.approx(2 / 3)


def test_every_part_may_be_a_synonym() -> None:
    assert "クマ" in wordnet_ja.synonyms("熊")
    assert "眺める" in wordnet_ja.synonyms("見る")
    assert score_tuples([("熊", "見る", "男性")], [[("クマ", "眺める", "男")]]).f1 == 1.0
    assert score_tuples([("熊", "見る", "男性")], [[("クマ", "眺める", "男")]], synonyms=False).f1 == 0.0


def test_the_placeholder_matches_itself_alone_and_is_no_object() -> None:
    assert score_tuples([["[PHI]"], ["[PHI]", "取る", "箱"]], [[["[PHI]", "取る", "箱"]]]).f1 == 1.0
    assert score_tuples([["[PHI]", "取る", "箱"]], [[["男性", "取る", "箱"]]]).f1 == 0.0


def test_empty_graphs_score_zero() -> None:
    assert score_tuples([], [[["犬"]]]).f1 == 0.0
    assert score_tuples([["犬"]], []).f1 == 0.0
    assert score_tuples([["犬"]], [[], []]).f1 == 0.0


@settings(deadline=None)
@given(TUPLES, TUPLES)
def test_set_rule_against_a_plain_reading_of_it(one: list, other: list) -> None:
    """Witness: expand each tuple of the smaller set by every choice of synonyms and look it up."""
    mine, theirs = set(one) - {("[PHI]",)}, set(other) - {("[PHI]",)}
    few, many = (mine, theirs) if len(mine) <= len(theirs) else (theirs, mine)
    matched = 0
    for item in few:
        choices = [[word, *wordnet_ja.synonyms(word)] for word in item]
        matched += any(choice in many for choice in itertools.product(*choices))
    expected = 2 * matched / (len(mine) + len(theirs)) if mine and theirs else 0.0
    assert score_tuples(one, [other]).f1 == pytest.approx(expected)


@settings(deadline=None)
@given(TUPLES, TUPLES, TUPLES)
def test_scores_are_fractions_symmetric_and_more_grades_never_lower_them(one: list, two: list, three: list) -> None:
    plain, graded = score_tuples(one, [two, three]), score_tuples(one, [two, three], rules=ALL)
    for score in (plain, graded):
        assert 0.0 <= score.precision <= 1.0
        assert 0.0 <= score.recall <= 1.0
        assert min(score.precision, score.recall) - 1e-12 <= score.f1 <= max(score.precision, score.recall) + 1e-12
    same = score_tuples(one, [two, three], rules=MatchRules(compounds=1e-9))  # graded, with next to no grades
    assert graded.precision >= same.precision - 1e-6
    back = score_tuples([*two, *three], [one], rules=ALL)
    assert back.f1 == pytest.approx(graded.f1)
    if tuple_set(one):
        assert score_tuples(one, [one]).f1 == 1.0


def test_words_above_and_parts_of_compounds() -> None:
    assert word_similarity("男性", "人", MatchRules()) == 0.0
    assert word_similarity("男性", "人", ALL) == pytest.approx(0.7)
    assert word_similarity("犬", "動物", ALL) == pytest.approx(0.49)
    assert word_similarity("ラケット", "テニスラケット", ALL) == pytest.approx(0.7)
    assert word_similarity("ト", "ラケット", MatchRules(compounds=0.7)) == 0.0
    assert similarity(("男性", "持つ", "ラケット"), ("人", "持つ", "テニスラケット"), ALL) == pytest.approx(0.49)
    assert similarity(("犬",), ("犬", "白い"), ALL) == 0.0


def test_encoder_grades_tuples_of_any_length() -> None:
    vectors = {"犬": [1, 0], "白い犬": [0.8, 0.6]}
    rules = MatchRules(encoder=lambda texts: np.array([vectors[text] for text in texts], dtype=np.float32))
    score = score_tuples([["犬"]], [[["犬", "白い"]]], rules=rules)
    assert score.f1 == pytest.approx(0.8)
    assert score.pairs == ()  # counted, but "a white dog" is not confirmed by "a dog"
    assert score.missing == (("犬", "白い"),)


def test_a_likeness_is_called_a_match_from_the_threshold_on() -> None:
    vectors = {"皿": [1, 0], "パン": [0.8, 0.6], "うつわ物": [0.95, 0.3122]}

    def encoder(texts: Sequence[str]) -> np.ndarray:
        return np.array([vectors[text] for text in texts], dtype=np.float32)

    score = score_tuples([["皿"]], [[["パン"], ["うつわ物"]]], rules=MatchRules(encoder=encoder))
    assert score.pairs == ((("皿",), ("うつわ物",), pytest.approx(0.95)),)
    assert score.missing == (("パン",),)
    near = score_tuples([["皿"]], [[["パン"]]], rules=MatchRules(encoder=encoder, threshold=0.7))
    assert near.pairs == ((("皿",), ("パン",), pytest.approx(0.8)),)


def test_tuples_are_told_in_the_captions_own_words() -> None:
    pytest.importorskip("sudachipy", reason="SudachiPy is not installed (pip install 'vericap[ja]')")
    score = score_tuples([["キリン"], ["くじら"]], [[["麒麟"], ["つらら"]]], rules=MatchRules(spelling=True))
    assert score.pairs == ((("キリン",), ("麒麟",), 1.0),)
    assert score.candidate == (("キリン",), ("くじら",))
    assert score.missing == (("つらら",),)


def test_spellings_of_one_word_are_one_tuple() -> None:
    pytest.importorskip("sudachipy", reason="SudachiPy is not installed (pip install 'vericap[ja]')")
    for order in itertools.permutations([["キリン"], ["麒麟"], ["きりん"]]):
        assert tuple_set(order, spelling=True) == [("きりん",)]
    assert len(tuple_set([["キリン"], ["麒麟"]])) == 2


def test_a_compound_is_what_its_last_noun_names() -> None:
    pytest.importorskip("sudachipy", reason="SudachiPy is not installed (pip install 'vericap[ja]')")
    heads = MatchRules(synonyms=False, heads=True, spelling=True)
    for one, other, grade in (
        ("テニスラケット", "ラケット", 1.0),
        ("バス", "大型バス", 1.0),
        ("大型バイク", "オートバイ", 1.0),
        ("赤ワイン", "白ワイン", 0.0),
        ("テニスラケット", "テニス", 0.0),
        ("カラ動かす", "動かす", 0.0),
    ):
        assert word_similarity(one, other, heads) == grade, (one, other)


def test_marked_words_are_said_in_plain_japanese() -> None:
    assert phrase(("箱（右上）",)) == "右上の箱"
    assert phrase(("皿（白い）",)) == "白い皿"
    assert phrase(("[PHI]", "カラ移す", "箱（右上）")) == "右上の箱から移す"


def test_tuples_as_phrases() -> None:
    assert phrase(("犬",)) == "犬"
    assert phrase(("犬", "白い")) == "白い犬"
    assert phrase(("男性", "の", "車")) == "男性の車"
    assert phrase(("[PHI]", "取る", "箱")) == "箱を取る"
