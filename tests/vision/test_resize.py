"""Photos of another size: the kernel against Pillow, to the bit."""

from __future__ import annotations

import numpy as np
import PIL
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from vericap.native import load
from vericap.vision.resize import BICUBIC, BILINEAR, resized

kernel = load("resize")
built = pytest.mark.skipif(kernel is None, reason="the kernels were not built")
sides = st.integers(1, 700)


def noise(width: int, height: int, seed: int = 0) -> Image.Image:
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (height, width, 3)).astype(np.uint8))


def same_order(image: Image.Image, size: tuple[int, int]) -> bool:
    """Whether this Pillow takes both passes in the kernel's order: before Pillow 13 rows came first always."""
    tall = image.height - size[1] > max(0, 2 * (image.width - size[0]))
    return int(PIL.__version__.split(".")[0]) >= 13 or not tall


@built
@settings(max_examples=60, deadline=None)
@given(sides, sides, sides, sides, st.sampled_from([BILINEAR, BICUBIC]))
def test_the_kernel_makes_pillows_pixels(width: int, height: int, wide: int, high: int, kind: int) -> None:
    image, size = noise(width, height), (wide, high)
    found, expected = resized(image, size, kind), np.asarray(image.resize(size, Image.Resampling(kind)))
    assert found.shape == (high, wide, 3)
    if same_order(image, size):
        np.testing.assert_array_equal(found, expected)
    else:  # rounded twice in another order
        assert np.abs(found.astype(int) - expected).max() <= 2


@built
@pytest.mark.parametrize("size", [(640, 480), (480, 640), (336, 252), (252, 336), (288, 500), (500, 288), (289, 288)])
def test_photos_of_usual_sizes(size: tuple[int, int]) -> None:
    image = noise(*size)
    if not same_order(image, (288, 288)):
        pytest.skip("this Pillow takes rows first always")
    expected = np.asarray(image.resize((288, 288), Image.Resampling.BICUBIC))
    np.testing.assert_array_equal(resized(image, (288, 288), BICUBIC), expected)


@built
def test_photos_too_large_to_be_lent_are_copied() -> None:
    image = noise(3000, 2200)  # more than one of Pillow's blocks of memory
    expected = np.asarray(image.resize((288, 288), Image.Resampling.BICUBIC))
    np.testing.assert_array_equal(resized(image, (288, 288), BICUBIC), expected)


def test_the_same_size_is_the_same_image() -> None:
    image = noise(32, 20)
    np.testing.assert_array_equal(resized(image, (32, 20), BICUBIC), np.asarray(image))


def test_without_the_kernel_pillow_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    image = noise(90, 40)
    fast = resized(image, (32, 32), BICUBIC)
    monkeypatch.setenv("VERICAP_PURE_PYTHON", "1")
    np.testing.assert_array_equal(resized(image, (32, 32), BICUBIC), fast)


@built
def test_sizes_that_do_not_fit_are_refused() -> None:
    assert kernel is not None
    with pytest.raises(ValueError, match="4 bytes each"):
        kernel.resize(bytes(11), 2, 2, np.empty(12, np.uint8), 2, 2, BICUBIC)
    with pytest.raises(ValueError, match="do not fit"):
        kernel.resize(bytes(16), 2, 2, np.empty(11, np.uint8), 2, 2, BICUBIC)
    grey = Image.new("L", (4, 4)).__arrow_c_array__()[1]
    with pytest.raises(ValueError, match="4 bytes each"):
        kernel.resize(grey, 4, 4, np.empty(12, np.uint8), 2, 2, BICUBIC)
