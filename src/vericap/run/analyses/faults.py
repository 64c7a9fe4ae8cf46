"""What makes a photo worth little to judge from: too few pixels, a strip, one colour and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vericap.run.photos import Found, Pixels

if TYPE_CHECKING:
    from PIL.Image import Image

    from vericap.run.runtime import Runtime

SMALLEST = 32  # pixels of the shorter side: two cells of the backbone's maps
LONGEST = 10  # times the shorter side
SHADES = 8  # of 256 in each channel that one colour may have: what coding adds


@dataclass(frozen=True)
class PhotoFaults(Pixels[list[str]]):
    """Of each photo why little can be told from it; empty where nothing stands against it."""

    def kind(self, runtime: Runtime) -> str:
        return "faults-1"

    def look(self, photos: Sequence[Image], runtime: Runtime) -> list[bytes]:
        return [fault(photo).encode() for photo in photos]

    def table(self, found: list[Found]) -> list[str]:
        return [item.decode() if isinstance(item, bytes) else "" for item in found]


def fault(photo: Image) -> str:
    """Why little can be told from an RGB photo.

    >>> from PIL import Image
    >>> fault(Image.new("RGB", (1, 1))), fault(Image.new("RGB", (640, 480)))
    ('the photo is 1 x 1 pixels', 'the photo shows nothing but one colour')
    """
    short, long = sorted(photo.size)
    if short < SMALLEST or long > LONGEST * short:
        return f"the photo is {photo.width} x {photo.height} pixels"
    if all(most - least <= SHADES for least, most in photo.getextrema()):  # type: ignore[misc]
        return "the photo shows nothing but one colour"
    return ""
