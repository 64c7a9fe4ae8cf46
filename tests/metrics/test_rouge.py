"""ROUGE-L equals the COCO tool's (golden_coco.json) and keeps its invariants."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))
from coco_helpers import GOLDEN, Pair, pairs, scores, statistics

from vericap.metrics import registry
from vericap.text.ngrams_python import lcs


@pytest.mark.parametrize("pure", ["0", "1"])
def test_golden(pure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERICAP_PURE_PYTHON", pure)
    corpus, captions = scores("rouge-l", GOLDEN["pairs"])
    np.testing.assert_allclose(captions, GOLDEN["scores"]["rouge-l"]["captions"], rtol=0, atol=1e-9)
    assert corpus == pytest.approx(GOLDEN["scores"]["rouge-l"]["corpus"], abs=1e-9)


@settings(max_examples=50, deadline=None)
@given(pairs)
def test_twins_agree(samples: list[Pair]) -> None:
    compiled = scores("rouge-l", samples)[1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VERICAP_PURE_PYTHON", "1")
        np.testing.assert_array_equal(compiled, scores("rouge-l", samples)[1])


@given(st.lists(st.integers(0, 3), max_size=12), st.lists(st.integers(0, 3), max_size=12))
def test_common_subsequence_by_definition(first: list[int], second: list[int]) -> None:
    table = [[0] * (len(second) + 1) for _ in range(len(first) + 1)]
    for i, x in enumerate(first):
        for j, y in enumerate(second):
            table[i + 1][j + 1] = table[i][j] + 1 if x == y else max(table[i][j + 1], table[i + 1][j])
    assert lcs(first, second) == table[-1][-1]


@settings(max_examples=50, deadline=None)
@given(pairs)
def test_invariants(samples: list[Pair]) -> None:
    _, captions = scores("rouge-l", samples)
    assert ((captions >= 0) & (captions <= 1 + 1e-12)).all()
    _, turned = scores("rouge-l", [(candidate, references[::-1]) for candidate, references in samples])
    np.testing.assert_array_equal(captions, turned)
    np.testing.assert_array_equal(captions, [scores("rouge-l", [sample])[1][0] for sample in samples])


def test_empty_captions_score_as_in_the_tool() -> None:
    assert scores("rouge-l", [("", [""])])[0] == 1.0
    assert scores("rouge-l", [("", ["a dog"])])[0] == 0.0


def test_option_and_missing_references() -> None:
    samples = [("a dog", ["a dog runs"])]
    assert scores("rouge-l:beta=1", samples)[0] == pytest.approx(2 * 1 * (2 / 3) / (1 + 2 / 3))
    found = statistics(registry.make("rouge-l"), [("a", []), ("a", ["a"]), ("b", [])])
    assert list(found.problems) == [0, 2]
    assert found.values[1, 0] == pytest.approx(1.0)
