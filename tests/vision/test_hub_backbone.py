"""Backbones through transformers, on tiny random models made here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from vericap.cli import main
from vericap.core.errors import VericapError
from vericap.vision.hub_backbone import HubBackbone
from vericap.vision.regions import Extractor
from vericap.vision.store import FeatureStore

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")


def saved(folder: Path, model: object, size: int = 32) -> Path:
    torch.manual_seed(0)
    model.save_pretrained(folder)  # type: ignore[attr-defined]
    processor = transformers.ViTImageProcessor(size={"height": size, "width": size}, image_mean=[0.5] * 3)
    processor.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def vit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    config = transformers.ViTConfig(
        hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8, image_size=32, patch_size=8
    )
    return saved(tmp_path_factory.mktemp("vit"), transformers.ViTModel(config, add_pooling_layer=False))


@pytest.fixture(scope="module")
def resnet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    config = transformers.ResNetConfig(embedding_size=4, hidden_sizes=[4, 6], depths=[1, 1], layer_type="basic")
    return saved(tmp_path_factory.mktemp("resnet"), transformers.ResNetModel(config))


def photo() -> Image.Image:
    return Image.fromarray(np.random.default_rng(0).integers(0, 255, (40, 60, 3), dtype=np.uint8))


def test_patches_without_the_class_token(vit: Path) -> None:
    backbone = HubBackbone(str(vit))
    found = backbone.map(photo())
    assert found.shape == (4, 4, 8)
    model = transformers.ViTModel.from_pretrained(vit, add_pooling_layer=False).eval()
    square = np.asarray(photo().resize((32, 32), Image.Resampling.BICUBIC), dtype=np.float32)
    pixels = torch.from_numpy(((square / 255 - 0.5) / 0.5).transpose(2, 0, 1)[None].copy())
    with torch.no_grad():
        states = model(pixel_values=pixels).last_hidden_state[0, 1:].numpy()
    np.testing.assert_allclose(found.reshape(16, 8), states, atol=1e-5)
    assert HubBackbone(str(vit), size=64).map(photo()).shape == (8, 8, 8)  # positions interpolated


def test_maps_of_a_convolution(resnet: Path) -> None:
    found = HubBackbone(str(resnet), size=64).map(photo())
    assert found.ndim == 3
    assert found.shape[2] == 6


def test_fingerprint_tells_models_and_sizes_apart(vit: Path, resnet: Path) -> None:
    prints = {Extractor(f"hub:{folder}", size=size).fingerprint for folder in (vit, resnet) for size in (32, 64)}
    assert len(prints) == 4
    assert Extractor(f"hub:{vit}").fingerprint == Extractor(f"hub:{vit}", size=32).fingerprint


def test_features_from_the_command_line(vit: Path, tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    photo().save(tmp_path / "photos" / "a.png")
    command = ["features", str(tmp_path / "photos"), "--output", str(tmp_path / "store"), "--model", f"hub:{vit}"]
    assert main(command) == 0
    store = FeatureStore(tmp_path / "store")
    assert store.meta["extractor"]["backbone"] == vit.name
    assert store.get("a.png")[0].shape == (14, 8)


def test_no_such_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(VericapError, match="cannot be opened as a hub backbone"):
        Extractor(f"hub:{tmp_path}")
