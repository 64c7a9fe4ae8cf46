"""REO and TIGEr: equations against loops, projection identities, directions, problems."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

from vericap.errors import VericapError
from vericap.metrics import reo, tiger, word_meanings
from vericap.metrics.reo_reasons import beyond, residual
from vericap.run.batch import Batch, Settings
from vericap.samples import Sample
from vericap.text.encoder import TokenStates
from vericap.vision.store import Regions

WIDTH, GIVEN = 6, 8


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("scan")
    rng = np.random.default_rng(0)
    weights = {
        "image": rng.normal(size=(WIDTH, GIVEN)),
        "image_bias": rng.normal(size=WIDTH),
        "text": rng.normal(size=(WIDTH, 5)),
        "text_bias": rng.normal(size=WIDTH),
        "whitening": np.eye(WIDTH) + 0.1 * rng.normal(size=(WIDTH, WIDTH)),
    }
    save_file({k: v.astype(np.float32) for k, v in weights.items()}, folder / "scan.safetensors")
    meta = {"name": "tiny", "fingerprint": "f", "words": "states"}
    (folder / "meta.json").write_text(json.dumps(meta))
    return str(folder)


def batch_of(samples: list[Sample], *, fingerprint: str = "f", explain: bool = False, lost: int = -1) -> Batch:
    batch = Batch.of(samples, Settings(explain=explain))
    rng = np.random.default_rng(3)
    images = [
        None if i == lost else (rng.normal(size=(3 + i % 2, GIVEN)), np.tile([0, 0, 1, 1], (3 + i % 2, 1)))
        for i in range(len(batch.image_keys))
    ]
    problems = {lost: "image lost"} if lost >= 0 else {}
    batch.provide("regions", Regions.of(images, fingerprint, problems))
    lengths = [0 if not text.strip() else len(text.split()) + 2 for text in batch.texts]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    total = int(offsets[-1])
    states = np.stack([np.random.default_rng(abs(hash(i)) % 999).normal(size=5) for i in range(total)])
    spans = np.zeros((total, 2), np.int32)
    for text, start in zip(batch.texts, offsets):
        place = 0
        for j, word in enumerate(text.split()):
            place = text.index(word, place)
            spans[start + 1 + j] = place, place + len(word)
    batch.provide("token_states", TokenStates(offsets, states.astype(np.float16), np.zeros(total, np.int32), spans))
    return batch


SAMPLES = [
    Sample(id="a", candidate="a dog runs", references=("the dog is running", "a brown dog"), image="1"),
    Sample(id="b", candidate="two men", references=("men talk",), image="2"),
    Sample(id="c", candidate="a dog runs", references=(), image="2"),
]


def loop(batch: Batch, row: int, kind: str, model_path: str) -> tuple[float, float]:
    """(image, reference) value of one sample, one vector at a time."""
    from vericap.models.scan import load

    scan = load(model_path)
    found = batch.analysis("regions")
    image = batch.images[row]
    regions = scan.regions(found.features[image])[found.mask[image]]
    words = scan.words(batch.texts, batch.analysis("token_states"))

    def contexts(text: int) -> np.ndarray:
        h = words[text]
        s = regions @ h.T
        s = np.where(s > 0, s, 0.1 * s)
        s = s / np.sqrt((s**2).sum(axis=0))
        alpha = np.exp(9 * s)
        return (alpha / alpha.sum(axis=1, keepdims=True)) @ h

    def measure(a: np.ndarray, g: np.ndarray) -> float:
        inverse = scan.whitening.T @ scan.whitening
        if kind == "relevance":
            return float(a @ g / np.linalg.norm(a) / np.linalg.norm(g))
        first, on = (a, g) if kind == "extraness" else (g, a)
        rest = first - (first @ on) / (on @ on) * on
        gap = first - rest
        return float(np.sqrt(gap @ inverse @ gap))

    own = contexts(int(batch.candidates[row]))
    image_value = np.mean([measure(a, v) for a, v in zip(own, regions)])
    others = [np.mean([measure(a, g) for a, g in zip(own, contexts(int(t)))]) for t in batch.references(row)]
    return float(image_value), float(np.mean(others)) if others else float("nan")


@pytest.mark.parametrize("kind", ["relevance", "extraness", "omission"])
def test_equal_to_the_loop(kind: str, model: str) -> None:
    batch = batch_of(SAMPLES)
    made = {"relevance": reo.Relevance, "extraness": reo.Extraness, "omission": reo.Omission}[kind]
    values = made(model=model).statistics(batch)
    for row in range(3):
        image, reference = loop(batch, row, kind, model)
        assert values.columns["image"][row] == pytest.approx(image, rel=1e-4)
        expected = image if row == 2 else (image + reference) / 2
        assert values.values[row, 0] == pytest.approx(expected, rel=1e-4)


def test_truth_is_an_option(model: str) -> None:
    batch = batch_of(SAMPLES)
    image = reo.Relevance(model=model, truth="image").statistics(batch).values[:, 0]
    only = reo.Relevance(model=model, truth="reference").statistics(batch)
    both = reo.Relevance(model=model, truth="both").statistics(batch)
    np.testing.assert_allclose(both.values[:2, 0], (image[:2] + only.values[:2, 0]) / 2, rtol=1e-6)
    assert only.problems == {2: "no references to take as ground truth"}
    assert np.isnan(both.values[2, 0])


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_projection_identities(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, g = rng.normal(size=(2, 5, 7))
    rest = residual(a, g)
    np.testing.assert_allclose((rest * g).sum(axis=-1), 0, atol=1e-9)
    np.testing.assert_allclose(residual(3 * g, g), 0, atol=1e-9)
    np.testing.assert_allclose(rest + reo.projection(a, g), a, atol=1e-12)
    whitening = rng.normal(size=(7, 7))
    found = reo.measures(reo.inner(a, g), reo.lengths(a, whitening), reo.lengths(g, whitening))
    # The distance to the orthogonal part, as the definition has it.
    np.testing.assert_allclose(found["reo-extraness"], np.linalg.norm((a - rest) @ whitening.T, axis=-1), rtol=1e-9)
    missing = g - residual(g, a)
    np.testing.assert_allclose(found["reo-omission"], np.linalg.norm(missing @ whitening.T, axis=-1), rtol=1e-9)
    assert (np.abs(found["reo-relevance"]) <= 1 + 1e-9).all()


def test_bad_rows_are_named_and_the_rest_is_scored(model: str) -> None:
    samples = [
        *SAMPLES,
        Sample(id="d", candidate="  ", references=("x",), image="1"),
        Sample(id="e", candidate="dog", references=("x",), image="3"),
        Sample(id="f", candidate="dog", references=("x",)),
    ]
    batch = batch_of(samples, lost=2)
    found = reo.Relevance(model=model).statistics(batch)
    assert found.problems == {3: "the candidate is empty", 4: "image lost", 5: "no image is named"}
    assert np.isfinite(found.values[:3, 0]).all()


def test_features_of_another_extractor_are_refused(model: str) -> None:
    with pytest.raises(VericapError, match=r"fingerprint other.*tiny.*fingerprint f"):
        reo.Relevance(model=model).statistics(batch_of(SAMPLES, fingerprint="other"))


def test_explanations_name_words_and_regions(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def alone(scan: object, words: list[str], batch: Batch) -> np.ndarray:
        return np.stack([np.random.default_rng(len(word)).normal(size=WIDTH) for word in words])

    monkeypatch.setattr(word_meanings, "alone", alone)  # the made model reads five numbers a word, not the encoder's
    batch = batch_of(SAMPLES, explain=True)
    explanations = reo.Omission(model=model).statistics(batch).explanations or []
    first = explanations[0]
    assert first is not None
    assert first["words"] == ["<mark>", "a", "dog", "runs", "<mark>"]
    assert np.array(first["attention"]).shape == (3, 5)
    np.testing.assert_allclose(np.sum(first["attention"], axis=1), 1, atol=1e-3)
    assert [item["word"] for item in first["extra_words"]] == ["runs"]  # "dog" is said by the references
    assert {item["word"] for item in first["missing_words"]} == {"running", "brown"}
    assert all(set(names) == {"dog", "runs"} for names in first["nearest_to_extra"])
    json.dumps(explanations)
    assert explanations[2] is not None
    assert {item["word"] for item in explanations[2]["extra_words"]} == {"dog", "runs"}  # nothing but the image
    assert "missing_words" not in explanations[2]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_what_is_beyond_several_truths_is_orthogonal_to_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, truths = rng.normal(size=(3, 8)), rng.normal(size=(2, 3, 8))
    rest = beyond(a, np.concatenate([truths, truths[:1]]))  # one of them twice
    np.testing.assert_allclose((rest * truths).sum(axis=-1), 0, atol=1e-9)
    np.testing.assert_allclose(beyond(a, truths[:1]), residual(a, truths[0]), atol=1e-9)
    np.testing.assert_allclose(beyond(truths[0] + 2 * truths[1], truths), 0, atol=1e-9)


def loop_ndcg(candidate: list[float], reference: list[float]) -> float:
    gains = [(x - min(reference)) / (max(reference) - min(reference)) for x in reference]
    order = sorted(range(len(gains)), key=lambda i: -candidate[i])
    found = sum(gains[i] / np.log2(rank + 2) for rank, i in enumerate(order))
    return found / sum(g / np.log2(rank + 2) for rank, g in enumerate(sorted(gains, reverse=True)))


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 20))
def test_tiger_parts_equal_the_loop(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    candidate, reference = rng.normal(size=(2, count))
    assert tiger.ranking(candidate, reference) == pytest.approx(loop_ndcg(list(candidate), list(reference)))
    p, q = np.exp(reference) / np.exp(reference).sum(), np.exp(candidate) / np.exp(candidate).sum()
    distance = sum(a * np.log(a / b) for a, b in zip(p, q))
    distance += np.log(np.linalg.norm(reference) / np.linalg.norm(candidate))
    expected = 1 - 1 / (1 + np.exp(-1.5 * distance))
    assert tiger.weight_distribution(candidate, reference) == pytest.approx(expected)
    assert tiger.ranking(reference, reference) == pytest.approx(1)
    assert tiger.weight_distribution(reference, reference) == pytest.approx(0.5)


def test_tiger_scores_and_names_missing_references(model: str) -> None:
    found = tiger.Tiger(model=model).statistics(batch_of(SAMPLES))
    assert found.problems == {2: "no references"}
    assert ((found.values[:2, 0] > 0) & (found.values[:2, 0] < 1)).all()
    np.testing.assert_allclose(found.values[:2, 0], (found.columns["rrs"] + found.columns["wds"])[:2] / 2)


def test_no_model_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(VericapError, match="vericap train scan"):
        reo.Relevance(model=str(tmp_path)).statistics(batch_of(SAMPLES))
