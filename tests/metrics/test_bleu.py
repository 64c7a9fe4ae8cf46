"""BLEU equals the COCO tool's (golden_coco.json) and keeps its invariants."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

sys.path.insert(0, str(Path(__file__).parent))
from coco_helpers import GOLDEN, Pair, batch_of, pairs, scores, statistics

from vericap.core.samples import Sample
from vericap.metrics import registry
from vericap.run.analyses import BleuCounts
from vericap.run.engine import Run
from vericap.run.plan import analysed

NAMES = ["bleu-1", "bleu-2", "bleu-3", "bleu-4"]


@pytest.mark.parametrize("pure", ["0", "1"])
@pytest.mark.parametrize("name", NAMES)
def test_golden(name: str, pure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERICAP_PURE_PYTHON", pure)
    corpus, captions = scores(name, GOLDEN["pairs"])
    np.testing.assert_allclose(captions, GOLDEN["scores"][name]["captions"], rtol=0, atol=1e-9)
    assert corpus == pytest.approx(GOLDEN["scores"][name]["corpus"], abs=1e-9)


@settings(max_examples=50, deadline=None)
@given(pairs)
def test_twins_agree(samples: list[Pair]) -> None:
    compiled = analysed(batch_of(samples), BleuCounts())[BleuCounts()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VERICAP_PURE_PYTHON", "1")
        plain = analysed(batch_of(samples), BleuCounts())[BleuCounts()]
    np.testing.assert_array_equal(compiled, plain)


@settings(max_examples=50, deadline=None)
@given(pairs)
def test_invariants(samples: list[Pair]) -> None:
    _, captions = scores("bleu-4", samples)
    assert ((captions >= 0) & (captions <= 1 + 1e-9)).all()
    _, turned = scores("bleu-4", [(candidate, references[::-1]) for candidate, references in samples])
    np.testing.assert_array_equal(captions, turned)
    alone = [scores("bleu-4", [sample])[1][0] for sample in samples]
    np.testing.assert_array_equal(captions, alone)


def test_identity_and_brevity() -> None:
    text = "a man rides a horse"
    assert scores("bleu-4", [(text, [text])])[0] == pytest.approx(1.0)
    short, whole = scores("bleu-1", [("a man", [text])])[0], scores("bleu-1", [(text, [text])])[0]
    assert short == pytest.approx(np.exp(1 - 5 / 2), rel=1e-6)
    assert short < whole


def test_corpus_comes_from_summed_counts_over_shards() -> None:
    metric = registry.make("bleu-4")
    whole = statistics(metric, GOLDEN["pairs"]).values
    parts = [statistics(metric, GOLDEN["pairs"][i : i + 5]).values for i in range(0, 12, 5)]
    np.testing.assert_array_equal(whole, np.concatenate(parts))


def test_sample_without_references_has_a_reason() -> None:
    found = statistics(registry.make("bleu-2"), [("a dog", []), ("a dog", ["a dog"])])
    assert list(found.problems) == [0]
    assert np.isnan(found.values[0]).all()
    assert np.isfinite(found.values[1]).all()


def test_reasons_name_shared_words_and_counts() -> None:
    sample = Sample("1", "A man isn't riding, he walks.", ("a man walks", "is a man riding?"))
    (found,) = Run([registry.make("bleu-2")]).explain([sample])["bleu-2"]
    assert found is not None
    support = {word.text: word.support for word in found.words}
    assert support == {"A": 1.0, "man": 1.0, "isn't": 0.0, "riding": 1.0, "he": 0.0, "walks": 1.0}
    assert [sample.candidate[word.start : word.end] for word in found.words] == [word.text for word in found.words]
    assert found.facts == {"matched": [5, 1], "ngrams": [7, 6], "length": 7, "reference_length": 4}
    assert Run([registry.make("bleu-2")]).explain([Sample("2", "a dog")])["bleu-2"] == [None]
