"""The image-sentence encoder against loops; CLIPScore with a tiny dual encoder made here."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from safetensors.numpy import save_file

from vericap.core import onnx as sessions
from vericap.core.batch import Batch
from vericap.core.errors import VericapError
from vericap.core.metric import Metric
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.core.statistics import Statistics
from vericap.metrics.clipscore import ClipScore, RefClipScore, harmonic
from vericap.metrics.vse import Vse
from vericap.models import clip, vse
from vericap.models.described import NO_MAP
from vericap.run import photos
from vericap.run.analyses import ClipImages, PhotoRegions, Sentences, VseWeights
from vericap.run.engine import Run
from vericap.run.plan import analysed
from vericap.vision.store import RegionTable

BETTER = {"right": 0.6, "chance": 0.3, "cases": 500}  # of the pointing game


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
    meta = {"name": "tiny", "fingerprint": "f", "text_encoder": "captions", "pointing": {"caption": BETTER}}
    (folder / "meta.json").write_text(json.dumps(meta))
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
        Sample(id="d", candidate="\U0001f600", references=(), image="1"),
        Sample(id="e", candidate="x", references=(), image="3"),
    ]
    batch = Batch.of(samples)
    one = (np.random.default_rng(0).normal(size=(3, 6)), np.tile([0, 0, 1, 1], (3, 1)))
    batch.put(PhotoRegions(), RegionTable.of([one, None, None], fingerprint, {1: "gone"}))
    texts = np.random.default_rng(2).normal(size=(len(batch.texts), 4)).astype(np.float32)
    batch.put(Sentences(encoder=VseWeights().text_encoder), texts / np.linalg.norm(texts, axis=1, keepdims=True))
    return batch


def reader(metric: Metric, batch: Batch) -> Batch:
    """The batch with what a metric declares computed, and nothing else to be read."""
    declared = metric.requires(batch.settings)
    return analysed(batch, *declared).read_by(metric.label, declared)


def test_vse_scores_what_it_can(encoder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    metric = Vse(model=encoder)
    batch = reader(metric, batch_of())
    found = metric.statistics(batch)
    wordless = "the candidate has no word"
    assert found.problems == {1: wordless, 2: "gone", 3: wordless, 4: "the image has no region"}
    assert -1 <= found.values[0, 0] <= 1
    first, *others = metric.explain(batch, [0, 1, 2, 3, 4])
    assert first is not None
    assert others == [None] * 4
    assert not first.heatmaps
    assert first.facts["best_region"] >= first.facts["whole_image"]
    (full,) = metric.explain(batch, [0], full=True)
    assert full is not None
    (drawn,) = full.heatmaps
    assert (drawn.columns, len(drawn.values), len(drawn.boxes)) == (("x",), 3, 3)
    monkeypatch.setitem(batch[VseWeights(encoder)].meta, "pointing", {"caption": {**BETTER, "cases": 10}})
    (full,) = metric.explain(batch, [0], full=True)
    assert full is not None
    assert (full.heatmaps, full.notes) == ((), (NO_MAP,))


def test_vse_refuses_foreign_features(encoder: str) -> None:
    with pytest.raises(VericapError, match="fingerprint other"):
        reader(Vse(model=encoder), batch_of("other"))


def test_other_languages_are_refused() -> None:
    with pytest.raises(VericapError, match="language en"):
        Run([Vse()], Settings(lang="ja"))


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


def clip_scores(metric: Metric, samples: list[Sample], settings: Settings) -> Statistics:
    return Run([metric], settings).score(samples).statistics[metric.label]


def test_clipscore_as_published(clip_folder: Path, tmp_path: Path) -> None:
    Image.new("RGB", (20, 10), (255, 0, 0)).save(tmp_path / "red.png")
    samples = [
        Sample(id="a", candidate="red", references=("red green", "???"), image="red.png"),
        Sample(id="b", candidate="green", references=("green",), image="red.png"),
        Sample(id="c", candidate="red", references=(), image="none.png"),
        Sample(id="d", candidate="...", references=("red",), image="red.png"),
        Sample(id="e", candidate="red", references=("  ",), image="red.png"),
    ]
    settings = Settings(images=tmp_path, cache=tmp_path / "cache")
    plain = clip_scores(ClipScore(model=str(clip_folder)), samples, settings)
    assert plain.values[0, 0] == pytest.approx(2.5)
    assert plain.values[1, 0] == pytest.approx(0.0)
    assert sorted(plain.problems) == [2, 3]
    with_references = clip_scores(RefClipScore(model=str(clip_folder)), samples, settings)
    cosine = 1 / np.sqrt(2)
    assert with_references.values[0, 0] == pytest.approx(2 * 2.5 * cosine / (2.5 + cosine), rel=1e-5)
    assert with_references.values[1, 0] == 0.0
    assert with_references.problems[4] == "no reference to compare with"


def test_a_pair_is_opened_once_and_photos_are_kept(clip_folder: Path, tmp_path: Path) -> None:
    Image.new("RGB", (20, 10), (0, 255, 0)).save(tmp_path / "green.png")
    samples = [Sample(id="a", candidate="green", references=("green",), image="green.png")]
    settings = Settings(images=tmp_path, cache=tmp_path / "cache")
    metrics: list[Metric] = [ClipScore(model=str(clip_folder)), RefClipScore(model=str(clip_folder))]
    assert "model:" + clip_folder.name in metrics[0].signature(Batch.of(samples, settings))
    first = Run(metrics, settings).score(samples)
    opened, decoded = len(sessions.opened), photos.decoded
    again = Run(metrics, settings).score(samples)
    assert (len(sessions.opened), photos.decoded) == (opened, decoded)
    assert again[metrics[1].label] == first[metrics[1].label] > 0


def test_other_weights_have_another_place_in_the_cache(clip_folder: Path, tmp_path: Path) -> None:
    from shutil import copytree

    from vericap.run.runtime import Runtime

    other = copytree(clip_folder, tmp_path / clip_folder.name)
    assert clip.digest(str(other)) == clip.digest(str(clip_folder))
    (other / "text.onnx").write_bytes(b"other")
    runtime = Runtime.of(Settings(cache=tmp_path / "cache"))
    assert ClipImages(str(other)).kind(runtime) != ClipImages(str(clip_folder)).kind(runtime)


def test_clipscore_without_model_says_what_to_bring(tmp_path: Path) -> None:
    samples = [Sample(id="a", candidate="x", image="1")]
    with pytest.raises(VericapError, match="model=FOLDER"):
        clip_scores(ClipScore(), samples, Settings(images=tmp_path))
    with pytest.raises(VericapError, match="neither image"):
        clip_scores(ClipScore(model=str(tmp_path)), samples, Settings(images=tmp_path))


def test_harmonic_mean() -> None:
    assert harmonic(1.0, 0.0) == 0.0
    assert harmonic(2.0, 1.0) == pytest.approx(4 / 3)
