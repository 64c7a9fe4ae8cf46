"""Pictures with the boxes of what was found."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from vericap.vision.objects import ImageObjects

if TYPE_CHECKING:
    from PIL.Image import Image

# Colours that differ from each other and from most photos; dark enough for white letters.
COLOURS = (
    "#b3152a",
    "#1f5fa8",
    "#1b7837",
    "#7b3294",
    "#b35806",
    "#01665e",
    "#8c510a",
    "#c51b7d",
    "#4d4d4d",
    "#35978f",
)


def colour(label: str) -> str:
    """The same label has the same colour in every picture."""
    return COLOURS[zlib.crc32(label.encode()) % len(COLOURS)]


def draw(image: Image, objects: ImageObjects) -> Image:
    """A copy of the image with a frame, label and score for each box, the surest on top."""
    from PIL import ImageDraw, ImageFont

    picture = image.copy()
    pen = ImageDraw.Draw(picture)
    height = max(11, round(min(image.size) / 28))
    font = ImageFont.load_default(size=height)
    line = max(2, round(min(image.size) / 180))
    for label, score, box in sorted(objects.instances(), key=lambda item: item[1] or 1.0):
        if box is None:
            continue
        x0, y0, x1, y1 = box
        pen.rectangle((x0, y0, max(x0, x1 - 1), max(y0, y1 - 1)), outline=colour(label), width=line)
        text = label if score is None else f"{label} {score:.2f}"
        left, top, right, bottom = pen.textbbox((0, 0), text, font=font)
        width, tall = right - left + 6, bottom - top + 6
        x = min(max(0, x0), max(0, image.width - width))
        y = y0 - tall if y0 >= tall else y0
        pen.rectangle((x, y, x + width, y + tall), fill=colour(label))
        pen.text((x + 3 - left, y + 3 - top), text, fill="white", font=font)
    return picture
