"""Photos brought to the size a network takes, as Pillow does it; a kernel makes the same pixels in less time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from vericap.core.typing import Array
from vericap.native import load

if TYPE_CHECKING:
    from PIL.Image import Image

BILINEAR, BICUBIC = 2, 3  # Pillow's numbers of its filters


def resized(image: Image, size: tuple[int, int], kind: int) -> Array:
    """Pixels (height, width, 3) of an RGB image at another size (width, height)."""
    kernel = load("resize")
    if image.size == size or kernel is None or image.mode != "RGB":
        from PIL import Image as Pillow

        return np.asarray(image if image.size == size else image.resize(size, Pillow.Resampling(kind)))
    found = np.empty((size[1], size[0], 3), dtype=np.uint8)
    kernel.resize(_pixels(image), *image.size, found, *size, kind)
    return found


def _pixels(image: Image) -> Any:
    """The image's pixels, 4 bytes each: lent by Pillow where it can (from 11.2 on, small images), else copied."""
    try:
        return image.__arrow_c_array__()[1]
    except (AttributeError, ValueError):
        return image.tobytes("raw", "RGBX")
