"""Regions and words in one space: what the image-sentence encoder and SCAN make of a batch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from vericap.core.analysis import Analysis, Index, Key
from vericap.core.batch import Batch
from vericap.core.settings import Settings
from vericap.core.typing import Floats32, Ints
from vericap.models.scan import ALONE, STATES, Attended, CaptionWords, ScanModel, with_cells
from vericap.models.word_meanings import Meanings
from vericap.run.analyses.models import ScanWeights, VseWeights
from vericap.run.analyses.regions import Regions
from vericap.run.analyses.sentences import TokenStates
from vericap.vision.store import RegionTable

if TYPE_CHECKING:
    from vericap.run.runtime import Runtime
    from vericap.text.encoders import StateTable

_IMAGES = 8  # whose regions are mapped together: what is made on the way stays near the processor
REGIONS = 36 * 384 * 4  # bytes of one image's region vectors
WORDS = 15 * 384 * 4  # bytes of one caption's word vectors


@dataclass(frozen=True)
class RegionVectors(Analysis[Floats32]):
    """Regions of all images in the space of the sentence encoder: (images, regions, d) unit vectors."""

    model: str = "default"
    index: ClassVar[Index] = "image"
    cost: ClassVar[int] = REGIONS

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        return (VseWeights(self.model), Regions.of(settings))

    def compute(self, batch: Batch, runtime: Runtime) -> Floats32:
        model, regions = batch[VseWeights(self.model)], batch[Regions.of(batch.settings)]
        regions.check_fits(model.meta)
        return model.embed(regions.features)


@dataclass(frozen=True)
class ScanRegions(Analysis[Floats32]):
    """Regions of all images as a SCAN model sees them: unit vectors, zeros where there is no region."""

    model: str = "default"
    index: ClassVar[Index] = "image"
    cost: ClassVar[int] = REGIONS

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        encoder = ScanWeights(self.model).encoder
        return (ScanWeights(self.model), Regions.of(settings), *([RegionVectors(encoder)] if encoder else []))

    def compute(self, batch: Batch, runtime: Runtime) -> Floats32:
        model, regions = batch[ScanWeights(self.model)], batch[Regions.of(batch.settings)]
        regions.check_fits(model.meta)
        embedded = batch[RegionVectors(model.encoder)] if model.encoder else None
        found = np.empty((*regions.mask.shape, model.width), dtype=np.float32)
        for start in range(0, len(found), _IMAGES):
            part = slice(start, start + _IMAGES)
            given = regions.features[part]
            if embedded is not None:
                given = with_cells(embedded[part], given, model.cells)
            np.multiply(model.regions(given), regions.mask[part, :, None], out=found[part])
        return found


@dataclass(frozen=True)
class ScanWords(Analysis[CaptionWords]):
    """Words of all texts as a SCAN model reads them."""

    model: str = "default"
    cost: ClassVar[int] = WORDS

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        return (ScanWeights(self.model), *_states(self.model))

    def compute(self, batch: Batch, runtime: Runtime) -> CaptionWords:
        states = [batch[key] for key in _states(self.model)]
        return batch[ScanWeights(self.model)].words(batch.texts, *states)


@dataclass
class GroundedBatch:
    """A SCAN model with the regions and words of a batch."""

    model: ScanModel
    table: RegionTable
    regions: Floats32  # (images, regions, D) unit vectors
    words: CaptionWords  # of the batch's texts
    states: StateTable | None  # of the batch's texts, where the model reads them

    @cached_property
    def mask(self) -> Floats32:
        """(images, regions) 0 or 1."""
        return self.table.mask.astype(np.float32)

    @cached_property
    def whitened(self) -> CaptionWords:
        """Words as the whitening of REO's distance maps them."""
        return CaptionWords(self.model.whitened(self.words.vectors), self.words.offsets)

    def contexts(self, images: Ints, captions: Ints) -> Floats32:
        """Context vectors (pairs, regions, D) of pairs of an image and a text."""
        return self.model.contexts(self.regions, self.mask, self.words, images, captions)

    def measured(self, images: Ints, captions: Ints) -> Attended:
        """Inner products of contexts with regions, lengths of contexts, and the weights they are made with."""
        return self.model.measured(self.regions, self.mask, self.words, self.whitened, images, captions)


@dataclass(frozen=True)
class Grounding(Analysis[GroundedBatch]):
    """Regions and words of a batch as a SCAN model grounds them; REO and TIGEr share it."""

    model: str = "default"
    index: ClassVar[Index] = "sample"

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        parts = (ScanWeights(self.model), Regions.of(settings), ScanRegions(self.model), ScanWords(self.model))
        return (*parts, *_states(self.model))

    def compute(self, batch: Batch, runtime: Runtime) -> GroundedBatch:
        states = [batch[key] for key in _states(self.model)]
        return GroundedBatch(
            batch[ScanWeights(self.model)],
            batch[Regions.of(batch.settings)],
            batch[ScanRegions(self.model)],
            batch[ScanWords(self.model)],
            states[0] if states else None,
        )


@dataclass(frozen=True)
class WordMeanings(Analysis[Meanings]):
    """The content words of the samples' texts, each read alone by a SCAN model: for explanations."""

    model: str = "default"
    index: ClassVar[Index] = "sample"

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        return (ScanWeights(self.model),)

    def compute(self, batch: Batch, runtime: Runtime) -> Meanings:
        model = batch[ScanWeights(self.model)]
        texts = [batch.texts[text] for text in batch.texts_in_use()]
        return Meanings.of(texts, partial(_read, model, runtime))


def _read(model: ScanModel, runtime: Runtime, words: list[str]) -> CaptionWords:
    if model.meta["words"] not in (STATES, ALONE):
        return model.words(words, None)
    encoder = runtime.encoder(model.meta.get("text_encoder", "gte-small"))
    return model.words(
        words, encoder.word_states(words) if model.meta["words"] == ALONE else encoder.token_states(words)
    )


def _states(model: str) -> tuple[TokenStates, ...]:
    """What a SCAN model reads texts from: the encoder's states, or nothing but its own vocabulary."""
    weights = ScanWeights(model)
    words = weights.meta["words"]
    return (TokenStates(weights.text_encoder, words == ALONE),) if words in (STATES, ALONE) else ()
