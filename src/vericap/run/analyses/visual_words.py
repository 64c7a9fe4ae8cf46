"""Visual words of photos: what the two heads keep of each, in the same pass as its regions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from vericap.core import shipped
from vericap.core.batch import Batch
from vericap.core.errors import Problem
from vericap.models.visual_words import PhotoWords
from vericap.models.visual_words import VisualWords as VisualWordsModel
from vericap.run.analyses.models import Weights
from vericap.run.photos import Found, Pixels
from vericap.vision.cells import PART
from vericap.vision.regions import shipped_fingerprint

if TYPE_CHECKING:
    from PIL.Image import Image

    from vericap.run.runtime import Runtime

BYTES = 45_000  # of one photo


@dataclass(frozen=True)
class VisualWordsWeights(Weights["VisualWordsModel"]):
    """The two heads and their vocabulary."""

    part: ClassVar[str] = PART

    def compute(self, batch: Batch, runtime: Runtime) -> VisualWordsModel:
        from vericap.models.visual_words import load

        return runtime.model(self.part, self.name, load)


@dataclass
class SeenPhotos:
    """What is kept of every image of a batch, None where it cannot be read."""

    photos: list[PhotoWords | None]
    problems: dict[int, str]


@dataclass(frozen=True)
class VisualWords(Pixels[SeenPhotos]):
    """What people would see and say of each photo (models.visual_words)."""

    model: str = "default"
    cost: ClassVar[int] = BYTES

    @cached_property
    def _version(self) -> str:
        return shipped.version(VisualWordsWeights(self.model).meta)

    def kind(self, runtime: Runtime) -> str:
        return f"{self._version}-{shipped_fingerprint()}"

    def look(self, photos: Sequence[Image], runtime: Runtime) -> list[bytes]:
        from vericap.models.visual_words import load

        model, extractor = runtime.model(PART, self.model, load), runtime.extractor()
        final, middle, last = zip(*extractor.all_maps(photos, ("middle", "last")))
        means = np.stack([one.mean(axis=(0, 1)) for one in final])
        if self.model == "default":  # whose cells the regions are made of too
            cells = [extractor.cells(photo) for photo in photos]
        else:
            cells = model.head(np.stack(middle), np.stack(last))
        return [found.pack() for found in model.look(means, cells)]

    def table(self, found: list[Found]) -> SeenPhotos:
        photos = [None if isinstance(item, Problem) else PhotoWords.unpack(item) for item in found]
        return SeenPhotos(photos, {row: item.reason for row, item in enumerate(found) if isinstance(item, Problem)})

    def signature(self, batch: Batch) -> dict[str, str]:
        return {"words": self._version}
