"""What REO and TIGEr share: the SCAN model of a run, its regions and words, samples in groups of flat memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vericap.metrics.vse import blank, image_problems
from vericap.metrics.word_meanings import Meanings
from vericap.models import scan
from vericap.run.batch import Batch
from vericap.vision.store import Regions, check_same

Array = NDArray[Any]
Ints = NDArray[np.int64]
_GROUP = 256  # samples whose context vectors are held at once
ANALYSES = ("token_states", "regions")


@dataclass
class Group:
    """Some samples with the contexts of their candidates and references over the regions of their images."""

    rows: Ints
    mask: Array  # (samples, regions) 0 or 1
    regions: Array  # (samples, regions, D) unit
    candidate: Array  # (samples, regions, D) contexts
    owner: Ints  # (references,) place in `rows`
    distinct: Array  # (contexts, regions, D) of distinct references
    which: Ints  # (references,) place in `distinct`
    counts: Ints = field(init=False)

    def __post_init__(self) -> None:
        self.counts = np.bincount(self.owner, minlength=len(self.rows))

    @cached_property
    def reference(self) -> Array:
        """(references, regions, D) contexts, one for every reference of every sample."""
        return self.distinct[self.which]

    def over_references(self, values: Array) -> Array:
        """Mean over each sample's references; NaN without any."""
        sums = np.bincount(self.owner, weights=values, minlength=len(self.rows))
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.counts > 0, sums / np.maximum(self.counts, 1), np.nan)


class Grounding:
    """The model with the regions and words of one batch."""

    def __init__(self, batch: Batch, model: str) -> None:
        self.batch = batch
        self.model = scan.load(model)
        found: Regions = batch.analysis("regions")
        check_same(found.fingerprint, "this run", self.model.fingerprint, self.model.name)
        states = batch.analysis("token_states") if self.model.meta["words"] == "states" else None
        self.found = found
        self.regions = self.model.regions(found.features) * found.mask[..., None]
        self.mask = found.mask.astype(np.float32)
        self.words = self.model.words(batch.texts, states)
        self.problems = {**self._wordless(), **blank(batch), **image_problems(batch, found.problems)}

    def _wordless(self) -> dict[int, str]:
        lengths = self.words.lengths()
        return {
            row: "no word of the candidate is known to the model"
            for row, text in enumerate(self.batch.candidates)
            if lengths[text] == 0
        }

    @cached_property
    def meanings(self) -> Meanings:
        """The batch's words read alone, for explanations."""
        return Meanings(self.model, self.batch.texts, self.batch)

    def groups(self, *, references: bool = True) -> Iterator[Group]:
        """Samples that can be judged, those of one image together."""
        rows = np.array([row for row in range(len(self.batch)) if row not in self.problems], dtype=np.int64)
        rows = rows[np.argsort(self.batch.images[rows], kind="stable")] if rows.size else rows
        for start in range(0, len(rows), _GROUP):
            yield self._group(rows[start : start + _GROUP], references)

    def _group(self, rows: Ints, references: bool) -> Group:
        batch = self.batch
        images = batch.images[rows]
        candidate = self._contexts(images, batch.candidates[rows])
        per_row = [batch.references(int(row)) if references else np.zeros(0, np.int64) for row in rows]
        lengths = self.words.lengths()
        per_row = [texts[lengths[texts] > 0] for texts in per_row]
        owner = np.repeat(np.arange(len(rows)), [len(texts) for texts in per_row]).astype(np.int64)
        texts = np.concatenate(per_row).astype(np.int64) if per_row else np.zeros(0, np.int64)
        # A reference shared by several candidates of an image is attended to once.
        pairs, inverse = np.unique(np.stack([images[owner], texts]), axis=1, return_inverse=True)
        distinct = self._contexts(pairs[0], pairs[1])
        which = inverse.reshape(-1)
        return Group(rows, self.mask[images], self.regions[images], candidate, owner, distinct, which)

    def _contexts(self, images: Ints, captions: Ints) -> Array:
        return self.model.contexts(self.regions, self.mask, self.words, images, captions)


def mean_over_regions(values: Array, mask: Array) -> Array:
    """Mean over the regions that are there."""
    return np.asarray((values * mask).sum(axis=-1) / np.maximum(mask.sum(axis=-1), 1.0))
