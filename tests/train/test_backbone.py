"""The backbone's torch part against the ONNX it becomes, and a tiny training from end to end."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")

from vericap.core import onnx, shipped  # noqa: E402
from vericap.core.errors import InputError  # noqa: E402
from vericap.models import vse  # noqa: E402
from vericap.train import losses  # noqa: E402
from vericap.train.backbone import lite, onnx_files, store, training  # noqa: E402
from vericap.train.backbone.maps import lower_maps  # noqa: E402
from vericap.train.backbone.network import BackboneModule, UpperBlocks  # noqa: E402
from vericap.train.claims import ClaimTable, ClaimTensors  # noqa: E402
from vericap.train.data import Captioned, Draw, coco, flickr8k  # noqa: E402
from vericap.train.trainer import TrainPlan  # noqa: E402
from vericap.train.vse.network import VseModule  # noqa: E402
from vericap.train.vse.training import VseOptions, VseSource, VseTask, claimed, train_encoder  # noqa: E402
from vericap.vision.regions import Extractor, pixels  # noqa: E402
from vericap.vision.store import FeatureStore  # noqa: E402

FEATURES = {"features": {"fingerprint": "f", "width": 1280, "regions": 5}, "text_encoder": "captions"}


def layer(rng: np.random.Generator, out: int, given: int, kernel: int) -> lite.Layer:
    weight = rng.normal(size=(out, given, kernel, kernel)) / np.sqrt(given * kernel * kernel)
    return weight.astype(np.float32), (0.1 * rng.normal(size=out)).astype(np.float32)


def tiny_network() -> lite.LiteNetwork:
    """The real block layout with few channels; only the cut and the head have their true widths."""
    rng = np.random.default_rng(0)
    strides = [first if i == 0 else 1 for count, first in lite.STAGES for i in range(count)]
    widths = [8] * 14 + [120] + [16] * 6
    blocks, given = [], 8
    for stride, width in zip(strides, widths):
        middle = 2 * given
        expand, depthwise = layer(rng, middle, given, 1), layer(rng, middle, 1, 5 if stride == 2 else 3)
        blocks.append(lite.ResidualBlock(stride, expand, depthwise, layer(rng, width, middle, 1)))
        given = width
    return lite.LiteNetwork(layer(rng, 8, 3, 3), blocks, layer(rng, 1280, 16, 1), source="tiny")


def test_upper_part_equals_its_export(tmp_path: Path) -> None:
    network = tiny_network()
    upper = UpperBlocks(network)
    with torch.no_grad():
        for parameter in upper.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    onnx_files.export(upper.write(network), tmp_path / "upper.onnx", first=lite.CUT)
    x = np.random.default_rng(1).normal(size=(2, 120, 16, 16)).astype(np.float32)
    (expected,) = onnx.session(tmp_path / "upper.onnx").run(None, {"x": x})
    found = upper(torch.from_numpy(x.transpose(0, 2, 3, 1).copy())).detach().numpy()
    np.testing.assert_allclose(found.transpose(0, 3, 1, 2), expected, atol=1e-4)


def test_the_joined_network_in_8_bits_stays_close(tmp_path: Path) -> None:
    network = tiny_network()
    rng = np.random.default_rng(1)
    images = [rng.uniform(-1, 1, size=(1, 3, 64, 64)).astype(np.float32) for _ in range(6)]
    lower, upper, whole, part = (tmp_path / f"{name}.onnx" for name in ("lower", "upper", "whole", "part"))
    onnx_files.export(network, tmp_path / "full.onnx")
    onnx_files.quantised(network, lower, images)
    session = onnx.session(lower)
    maps = [session.run(None, {"x": image})[0] for image in images]
    onnx_files.quantised(network, upper, maps, first=lite.CUT, last=None)
    onnx_files.join(lower, upper, whole)
    full, small = (onnx.session(tmp_path / f"{n}.onnx").run(None, {"x": images[0]})[0] for n in ("full", "whole"))
    assert np.corrcoef(full.ravel(), small.ravel())[0, 1] > 0.98
    onnx_files.upper_part(whole, part)
    session = onnx.session(part)
    (again,) = session.run(None, {session.get_inputs()[0].name: maps[0]})
    np.testing.assert_allclose(again, small, atol=1e-5)  # the part is the whole's own arithmetic


def test_training_writes_a_usable_encoder(tmp_path: Path) -> None:
    network = tiny_network()
    rng = np.random.default_rng(0)
    texts = rng.normal(size=(24, 5, 384))
    texts /= np.linalg.norm(texts, axis=-1, keepdims=True)
    data = Captioned([str(i) for i in range(24)], [["x"] * 5] * 24)
    colours = rng.integers(0, 255, size=(24, 3))

    def photos(key: str) -> Image.Image:
        return Image.new("RGB", (40, 30), tuple(int(c) for c in colours[int(key)]))

    options = VseOptions(batch=12, extra=4, pool=20, near=10, size=64, photo_size=64, hidden=8)
    lower = tmp_path / "lower.onnx"
    onnx_files.quantised(network, lower, [pixels(photos(str(i)), 64) for i in range(4)])
    maps = lower_maps(data, photos, tmp_path / "maps.npy", lower, size=64)
    again = lower_maps(data, photos, tmp_path / "maps.npy", lower, size=64)
    np.testing.assert_array_equal(maps, again)
    source = VseSource(maps, texts.astype(np.float16))
    plan = TrainPlan(steps=4, warmup=1, validate=2, threads=1)
    out = tmp_path / "out"
    more = {"plan": plan, "options": options, "network": network, "lower": lower, "quiet": True}
    training.train(source, source, source, out, **more)
    encoder = vse.load(str(out / "vse"))
    extractor = Extractor(out / "backbone" / "backbone.onnx", size=64)
    features, _ = extractor.regions(photos("3"))
    assert encoder.embed(features).shape == (14, 384)
    assert encoder.fingerprint == extractor.fingerprint
    stored = tmp_path / "store"
    store.write(out / "backbone" / "backbone.onnx", [(data.keys, maps)], stored, threads=1)
    kept = FeatureStore(stored)
    assert kept.fingerprint == extractor.fingerprint
    np.testing.assert_allclose(np.asarray(kept.get("3")[0], np.float32), features, atol=0.05)
    begun = training.train(source, None, source, tmp_path / "b", start=out, **more)
    assert begun["before"]["steps"] in (2, 4)
    shutil.copytree(out, tmp_path / "written", ignore=shutil.ignore_patterns("*.pt"))
    model, again = (BackboneModule(network, options.hidden) for _ in range(2))
    training.begin_with(model, network, out)
    training.begin_with(again, network, tmp_path / "written")
    x = torch.from_numpy(np.asarray(maps, np.float32))
    torch.testing.assert_close(model(x), again(x), atol=0.02, rtol=0)  # weights of 8 bits
    with pytest.raises(InputError, match="no finished training"):
        training.begin_with(model, network, tmp_path)
    meta = json.loads((out / "backbone" / "meta.json").read_text())
    assert meta["files"]["backbone.onnx"] == shipped.sha256(out / "backbone" / "backbone.onnx")


def test_the_encoder_learns_from_claims(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)

    def unit(x: np.ndarray) -> np.ndarray:
        return x / np.linalg.norm(x, axis=-1, keepdims=True)

    def source(images: int) -> VseSource:
        counts = rng.integers(0, 4, size=images * 5)
        phrases = rng.integers(0, 30, size=int(counts.sum()))
        table = unit(rng.normal(size=(30, 384))).astype(np.float16)
        said = ClaimTable(table, np.concatenate([[0], np.cumsum(counts)]), phrases, np.ones(len(phrases), np.float32))
        return VseSource(rng.normal(size=(images, 5, 1280)), unit(rng.normal(size=(images, 5, 384))), said)

    main, extra = source(20), source(16)
    options = VseOptions(batch=12, extra=4, pool=40, near=20, hidden=8, mirror=False, teacher="claims")
    task = VseTask(VseModule(1280, 384, options.hidden), main, extra, main, options, 0)
    captions = torch.from_numpy(main.texts[:6]).float()
    near, said = task._near(captions, np.random.default_rng(1))
    assert sum(len(part.counts) for part in said) == len(near) == 5
    own = torch.zeros(6, 1, dtype=torch.long)
    first = main.claims.of_images(np.arange(6))
    candidates, target = claimed(captions, near, ClaimTensors.joined([first, *said]), own)
    assert candidates.shape == (11, 384)
    assert target.shape == (6, 11)
    sentences = captions.mean(dim=1) @ near.t()
    rows, columns = np.repeat(np.arange(6), 6), np.tile(np.arange(6) * 5, 6)
    told = main.claims.graded(rows, columns, 0).reshape(6, 6)
    mixed = 2 * target[:, :6].numpy() - (losses.held_out(losses.cosines(captions, own), own, torch.ones(6, 5))).numpy()
    assert np.corrcoef(mixed.ravel(), told.ravel())[0, 1] == pytest.approx(1.0, abs=1e-4)
    assert not torch.allclose(target[:, 6:], sentences)
    plan = TrainPlan(steps=4, warmup=1, validate=2, threads=1)
    trained = train_encoder(main, extra, main, tmp_path, plan=plan, options=options, **FEATURES, quiet=True)
    assert trained["options"]["teacher"] == "claims"
    assert np.isfinite(trained["agreement"])


def test_data_readers_leave_out_what_must_not_be_trained_on(tmp_path: Path) -> None:
    rows = [{"image_id": i, "caption": f"c{k}"} for i in (1, 2, 3) for k in range(5 if i != 3 else 4)]
    (tmp_path / "c.json").write_text(json.dumps({"annotations": rows}))
    (tmp_path / "never.txt").write_text("2\n")
    assert coco([tmp_path / "c.json"], never=tmp_path / "never.txt").keys == ["1", "3"]
    (tmp_path / "Flickr8k.token.txt").write_text("\n".join(f"a.jpg#{k}\tcaption {k} ." for k in range(5)))
    (tmp_path / "Flickr_8k.devImages.txt").write_text("a.jpg\n")
    assert flickr8k(tmp_path, "dev").captions == [[f"caption {k} ." for k in range(5)]]


def test_batches_pass_over_everything() -> None:
    draw = Draw(10, 3, seed=0)
    seen = np.concatenate([draw.batch(step) for step in range(3)])
    assert len(set(seen.tolist())) == 9
    np.testing.assert_array_equal(draw.batch(5), Draw(10, 3, seed=0).batch(5))
