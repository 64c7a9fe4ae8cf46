"""What REO and TIGEr share: the SCAN model of a run, its regions and words, samples in groups of flat memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vericap.metrics.vse import blank, image_problems
from vericap.metrics.word_meanings import Meanings
from vericap.models import scan
from vericap.models.scan import Lengths
from vericap.run.batch import Batch
from vericap.vision.store import Regions, check_same

Array = NDArray[Any]
Ints = NDArray[np.int64]
_GROUP = 256  # samples whose context vectors are held at once
ANALYSES = ("token_states", "regions")


@dataclass
class Group:
    """Some samples, and the distinct references they have; what is asked for is computed once."""

    grounding: Grounding
    rows: Ints
    owner: Ints  # (references,) place in `rows`
    pairs: tuple[Ints, Ints]  # image and text of the distinct references
    which: Ints  # (references,) place in `pairs`

    @cached_property
    def own(self) -> tuple[Ints, Ints]:
        """Image and text of each candidate."""
        batch = self.grounding.batch
        return batch.images[self.rows], batch.candidates[self.rows]

    @cached_property
    def mask(self) -> Array:
        """(samples, regions) 0 or 1."""
        return self.grounding.mask[self.own[0]]

    @cached_property
    def regions(self) -> Array:
        """(samples, regions, D) unit vectors."""
        return self.grounding.regions[self.own[0]]

    @cached_property
    def candidate(self) -> Array:
        """(samples, regions, D) contexts of the candidates."""
        return self.grounding.contexts(*self.own)

    @cached_property
    def measured(self) -> tuple[Array, Lengths]:
        """Inner products of the candidates' contexts with the regions, and the contexts' lengths."""
        return self.grounding.measured(*self.own)

    @cached_property
    def told(self) -> tuple[Array, Lengths]:
        """The same of the distinct references."""
        return self.grounding.measured(*self.pairs)

    @cached_property
    def reference(self) -> Array:
        """(references, regions, D) contexts, one for every reference of every sample."""
        return self.grounding.contexts(*self.pairs)[self.which]

    @cached_property
    def counts(self) -> Ints:
        """References of each sample."""
        return np.bincount(self.owner, minlength=len(self.rows))

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
        per_row = [batch.references(int(row)) if references else np.zeros(0, np.int64) for row in rows]
        lengths = self.words.lengths()
        per_row = [texts[lengths[texts] > 0] for texts in per_row]
        owner = np.repeat(np.arange(len(rows)), [len(texts) for texts in per_row]).astype(np.int64)
        texts = np.concatenate(per_row).astype(np.int64) if per_row else np.zeros(0, np.int64)
        # A reference shared by several candidates of an image is attended to once.
        pairs, which = np.unique(np.stack([images[owner], texts]), axis=1, return_inverse=True)
        return Group(self, rows, owner, (pairs[0], pairs[1]), which.reshape(-1))

    @cached_property
    def _whitened(self) -> scan.Words:
        """Words as the whitening of REO's distance maps them."""
        return scan.Words(self.words.vectors @ self.model.whitening.T, self.words.offsets)

    def contexts(self, images: Ints, captions: Ints) -> Array:
        """Context vectors (pairs, regions, D)."""
        return self.model.contexts(self.regions, self.mask, self.words, images, captions)

    def measured(self, images: Ints, captions: Ints) -> tuple[Array, Lengths]:
        """Inner products of contexts with regions, and lengths of contexts, (pairs, regions)."""
        return self.model.measured(self.regions, self.mask, self.words, self._whitened, images, captions)


def mean_over_regions(values: Array, mask: Array) -> Array:
    """Mean over the regions that are there."""
    return np.asarray((values * mask).sum(axis=-1) / np.maximum(mask.sum(axis=-1), 1.0))
