"""Samples whose context vectors are held together: what REO and TIGEr compute of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from vericap.core.batch import Batch
from vericap.core.typing import Array, Floats, Floats32, Ints
from vericap.metrics.batching import Case, cases, grouped, no_references, references_of
from vericap.metrics.toolbox import unjudged
from vericap.run.analyses.grounding import GroundedBatch

_CONTEXTS = 1536  # captions, references counted for every sample, whose context vectors are held at once
_TOGETHER = 32  # rows of a case: with many references they would hold too much
UNKNOWN = "no word of the candidate is known to the model"


@dataclass
class Group:
    """Some samples, and the distinct references they have; what is asked for is computed once."""

    grounding: GroundedBatch
    rows: Ints
    images: Ints  # (samples,)
    candidates: Ints  # (samples,) texts
    owner: Ints  # (references,) place in `rows`
    pairs: tuple[Ints, Ints]  # image and text of the distinct references
    which: Ints  # (references,) place in `pairs`

    @classmethod
    def of(cls, batch: Batch, grounding: GroundedBatch, members: list[Case]) -> Group:
        rows = np.concatenate([case.rows for case in members])
        images = batch.images[rows]
        counts = np.concatenate([np.full(len(case.rows), len(case.references)) for case in members])
        texts = np.concatenate([np.tile(case.references, len(case.rows)) for case in members])
        owner = np.repeat(np.arange(len(rows)), counts)
        # A reference shared by several candidates of an image is attended to once.
        pairs, which = np.unique(np.stack([images[owner], texts]), axis=1, return_inverse=True)
        return cls(grounding, rows, images, batch.candidates[rows], owner, (pairs[0], pairs[1]), which.reshape(-1))

    @cached_property
    def mask(self) -> Floats32:
        """(samples, regions) 0 or 1."""
        return self.grounding.mask[self.images]

    @cached_property
    def regions(self) -> Floats32:
        """(samples, regions, D) unit vectors."""
        return self.grounding.regions[self.images]

    @cached_property
    def candidate(self) -> Floats32:
        """(samples, regions, D) contexts of the candidates."""
        return self.grounding.contexts(self.images, self.candidates)

    @cached_property
    def said(self) -> Floats32:
        """(pairs, regions, D) contexts of the distinct references."""
        return self.grounding.contexts(*self.pairs)

    def reference(self, place: int) -> Floats32:
        """(references, regions, D) contexts of one sample's references."""
        return self.said[self.which[self.owner == place]]

    @cached_property
    def counts(self) -> Ints:
        """References of each sample."""
        return np.bincount(self.owner, minlength=len(self.rows))

    def over_references(self, values: Array) -> Floats:
        """Mean over each sample's references; NaN without any."""
        sums = np.bincount(self.owner, weights=values, minlength=len(self.rows))
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.counts > 0, sums / np.maximum(self.counts, 1), np.nan)


def groups(batch: Batch, grounding: GroundedBatch, rows: Ints, *, references: bool) -> Iterator[Group]:
    """Rows that can be judged, those of one image together, in groups of flat memory."""
    said = known_references(batch, grounding) if references else no_references
    found = cases(batch, rows, said, together=_TOGETHER)
    for members in grouped(found, lambda case: len(case.rows) * (1 + len(case.references)), _CONTEXTS):
        yield Group.of(batch, grounding, members)


def known_references(batch: Batch, grounding: GroundedBatch) -> Callable[[int], Ints]:
    """References of a row that hold a word, and one that the model knows."""
    worded, lengths = references_of(batch), grounding.words.lengths()

    def found(row: int) -> Ints:
        texts = worded(row)
        return texts[lengths[texts] > 0]

    return found


def problems(batch: Batch, grounding: GroundedBatch) -> dict[int, str]:
    """Rows that cannot be judged, with the reason."""
    lengths = grounding.words.lengths()
    unknown = dict.fromkeys(np.flatnonzero(lengths[batch.candidates] == 0).tolist(), UNKNOWN)
    return {**unknown, **unjudged(batch, grounding.table)}


def mean_over_regions(values: Array, mask: Floats32) -> Array:
    """Mean over the regions that are there."""
    return np.asarray((values * mask).sum(axis=-1) / np.maximum(mask.sum(axis=-1), 1.0))
