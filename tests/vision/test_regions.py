"""Windows, pooling and the shipped extractor."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from vericap.core import shipped as shipped_files
from vericap.core.errors import VericapError
from vericap.vision.pooling import coverage, pool, pool_own
from vericap.vision.regions import Extractor, pixels, pyramid, shares

shipped = pytest.mark.skipif(
    not (shipped_files.ROOT / "backbone" / "meta.json").is_file(), reason="the backbone is not in this checkout"
)


def test_pyramid_has_whole_image_first() -> None:
    boxes = pyramid((1, 2, 3))
    assert boxes.shape == (14, 4)
    assert boxes[0].tolist() == [0, 0, 1, 1]
    assert boxes[1].tolist() == [0, 0, 0.5, 0.5]
    assert boxes[2].tolist() == [0.5, 0, 1, 0.5]


def loop_pool(features: np.ndarray, box: np.ndarray) -> np.ndarray:
    height, width, depth = features.shape
    total, area = np.zeros(depth), 0.0
    for y in range(height):
        for x in range(width):
            tall = max(0.0, min(box[3] * height, y + 1) - max(box[1] * height, y))
            wide = max(0.0, min(box[2] * width, x + 1) - max(box[0] * width, x))
            total += tall * wide * features[y, x]
            area += tall * wide
    return total / area


@given(st.integers(0, 2**32 - 1))
def test_pooling_is_the_area_weighted_mean(seed: int) -> None:
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(5, 7, 3)).astype(np.float32)
    corners = np.sort(rng.random((4, 2, 2)), axis=1)
    boxes = np.concatenate([corners[:, 0], corners[:, 1] + 0.01], axis=1).clip(0, 1).astype(np.float32)
    boxes = boxes[(boxes[:, 2:] - boxes[:, :2]).min(axis=1) > 0]
    for found, box in zip(pool(features, boxes), boxes):
        np.testing.assert_allclose(found, loop_pool(features, box), atol=1e-4)


def test_the_kernel_pools_like_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    features = np.random.default_rng(0).random((9, 9, 40)).astype(np.float32)
    fast = pool(features, pyramid())
    monkeypatch.setenv("VERICAP_PURE_PYTHON", "1")
    np.testing.assert_array_equal(pool(features, pyramid()), fast)


def test_constant_map_pools_to_itself() -> None:
    np.testing.assert_allclose(pool(np.full((8, 8, 2), 3.0, np.float32), pyramid()), 3.0, rtol=1e-6)


def test_box_without_area_is_refused() -> None:
    with pytest.raises(VericapError, match="no area"):
        pool(np.ones((4, 4, 1), np.float32), np.array([[0.5, 0.5, 0.5, 0.9]], np.float32))


def test_coverage_adds_up() -> None:
    found = coverage(np.array([0.1], np.float32), np.array([0.9], np.float32), 8)
    assert found.sum() == pytest.approx(6.4, abs=1e-5)


def test_pixel_boxes_are_cut_at_the_edges() -> None:
    found = shares(np.array([[-5, 0, 50, 20], [10, 10, 10, 20]]), (100, 40))
    np.testing.assert_allclose(found, [[0, 0, 0.5, 0.5]])


def test_pixels_have_the_training_range() -> None:
    values = pixels(Image.new("RGB", (10, 20), (255, 127, 0)), 32)
    assert values.shape == (1, 3, 32, 32)
    np.testing.assert_allclose(values[0, :, 0, 0], [1.0, 0.0, -127 / 128])


@shipped
def test_shipped_extractor_pools_its_map() -> None:
    extractor = Extractor()
    image = Image.effect_mandelbrot((90, 60), (-2, -1, 1, 1), 50).convert("RGB")
    features, boxes = extractor.regions(image)
    assert features.shape == (36, extractor.width)
    np.testing.assert_array_equal(boxes[:14], extractor.windows)
    np.testing.assert_allclose(boxes[14:], extractor.cells(image).boxes[:22])
    last = extractor.map(image)
    np.testing.assert_allclose(features[0, : last.shape[2]], last.mean(axis=(0, 1)), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(
        features[0, last.shape[2] :], extractor.cells(image).vectors.mean(axis=0) / 4, rtol=1e-3, atol=1e-5
    )


@shipped
def test_regions_of_a_photo_tell_neighbours_apart() -> None:
    image = Image.open(shipped_files.ROOT / "demo" / "photos" / "coffee.jpg").convert("RGB")
    features, _ = Extractor().regions(image)
    unit = features - features.mean(axis=0)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    cosines = unit @ unit.T
    assert np.median(cosines[~np.eye(len(unit), dtype=bool)]) < 0.5


def test_boxes_of_one_image_pool_like_those_of_all() -> None:
    features = np.random.default_rng(0).random((9, 9, 40)).astype(np.float32)
    np.testing.assert_allclose(pool_own(features, pyramid()), pool(features, pyramid()), rtol=1e-5)


def test_the_kernel_pools_like_its_twin(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    boxes = np.sort(rng.random((40, 2, 2)), axis=1).reshape(40, 4).astype(np.float32)
    boxes[0, 2:] = boxes[0, :2]  # without area
    for height, width, depth in ((9, 9, 1280), (18, 18, 128), (5, 7, 70)):
        features = rng.normal(size=(height, width, depth)).astype(np.float32)
        own, windows = pool_own(features, boxes), pool(features, pyramid())
        with monkeypatch.context() as patch:
            patch.setenv("VERICAP_PURE_PYTHON", "1")
            np.testing.assert_allclose(own, pool_own(features, boxes), rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(windows, pool(features, pyramid()), rtol=1e-5, atol=1e-6)


@shipped
def test_images_in_threads_are_the_images_alone() -> None:
    images = [Image.effect_mandelbrot((90, 60 + n), (-2, -1, 1, 1), 50).convert("RGB") for n in range(5)]
    alone = [Extractor().regions(image) for image in images]
    for (features, boxes), (expected, windows) in zip(Extractor(threads=2).all_regions(images), alone, strict=True):
        np.testing.assert_array_equal(features, expected)
        np.testing.assert_array_equal(boxes, windows)


@shipped
def test_boxes_of_a_detector_fill_up() -> None:
    extractor = Extractor(boxes="detector")
    extractor.__dict__["_detector"] = lambda image: np.tile([0, 0, 30, 30], (50, 1))
    features, boxes = extractor.regions(Image.new("RGB", (60, 60)))
    assert len(features) == len(boxes) == 36
    np.testing.assert_allclose(boxes[14:], np.tile([0, 0, 0.5, 0.5], (22, 1)))
    assert extractor.description != Extractor().description
    assert extractor.fingerprint == Extractor().fingerprint  # boxes choose regions; their values stay what they are
