"""The image-sentence encoder against loops; CLIPScore with a tiny dual encoder made here."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from safetensors.numpy import save_file

from vericap.errors import VericapError
from vericap.metrics.vse import ClipScore, RefClipScore, Vse, harmonic
from vericap.models import vse
from vericap.run.batch import Batch, Settings
from vericap.samples import Sample
from vericap.vision.store import Regions


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("vse")
    rng = np.random.default_rng(0)
    shapes = {
        "linear": (4, 6),
        "linear_bias": (4,),
        "hidden": (5, 6),
        "hidden_bias": (5,),
        "output": (4, 5),
        "output_bias": (4,),
    }
    weights = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    save_file({**weights, "sharpness": np.array(7.0, np.float32)}, folder / "vse.safetensors")
    (folder / "meta.json").write_text(json.dumps({"name": "tiny", "fingerprint": "f"}))
    return str(folder)


def test_score_equals_the_loop(encoder: str) -> None:
    model = vse.load(encoder)
    rng = np.random.default_rng(1)
    features = rng.normal(size=(2, 5, 6)).astype(np.float32)
    mask = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], bool)
    texts = rng.normal(size=(2, 4)).astype(np.float32)
    texts /= np.linalg.norm(texts, axis=1, keepdims=True)
    found = model.pairs(model.embed(features), mask, np.array([0, 1]), texts)
    for row in range(2):
        z = []
        for u in features[row][mask[row]]:
            n = (u - u.mean()) / np.sqrt(u.var() + 1e-5)
            w = model.weights
            raw = w["linear"] @ n + w["linear_bias"] + w["output_bias"]
            raw = raw + w["output"] @ np.maximum(w["hidden"] @ n + w["hidden_bias"], 0)
            z.append(raw / np.linalg.norm(raw))
        cosines = [float(v @ texts[row]) for v in z]
        e = [np.exp(7.0 * c) for c in cosines[1:]]
        windows = sum(a * c for a, c in zip(e, cosines[1:])) / sum(e)
        assert found[row] == pytest.approx(0.5 * cosines[0] + 0.5 * windows, abs=1e-5)


def test_matrix_equals_pairs(encoder: str) -> None:
    model = vse.load(encoder)
    rng = np.random.default_rng(3)
    z = model.embed(rng.normal(size=(3, 5, 6)).astype(np.float32))
    mask = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 0, 0, 0, 0]], bool)
    texts = rng.normal(size=(4, 4)).astype(np.float32)
    found = model.matrix(z, mask, texts)
    expected = model.pairs(z, mask, np.repeat(np.arange(3), 4), np.tile(texts, (3, 1))).reshape(3, 4)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def batch_of(fingerprint: str = "f") -> Batch:
    samples = [
        Sample(id="a", candidate="x", references=(), image="1"),
        Sample(id="b", candidate="", references=(), image="1"),
        Sample(id="c", candidate="y", references=(), image="2"),
    ]
    batch = Batch.of(samples, Settings(explain=True))
    one = (np.random.default_rng(0).normal(size=(3, 6)), np.tile([0, 0, 1, 1], (3, 1)))
    batch.provide("regions", Regions.of([one, None], fingerprint, {1: "gone"}))
    texts = np.random.default_rng(2).normal(size=(3, 4)).astype(np.float32)
    batch.provide("sentences", texts / np.linalg.norm(texts, axis=1, keepdims=True))
    return batch


def test_vse_scores_what_it_can(encoder: str) -> None:
    found = Vse(model=encoder).statistics(batch_of())
    assert found.problems == {1: "the candidate is empty", 2: "gone"}
    assert -1 <= found.values[0, 0] <= 1
    assert found.explanations is not None
    assert len(found.explanations[0]["cosines"]) == 3  # type: ignore[index]


def test_vse_refuses_foreign_features(encoder: str) -> None:
    with pytest.raises(VericapError, match="fingerprint other"):
        Vse(model=encoder).statistics(batch_of("other"))


@pytest.fixture(scope="module")
def clip_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dual encoder of two matrix products: mean colour against a bag of word pieces."""
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto, helper, numpy_helper
    from tokenizers import Tokenizer, models, pre_tokenizers

    folder = tmp_path_factory.mktemp("clip")
    words = ["[UNK]", "red", "green", "blue", "A", "photo", "depicts", "[PAD]"]
    tokenizer = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {"crop_size": 8, "image_mean": [0, 0, 0], "image_std": [1, 1, 1]}
    (folder / "preprocessor_config.json").write_text(json.dumps(config))
    table = np.zeros((8, 3), np.float32)
    table[1:4] = np.eye(3)

    def write(name: str, nodes: list, inputs: list, constants: list) -> None:
        out = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])]
        graph = helper.make_graph(nodes, name, inputs, out, constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        onnx.save(model, str(folder / f"{name}.onnx"))

    pixels = helper.make_tensor_value_info("pixel_values", TensorProto.FLOAT, ["n", 3, 8, 8])
    write("image", [helper.make_node("ReduceMean", ["pixel_values"], ["y"], axes=[2, 3], keepdims=0)], [pixels], [])
    ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["n", "t"])
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["e"]),
        helper.make_node("ReduceMean", ["e"], ["y"], axes=[1], keepdims=0),
    ]
    write("text", nodes, [ids], [numpy_helper.from_array(table, "table")])
    return folder


def test_clipscore_as_published(clip_folder: Path, tmp_path: Path) -> None:
    Image.new("RGB", (20, 10), (255, 0, 0)).save(tmp_path / "red.png")
    samples = [
        Sample(id="a", candidate="red", references=("red green",), image="red.png"),
        Sample(id="b", candidate="green", references=("green",), image="red.png"),
        Sample(id="c", candidate="red", references=(), image="none.png"),
    ]
    batch = Batch.of(samples, Settings(images=tmp_path))
    plain = ClipScore(model=str(clip_folder)).statistics(batch)
    assert plain.values[0, 0] == pytest.approx(2.5)
    assert plain.values[1, 0] == pytest.approx(0.0)
    assert list(plain.problems) == [2]
    with_references = RefClipScore(model=str(clip_folder)).statistics(batch)
    cosine = 1 / np.sqrt(2)
    assert with_references.values[0, 0] == pytest.approx(2 * 2.5 * cosine / (2.5 + cosine), rel=1e-5)
    assert with_references.values[1, 0] == 0.0


def test_clipscore_without_model_says_what_to_bring() -> None:
    with pytest.raises(VericapError, match="model=FOLDER"):
        ClipScore().statistics(Batch.of([Sample(id="a", candidate="x", image="1")]))


def test_harmonic_mean() -> None:
    assert harmonic(1.0, 0.0) == 0.0
    assert harmonic(2.0, 1.0) == pytest.approx(4 / 3)
