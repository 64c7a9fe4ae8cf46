"""Causes of disagreement as in the paper's Table 7, on pairs written for each."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("ja_ginza", reason="ja_ginza is not installed (pip install 'vericap[ja]')")

from vericap.graphs import japanese
from vericap.meta.evaluation import evaluate
from vericap.meta.failure_cases import failures
from vericap.meta.japanese_causes import CAUSES, FOCUS, GRANULARITY, MORPHEMES, OTHERS, RATING, cause, overlap
from vericap.meta.judgements import Ratings

CASES = [
    ("男性が歩いている", "人が歩いている", -0.6, GRANULARITY),
    ("プードルが寝ている", "犬が寝ている", -0.6, GRANULARITY),
    ("テニスラケットがある", "テニスをしている", -0.6, MORPHEMES),
    ("女性が公園で本を読んでいる", "公園のベンチのそばに花が咲いている", -0.6, FOCUS),
    ("犬が芝生を走っている", "犬が芝生を走っています", 0.6, RATING),
    ("皿が割れている", "飛行機が飛んでいる", -0.9, RATING),
    ("猫が箱に入っている", "犬が箱に入っている", 0.6, OTHERS),
]


@pytest.mark.parametrize(("candidate", "reference", "gap", "expected"), CASES)
def test_cause(candidate: str, reference: str, gap: float, expected: str) -> None:
    assert cause(candidate, [reference], japanese.parse_many([candidate, reference]), gap) == expected


def test_overlap_is_of_base_forms() -> None:
    assert overlap("犬が走っている", "犬は走る") == 1.0
    assert overlap("犬", "猫") == 0.0
    assert overlap("", "") == 0.0


def test_failures_of_japanese_data_have_these_causes() -> None:
    data = Ratings(
        name="pairs",
        candidates=[one for one, *_ in CASES],
        references=[(other,) for _, other, *_ in CASES],
        ratings=np.array([5.0, 5, 5, 5, 0, 5, 0]),
        scale=(0.0, 5.0),
        images=[str(place) for place in range(len(CASES))],
        ids=[str(place) for place in range(len(CASES))],
        lang="ja",
    )
    found = failures(evaluate(data, ["jaspice"], resamples=0), "jaspice", theta=0.4)
    assert found
    assert {case.cause for case in found} <= set(CAUSES)
    assert next(case.cause for case in found if case.id == "0") == GRANULARITY
