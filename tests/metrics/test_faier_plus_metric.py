"""FAIEr-plus as a metric: references in any order, batches of any size, odd input, reasons."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from vericap.errors import VericapError
from vericap.metrics.faier_plus import FaierPlus, Scorer
from vericap.models.faier_plus import LEVELS
from vericap.run.batch import Batch, Settings
from vericap.samples import Sample
from vericap.vision.regions import pyramid
from vericap.vision.store import Regions

D = 384
CAPTIONS = (
    "a man rides a brown horse on the beach",
    "a young man on a horse near the sea",
    "two dogs play with a red frisbee in the snow",
    "a cat",
)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A network that leaves everything as the encoders give it."""
    folder = tmp_path_factory.mktemp("model")
    eye = np.eye(D, dtype=np.float32)
    weights: dict[str, np.ndarray] = {
        "offset": np.array([1.0, 0.5, -1.0, 0.2], np.float32),
        "mix": 0.3 * eye,
        "sharpness": np.array(2.0, np.float32),
        "calibration": np.array([[[1.0, 0.0]] * 3, [[0.9, 0.1]] * 3, [[0.8, 0.0]] * 3], np.float32),
        "claims": np.array([[1.0, 0.05], [0.9, 0.1], [0.8, 0.0]], np.float32),
    }
    for level in LEVELS:
        weights[f"{level}.linear"], weights[f"{level}.bias"] = eye, np.zeros(D, np.float32)
        weights[f"{level}.hidden"], weights[f"{level}.hidden_bias"] = (
            np.zeros((4, D), np.float32),
            np.zeros(4, np.float32),
        )
        weights[f"{level}.output"] = np.zeros((D, 4), np.float32)
        weights[f"temperature.{level}"], weights[f"gate.{level}"] = np.array(1.5, np.float32), np.array(0.5, np.float32)
        if level != "sentence":
            weights[f"text.{level}"], weights[f"text.{level}_bias"] = eye, np.zeros(D, np.float32)
            weights[f"importance.{level}"] = np.linspace(-0.1, 0.1, D, dtype=np.float32)
    save_file(weights, folder / "faier_plus.safetensors")
    meta = {"name": "tiny", "fingerprint": "made", "encoder": "default"}
    (folder / "meta.json").write_text(json.dumps(meta))
    return str(folder)


def batch_of(samples: list[Sample], *, explain: bool = False, fingerprint: str = "made") -> Batch:
    batch = Batch.of(samples, Settings(cache=None, explain=explain))
    boxes = pyramid()
    items = []
    for key in batch.image_keys:
        rng = np.random.default_rng(sum(map(ord, key)))
        count = 5 if key == "few" else len(boxes)
        items.append((rng.random((count, 1280)).astype(np.float32), boxes[:count]))
    batch.provide("regions", Regions.of(items, fingerprint, {}))
    return batch


def scores(model: str, samples: list[Sample], **options: str) -> np.ndarray:
    return FaierPlus(model=model, **options).statistics(batch_of(samples)).values[:, 0]


def test_the_order_of_references_does_not_matter(model: str) -> None:
    one = Sample("1", CAPTIONS[0], CAPTIONS[1:], "x")
    other = Sample("1", CAPTIONS[0], CAPTIONS[:0:-1], "x")
    np.testing.assert_allclose(scores(model, [one]), scores(model, [other]), atol=1e-6)


