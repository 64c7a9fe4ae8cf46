"""The two bags of words that VIFIDEL compares: labels of an image's objects, words of its caption."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from vericap.core.batch import Batch
from vericap.core.errors import Problem
from vericap.core.typing import Floats32
from vericap.run.analyses.words import LabelSpace
from vericap.text.bags import Bags
from vericap.text.transport import penalties
from vericap.vision.objects import ImageObjects

NO_OBJECT = "the image has no object with a known label"
NO_OBJECT_ZERO = f"{NO_OBJECT}; the caption scores 0"
NO_WORD = "the caption has no content word with a vector and scores 0"


@dataclass(frozen=True)
class ObjectWordPairs:
    """Both bags of some samples. Numbers in the bags are rows of the space's table."""

    space: LabelSpace
    objects: list[ImageObjects | Problem]
    texts: list[str]
    images: Bags
    captions: Bags
    unknown_labels: list[list[str]]  # labels without a vector
    unknown_words: list[list[str]]
    penalised: list[bool]  # whether the references of a sample have weighed its words

    @classmethod
    def of(
        cls, batch: Batch, objects: Sequence[ImageObjects | Problem], space: LabelSpace, *, binary: bool = False
    ) -> ObjectWordPairs:
        """The bags of all samples of a batch; `binary` counts every label once."""
        usable = [item if isinstance(item, ImageObjects) else ImageObjects() for item in objects]
        unknown = [[label for label in item.labels if not space.rows[label]] for item in usable]
        return cls(
            space=space,
            objects=list(objects),
            texts=batch.candidate_texts(),
            images=Bags.of((_bag(item, space) for item in usable), binary=binary),
            captions=space.table.texts.take(batch.candidates),
            unknown_labels=unknown,
            unknown_words=[space.table.unknown.get(text, []) for text in batch.candidates.tolist()],
            penalised=[False] * len(batch),
        )

    def with_references(self, batch: Batch) -> ObjectWordPairs:
        """Every vector scaled by its rho (equations 4 and 5); samples without references keep 1."""
        references = self.space.table.texts.take(batch.reference_index)
        worded = np.concatenate([[0], np.cumsum(references.sizes() > 0)])[batch.reference_offsets]
        images, captions = (
            bags.scaled(penalties(self.unit_vectors, bags, batch.reference_offsets, references))
            for bags in (self.images, self.captions)
        )
        return replace(self, images=images, captions=captions, penalised=(np.diff(worded) > 0).tolist())

    @cached_property
    def unit_vectors(self) -> Floats32:
        return self.space.table.unit_vectors()

    def objectless(self) -> list[bool]:
        """Which samples have no object with a vector, and hence nothing to compare the caption with."""
        return (self.images.sizes() == 0).tolist()

    def reason(self, place: int, *, zero: bool = False) -> str:
        """Why the two bags of a sample cannot be compared; `zero`: without an object the score is 0."""
        found = self.objects[place]
        if isinstance(found, Problem):
            return found.reason
        if self.images.sizes()[place]:
            return NO_WORD
        return NO_OBJECT_ZERO if zero else NO_OBJECT

    def word(self, row: int) -> str:
        return self.space.table.words[row]

    def rho(self, place: int) -> dict[str, float]:
        """The penalty of every word and label of a sample."""
        return {
            self.word(row): float(scale)
            for bags in (self.captions, self.images)
            for row, scale in zip(bags.ids[bags.span(place)], bags.scales[bags.span(place)])
        }


def _bag(found: ImageObjects, space: LabelSpace) -> dict[int, float]:
    """How often each label, or each of its words, is there, by its row."""
    bag: dict[int, float] = {}
    for label, count in zip(found.labels, found.counts):
        for row in space.rows[label]:
            bag[row] = bag.get(row, 0.0) + count
    return bag
