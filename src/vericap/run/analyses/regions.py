"""Regions of images: features and boxes, from the photos or from a feature store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from vericap.core.analysis import Analysis, Index, Key
from vericap.core.batch import Batch
from vericap.core.errors import Problem
from vericap.core.settings import Settings
from vericap.core.typing import Floats32
from vericap.run.photos import Found, Pixels
from vericap.vision.halves import narrowed, widened
from vericap.vision.regions import MOST, WIDTH, shipped_fingerprint
from vericap.vision.store import FeatureStore, RegionTable

if TYPE_CHECKING:
    from PIL.Image import Image

    from vericap.run.runtime import Runtime

BYTES = MOST * (WIDTH + 4) * 4  # of one image's regions


@dataclass(frozen=True)
class PhotoRegions(Pixels[RegionTable]):
    """Regions extracted from the photos by the shipped backbone."""

    def kind(self, runtime: Runtime) -> str:
        return f"regions-{shipped_fingerprint()}"

    def look(self, photos: Sequence[Image], runtime: Runtime) -> list[bytes]:
        # Halved before use, so that a stored and a fresh value are the same number.
        found = runtime.extractor().all_regions(photos)
        return [narrowed(np.concatenate(regions, axis=1)).tobytes() for regions in found]

    def table(self, found: list[Found]) -> RegionTable:
        items = [None if isinstance(item, Problem) else _unpacked(item) for item in found]
        problems = {row: item.reason for row, item in enumerate(found) if isinstance(item, Problem)}
        return RegionTable.of(items, shipped_fingerprint(), problems, WIDTH)

    def signature(self, batch: Batch) -> dict[str, str]:
        return {"regions": shipped_fingerprint()}


@dataclass(frozen=True)
class Regions(Analysis[RegionTable]):
    """The regions of every image: of a feature store, else of the photos."""

    store: str = ""
    index: ClassVar[Index] = "image"

    @property
    def cost(self) -> int:  # type: ignore[override]
        """Bytes of one image's regions, which a store may have more and wider ones of."""
        if not self.store:
            return BYTES
        store = FeatureStore(self.store)
        return store.most * (store.width + 4) * 4

    @classmethod
    def of(cls, settings: Settings) -> Regions:
        return cls("" if settings.features is None else str(settings.features))

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        return () if self.store else (PhotoRegions(),)

    def compute(self, batch: Batch, runtime: Runtime) -> RegionTable:
        return FeatureStore(self.store).regions(batch.image_keys) if self.store else batch[PhotoRegions()]

    def signature(self, batch: Batch) -> dict[str, str]:
        return {"regions": FeatureStore(self.store).signature} if self.store else {}


def _unpacked(stored: bytes) -> tuple[Floats32, Floats32]:
    values = widened(np.frombuffer(stored, dtype=np.float16)).reshape(-1, WIDTH + 4)
    return values[:, :-4], values[:, -4:]
