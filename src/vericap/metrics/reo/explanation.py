"""Why REO scored a caption so: which of its words nothing supports, what it leaves out, which regions are missing.

Only what the score looked at is looked at here: the image's regions, the references, or both (the option `truth`).

The extra part of a context a_i is what is orthogonal to all truths of region i together. With the content words of
caption and references each read alone (`models.word_meanings`), m_j the unit vector of a word,
    support_j = (1 + s_j - x_j) / 2,   s_j = max(0, max cos(m_j, g)) over all truths g of all regions,
                                       x_j = max(0, cos(m_j, e)), e the mean extra part over the regions:
1/2 for a word that lies as near to the truths as to the extra part. A word that a reference says, in whatever form,
has support 1. Other words (stop words, numbers, words the model does not know) are not judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from vericap.core.batch import Batch
from vericap.core.explanation import Box, Explanation, MissingContent, WordEvidence
from vericap.core.typing import Array, Floats32
from vericap.metrics.evidence import base_forms
from vericap.metrics.region_evidence import box_of, heatmap
from vericap.metrics.reo.groups import Group, groups
from vericap.metrics.reo.measures import residual
from vericap.metrics.toolbox import words_of
from vericap.models import words as vocabulary
from vericap.models.described import NO_MAP, points
from vericap.models.scan import there, unit, weights
from vericap.models.word_meanings import Meanings, content
from vericap.run.analyses.grounding import GroundedBatch

_MARK = "<mark>"


def explanations(
    label: str,
    batch: Batch,
    rows: Sequence[int],
    grounding: GroundedBatch,
    meanings: Meanings,
    *,
    truth: str,
    full: bool,
) -> dict[int, Explanation]:
    """Reasons for rows that can be judged, by row."""
    found: dict[int, Explanation] = {}
    which = np.unique(np.asarray(rows, dtype=np.int64))
    for group in groups(batch, grounding, which, references=truth != "image"):
        for place, row in enumerate(group.rows.tolist()):
            looks = truth in ("image", "both") or (truth == "auto" and not (group.owner == place).any())
            reasons = Reasons.of(batch, group, place, meanings, image=looks)
            found[row] = reasons.explanation(label, full=full)
    return found


def beyond(vectors: Array, truths: Array) -> Array:
    """What of (regions, D) vectors none of several (truths, regions, D) says: orthogonal to all of them."""
    if not len(truths):
        return vectors
    bases, sizes, _ = np.linalg.svd(truths.transpose(1, 2, 0), full_matrices=False)  # (regions, D, truths)
    bases = bases * (sizes > 1e-4 * sizes.max(axis=1, keepdims=True))[:, None, :]  # a truth said twice counts once
    along = bases @ (bases.transpose(0, 2, 1) @ vectors[..., None])
    return np.asarray(vectors - along[..., 0])


def word_shares(alpha: Array, words: Array, extra: Array) -> Array:
    """How much of the extra part each word feeds: mean over the regions of alpha_ij h_j . unit(e_i)."""
    return np.asarray((alpha * (unit(extra) @ words.T)).mean(axis=0))


@dataclass
class Reasons:
    """One sample: its vectors over the regions that are there."""

    text: str
    spoken: list[str]  # content words of the references that are looked at
    boxes: Array  # (regions, 4)
    regions: Floats32  # (regions, D)
    candidate: Floats32  # (regions, D) contexts
    said: Floats32  # (references, regions, D) contexts
    image: bool  # whether the regions are a truth
    meanings: Meanings
    group: Group
    number: int  # of the candidate among the batch's texts

    @classmethod
    def of(cls, batch: Batch, group: Group, place: int, meanings: Meanings, *, image: bool) -> Reasons:
        inside = group.mask[place] > 0
        number, own = int(group.candidates[place]), group.owner == place
        references = [batch.texts[text] for text in group.pairs[1][group.which[own]]]
        return cls(
            text=batch.texts[number],
            spoken=content(" ".join(references)),
            boxes=group.grounding.table.boxes[group.images[place]][inside],
            regions=group.regions[place][inside],
            candidate=group.candidate[place][inside],
            said=group.reference(place)[:, inside],
            image=image,
            meanings=meanings,
            group=group,
            number=number,
        )

    @cached_property
    def truths(self) -> Floats32:
        """(truths, regions, D), the regions first."""
        return np.concatenate([self.regions[None], self.said]) if self.image else self.said

    @cached_property
    def spoken_forms(self) -> frozenset[str]:
        """What the references' words are, or are forms of."""
        return frozenset(form for word in self.spoken for form in base_forms(word))

    @cached_property
    def extra(self) -> Array:
        """(regions, D): what of the contexts no truth says."""
        return beyond(self.candidate, self.truths)

    def explanation(self, label: str, *, full: bool) -> Explanation:
        words, missing = tuple(self._words()), tuple(self._missing())
        if not full:
            return Explanation(label, words=words, missing=missing)
        alpha, alive = self._attention(), points(self.group.grounding.model.meta, "attention")
        drawn = heatmap("regions x words of the candidate: attention", self._pieces(), alpha, self.boxes)
        return Explanation(
            label,
            words=words,
            missing=missing,
            heatmaps=(drawn,) if alive else (),
            notes=() if alive else (NO_MAP,),
            facts=self._facts(alpha),
        )

    # --- words --------------------------------------------------------------------------------------------------

    def _words(self) -> list[WordEvidence]:
        spans = words_of(self.text)
        names = dict.fromkeys(text.lower() for text, _, _ in spans)
        evidence = self._evidence([word for word in names if word in self.meanings])
        return [WordEvidence(text, start, end, *evidence.get(text.lower(), ())) for text, start, end in spans]

    def _evidence(self, words: list[str]) -> dict[str, tuple[float, str, Box | None]]:
        """Support, source and region of content words."""
        if not words or not len(self.truths):
            return {}
        vectors = self.meanings(words)
        near = unit(self.truths) @ vectors.T  # (truths, regions, words)
        extra = np.maximum(vectors @ unit(self.extra.mean(axis=0)), 0.0)
        support = np.clip((1.0 + np.maximum(near.max(axis=(0, 1)), 0.0) - extra) / 2, 0.0, 1.0)
        best = near.max(axis=1).argmax(axis=0)  # which truth; the first is the image, where it is one
        region = near[0].argmax(axis=0)
        found: dict[str, tuple[float, str, Box | None]] = {}
        for place, word in enumerate(words):
            said = bool(base_forms(word) & self.spoken_forms)
            source = "image" if self.image and best[place] == 0 and not said else "references"
            box = box_of(self.boxes[region[place]]) if self.image else None
            found[word] = (1.0 if said else float(support[place]), source, box)
        return found

    def _missing(self) -> list[MissingContent]:
        """Words of the references nearest to what they say and the candidate does not."""
        if not len(self.said):
            return []
        own = frozenset(form for word in content(self.text) for form in base_forms(word))
        left = residual(self.said, self.candidate[None]).mean(axis=(0, 1))
        named = self.meanings.nearest(left, [word for word in self.spoken if not base_forms(word) & own])
        return [MissingContent(word, weight, "references") for word, weight in named if weight > 0]

    # --- pictures -----------------------------------------------------------------------------------------------

    def _facts(self, alpha: Array) -> dict[str, Any]:
        own = content(self.text)
        words = self.group.grounding.words[self.number]
        missing = residual(self.regions, self.candidate)
        return {
            "extra_by_word": word_shares(alpha, words, self.extra).tolist(),
            "extra_by_region": np.linalg.norm(self.extra, axis=1).tolist(),
            "missing_by_region": np.linalg.norm(missing, axis=1).tolist(),
            "nearest_to_extra": [[word for word, _ in self.meanings.nearest(part, own, 3)] for part in self.extra],
        }

    def _attention(self) -> Array:
        """(regions, words) weights alpha."""
        grounding = self.group.grounding
        words = grounding.words[self.number]
        given = self.regions @ words.T, np.ones(len(self.regions), np.float32), grounding.model.attention
        return weights(*given, there(words))

    def _pieces(self) -> list[str]:
        """The words of the candidate as the model reads them."""
        states = self.group.grounding.states
        if states is None:
            spans = vocabulary.spans(self.text, self.group.grounding.model.cut)
        else:
            spans = states.spans[states.offsets[self.number] : states.offsets[self.number + 1]].tolist()
        return [self.text[start:end] if end > start else _MARK for start, end in spans]