def test_a_sample_is_judged_alike_in_any_batch(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = [
        Sample(str(i), text, refs, image)
        for i, (text, refs, image) in enumerate(
            [
                (CAPTIONS[0], CAPTIONS[1:3], "x"),
                (CAPTIONS[1], (), "x"),
                (CAPTIONS[2], CAPTIONS[:1], "few"),
                (CAPTIONS[3], CAPTIONS[:3], "y"),
            ]
        )
    ]
    together = scores(model, samples)
    alone = [scores(model, [sample])[0] for sample in samples]
    np.testing.assert_allclose(together, alone, atol=1e-5)
    for limit in ("_PIECES", "_CASES", "_TOGETHER"):
        with monkeypatch.context() as patch:
            patch.setattr(f"vericap.metrics.faier_plus.{limit}", 1)
            np.testing.assert_allclose(scores(model, samples), together, atol=1e-5)


def test_without_references_it_is_fidelity(model: str) -> None:
    sample = Sample("1", CAPTIONS[0], CAPTIONS[1:], "x")
    found = FaierPlus(model=model).statistics(batch_of([sample]))
    alone = scores(model, [sample], references="none")
    np.testing.assert_allclose(found.columns["fidelity"], alone, atol=1e-6)
    np.testing.assert_allclose(found.columns["gain"], found.values[:, 0] - alone, atol=1e-6)
    np.testing.assert_allclose(scores(model, [Sample("1", CAPTIONS[0], (), "x")]), alone, atol=1e-6)


def test_saying_what_a_reference_says_is_adequate(model: str) -> None:
    same = Sample("1", CAPTIONS[0], (CAPTIONS[0],), "x")
    other = Sample("2", CAPTIONS[2], (CAPTIONS[0],), "x")
    adequacy = FaierPlus(model=model).statistics(batch_of([same, other])).columns["adequacy"]
    np.testing.assert_allclose(adequacy[0], 0.8, atol=1e-3)  # every cosine is 1, and the calibration says 0.8
    assert adequacy[1] < adequacy[0] - 0.05


def test_odd_input(model: str) -> None:
    many = tuple(f"{CAPTIONS[k % 4]} number {k}" for k in range(50))
    samples = [
        Sample("1", "", CAPTIONS[:1], "x"),
        Sample("2", "...", CAPTIONS[:1], "x"),
        Sample("3", CAPTIONS[0], CAPTIONS[:1], None),
        Sample("4", " ".join([CAPTIONS[2]] * 20), many, "x"),
        Sample("5", CAPTIONS[3], ("", "!!"), "x"),
    ]
    found = FaierPlus(model=model).statistics(batch_of(samples))
    assert set(found.problems) == {0, 1, 2}
    assert np.isnan(found.values[:3, 0]).all()
    assert np.isfinite(found.values[3:, 0]).all()
    # References without a word are none.
    np.testing.assert_allclose(found.values[4, 0], scores(model, [Sample("5", CAPTIONS[3], (), "x")])[0], atol=1e-6)


def test_an_image_without_regions_is_a_problem(model: str) -> None:
    batch = batch_of([Sample("1", CAPTIONS[0], (), "x"), Sample("2", CAPTIONS[0], (), "y")])
    batch.analysis("regions").mask[1] = False
    found = FaierPlus(model=model).statistics(batch)
    assert set(found.problems) == {1}
    matrix = Scorer(batch, model, references=False).matrix()
    assert np.isneginf(matrix[1]).all()
    np.testing.assert_allclose(matrix[0], found.values[0], atol=1e-6)


def test_other_features_are_refused(model: str) -> None:
    with pytest.raises(VericapError, match="tiny"):
        FaierPlus(model=model).statistics(batch_of([Sample("1", CAPTIONS[0], (), "x")], fingerprint="other"))


def test_a_damaged_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "faier_plus.safetensors").write_bytes(b"\0" * 40)
    (tmp_path / "meta.json").write_text("{}")
    with pytest.raises(VericapError, match="faier_plus"):
        FaierPlus(model=str(tmp_path)).statistics(batch_of([Sample("1", CAPTIONS[0], (), "x")]))


def test_reasons(model: str) -> None:
    sample = Sample("1", CAPTIONS[0], CAPTIONS[1:3], "few")
    found = FaierPlus(model=model).statistics(batch_of([sample, Sample("2", "cats", (), "few")], explain=True))
    assert found.explanations is not None
    first, second = found.explanations
    assert first is not None
    assert second is not None
    assert first["words"] == CAPTIONS[0].split()
    matrix = np.array(first["matrix"])
    assert matrix.shape == (5, len(first["words"]))
    assert len(first["boxes"]) == 5
    np.testing.assert_allclose(matrix.max(axis=0), first["word_scores"], atol=1e-4)
    for reference, text in zip(first["references"], CAPTIONS[1:3]):
        assert reference["words"] == text.split()
        np.testing.assert_allclose(np.array(reference["attention"]).sum(axis=1), 1.0, atol=1e-2)
    assert "note" in second
    assert "references" not in second
    assert {"man", "brown horse", "man ride brown horse"} <= {claim["claim"] for claim in first["claims"]}
    json.dumps(found.explanations)


def test_the_matrix_holds_every_pair(model: str) -> None:
    samples = [Sample(str(i), text, (), image) for i, (text, image) in enumerate(zip(CAPTIONS, ("x", "few", "x", "y")))]
    batch = batch_of(samples)
    found = Scorer(batch, model, references=False).matrix(together=3)
    assert found.shape == (3, 4)
    own = found[batch.images, batch.candidates]
    np.testing.assert_allclose(own, scores(model, samples), atol=1e-5)
