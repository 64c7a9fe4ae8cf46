"""The backbone's kernel against ONNX Runtime, to the bit."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vericap.core import shipped
from vericap.core.onnx_file import OnnxFile
from vericap.native import load
from vericap.vision.backbone import INNER, KernelBackbone, OnnxBackbone, normalised, open_backbone
from vericap.vision.backbone_weights import OtherNetworkError, depthwise, interleaved, packed, pointwise
from vericap.vision.images import load_image
from vericap.vision.resize import BICUBIC, resized

FILE = shipped.path("backbone", "backbone.onnx")
PHOTOS = sorted((shipped.ROOT / "demo" / "photos").glob("*.jpg"))
kernel: Any = load("backbone")
vectors = [lanes for lanes in (8, 16) if kernel is not None and kernel.lanes() >= lanes]
built = pytest.mark.skipif(not vectors, reason="the kernel was not built, or the processor has no AVX2")


def photo(path: Path, side: int) -> np.ndarray:
    return resized(load_image(path), (side, side), BICUBIC)


@pytest.fixture(scope="module")
def runtime() -> OnnxBackbone:
    return OnnxBackbone(FILE)


@built
@pytest.mark.parametrize("lanes", vectors)
def test_photos_have_the_maps_that_onnx_runtime_makes(lanes: int, runtime: OnnxBackbone) -> None:
    """Rounding anywhere else in the network would show: one byte that differs early moves features by 0.3."""
    ours = KernelBackbone(FILE, kernel, lanes=lanes)
    for path in PHOTOS:
        pixels = photo(path, 288)
        for found, expected in zip(ours.maps(pixels, [*INNER]), runtime.maps(pixels, [*INNER]), strict=True):
            np.testing.assert_array_equal(found, expected)


@built
@pytest.mark.parametrize("lanes", vectors)
@pytest.mark.parametrize("side", [128, 160, 384])
def test_other_sizes_and_pixels_of_no_photo(side: int, lanes: int, runtime: OnnxBackbone) -> None:
    ours = KernelBackbone(FILE, kernel, lanes=lanes)
    rng = np.random.default_rng(side)
    noise = rng.integers(0, 256, (side, side, 3)).astype(np.uint8)
    for pixels in (noise, np.zeros_like(noise), np.full_like(noise, 255), noise // 255 * 255):
        for found, expected in zip(ours.maps(pixels, [*INNER]), runtime.maps(pixels, [*INNER]), strict=True):
            np.testing.assert_array_equal(found, expected)


def test_inner_maps_change_nothing() -> None:
    backbone, pixels = open_backbone(FILE, side=288), photo(PHOTOS[0], 288)
    alone, middle, last = backbone.maps(pixels), *backbone.maps(pixels, ["last", "middle"])[1:][::-1]
    assert (middle.shape, last.shape) == ((18, 18, 120), (9, 9, 352))
    np.testing.assert_array_equal(backbone.maps(pixels, ["middle"])[0], alone[0])
    np.testing.assert_array_equal(backbone.maps(pixels, ["middle"])[1], middle)


@built
def test_threads_share_a_kernel() -> None:
    backbone = KernelBackbone(FILE, kernel)
    photos = [photo(path, side) for path in PHOTOS for side in (128, 288)]
    alone = [backbone.maps(pixels)[0] for pixels in photos]
    with ThreadPoolExecutor(4) as crew:
        for found, expected in zip(crew.map(lambda pixels: backbone.maps(pixels)[0], photos * 3), alone * 3):
            np.testing.assert_array_equal(found, expected)


def test_who_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    if vectors:
        assert isinstance(open_backbone(FILE, side=288), KernelBackbone)
    assert isinstance(open_backbone(FILE, side=96), OnnxBackbone)
    assert isinstance(open_backbone(shipped.path("detector", "detector.onnx"), side=288), OnnxBackbone)
    with monkeypatch.context() as patch:
        patch.setenv("VERICAP_PROVIDERS", "CPUExecutionProvider")
        assert isinstance(open_backbone(FILE, side=288), OnnxBackbone)
    monkeypatch.setenv("VERICAP_PURE_PYTHON", "1")
    assert isinstance(open_backbone(FILE, side=288), OnnxBackbone)


def test_other_networks_are_refused() -> None:
    file = OnnxFile.read(FILE)
    wide = {**file.constants, "stem.weight_quantized": np.full((32, 3, 3, 3), 127, dtype=np.int8)}
    with pytest.raises(OtherNetworkError, match="7 bits"):
        packed(OnnxFile(wide, file.nodes), 8)
    with pytest.raises(OtherNetworkError, match="pixels"):
        packed(OnnxFile({**file.constants, "x_zero_point": np.uint8(126)}, file.nodes), 8)


@built
def test_rooms_that_do_not_fit_are_refused() -> None:
    backbone = KernelBackbone(FILE, kernel)
    with pytest.raises(ValueError, match="do not fit"):
        backbone.maps(np.zeros((96, 96, 3), dtype=np.uint8))


def test_packing_loses_no_weight() -> None:
    rng = np.random.default_rng(0)
    dense = rng.integers(1, 60, (88, 24)).astype(np.int8)
    assert sorted(pointwise(dense, 16)[pointwise(dense, 16) > 0]) == sorted(dense.ravel())
    spread = rng.integers(1, 60, (40, 5, 5)).astype(np.int8)
    assert sorted(depthwise(spread)[depthwise(spread) > 0]) == sorted(spread.ravel())
    assert interleaved(np.arange(32))[:12].tolist() == [0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7]


def test_pixels_have_the_training_range() -> None:
    values = normalised(np.full((32, 32, 3), (255, 127, 0), dtype=np.uint8))
    assert values.shape == (1, 3, 32, 32)
    np.testing.assert_allclose(values[0, :, 0, 0], [1.0, 0.0, -127 / 128])
