"""Images and texts in the space of a CLIP-like pair that the user brings."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from vericap.core.analysis import Analysis
from vericap.core.batch import Batch
from vericap.core.errors import Problem
from vericap.core.typing import Floats32
from vericap.models import clip
from vericap.run.photos import Found, Pixels

if TYPE_CHECKING:
    from PIL.Image import Image

    from vericap.run.runtime import Runtime

BYTES = 768 * 4  # of one vector


@dataclass(frozen=True)
class ImageVectors:
    """Unit vectors of images, and of which images there are none, with the reason."""

    vectors: Floats32  # (images, d); zeros where there is no image
    problems: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ClipImages(Pixels[ImageVectors]):
    """Vectors of the photos by the dual encoder in a folder."""

    model: str = ""
    cost: ClassVar[int] = BYTES

    def kind(self, runtime: Runtime) -> str:
        name = re.sub(r"[^A-Za-z0-9.]+", "-", clip.name(self.model))[:40]
        return f"clip-{name}-{_digest(self.model, runtime)}"

    def look(self, photos: Sequence[Image], runtime: Runtime) -> list[bytes]:
        return [_encoder(self.model, runtime).image(photo).tobytes() for photo in photos]

    def table(self, found: list[Found]) -> ImageVectors:
        rows = [None if isinstance(item, Problem) else np.frombuffer(item, dtype=np.float32) for item in found]
        width = next((len(row) for row in rows if row is not None), 1)
        blank = np.zeros(width, dtype=np.float32)
        vectors = np.array([blank if row is None else row for row in rows], dtype=np.float32).reshape(-1, width)
        return ImageVectors(vectors, {i: item.reason for i, item in enumerate(found) if isinstance(item, Problem)})

    def signature(self, batch: Batch) -> dict[str, str]:
        return {"model": clip.name(self.model)}


@dataclass(frozen=True)
class ClipTexts(Analysis[Floats32]):
    """Vectors of all texts by the dual encoder in a folder, `prompt` put before each."""

    model: str = ""
    prompt: str = ""
    cost: ClassVar[int] = BYTES

    def compute(self, batch: Batch, runtime: Runtime) -> Floats32:
        return _encoder(self.model, runtime).texts([f"{self.prompt} {text}".strip() for text in batch.texts])

    def signature(self, batch: Batch) -> dict[str, str]:
        return {"model": clip.name(self.model)}


def _encoder(model: str, runtime: Runtime) -> clip.DualEncoder:
    key = ("clip", model, clip.stamp(model), runtime.threads)
    return runtime.once(key, lambda: clip.load(model, threads=runtime.threads))


def _digest(model: str, runtime: Runtime) -> str:
    return runtime.once(("clip digest", model, clip.stamp(model)), lambda: clip.digest(model))
