"""What a photo says of claims, by visual words: log odds beyond those of any photo, and where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vericap.core.explanation import Box
from vericap.core.typing import Floats32, Ints
from vericap.metrics.verdict.claims import COUNT, MANY, NUMBERS, Claim
from vericap.metrics.verdict.lexicon import NEAREST, Known, Lexicon
from vericap.models.visual_words import PhotoWords, VisualWords, box_of, pooled, regions_of, softmax

# Evidence of the word over the whole photo and at its best cell; of the phrase, where the vocabulary has it, else of
# the word; of the word at the cells of the object it is said of; how likely the word is in any photo; how near a known
# word comes to it; how much likelier a word of its kind is instead, in the photo and at the object; how far the number
# of things seen is from the one said.
SIGHT = ("evidence", "best", "phrase", "local", "prior", "likeness", "rival", "rival there", "counted")
NO_SIGHT = (0.0, 0.0, 0.0, 0.0, -5.0, 0.0, 0.0, 0.0, 0.0)
_FAINT = 2.5  # log odds below its best cell at which a thing is half seen


@dataclass(frozen=True)
class Sightings:
    """What a photo says of claims."""

    numbers: Floats32  # (claims, SIGHT)
    heat: Floats32  # (cells, claims): log odds of each claim's word at every cell
    regions: Floats32  # (claims, 4)
    known: Ints  # claims that the vocabulary knows; the others are relations


class PhotoSight:
    """One photo, asked about claims."""

    def __init__(self, model: VisualWords, photo: PhotoWords) -> None:
        self.model, self.photo = model, photo
        self.side = round(len(photo.cells) ** 0.5)

    def sightings(self, claims: Sequence[Claim], subjects: Ints, lexicon: Lexicon) -> Sightings:
        """What the photo says of claims; `subjects` are the places of the claims that each is said of (-1: none)."""
        known = [lexicon[claim] for claim in claims]
        there = np.array([place for place, own in enumerate(known) if own is not None], dtype=np.int64)
        numbers = np.tile(np.array(NO_SIGHT, dtype=np.float32), (len(claims), 1))
        heat = np.zeros((len(self.photo.cells), len(claims)), dtype=np.float32)
        regions = np.zeros((len(claims), 4), dtype=np.float32)
        if len(there):
            asked = _Asked.of([own for own in known if own is not None], lexicon.rivals)
            heats = self._heats(asked)
            heat[:, there] = heats.claims
            regions[there] = regions_of(self.photo, heats.claims)
            numbers[there, :7] = heats.photo_numbers(self.model)
            said_of = np.flatnonzero((subjects[there] >= 0) & np.isin(subjects[there], there))
            if len(said_of):
                places = softmax(heat[:, subjects[there[said_of]]])
                numbers[there[said_of], 3], numbers[there[said_of], 7] = heats.local_numbers(said_of, places)
            for place in there[said_of].tolist():
                if claims[place].kind == COUNT:
                    numbers[place, 8] = self._counted(claims[place].text, heat[:, subjects[place]])
        return Sightings(numbers, heat, regions, there)

    def _heats(self, asked: _Asked) -> _Heats:
        cells = self.model.at_cells(self.photo, asked.every)
        whole = self.model.whole_of(self.photo, asked.every)
        evidence = self.model.evidence(whole, pooled(cells), asked.every)
        mix = np.zeros((len(asked.every), len(asked.entries)), dtype=np.float32)
        np.add.at(mix, (asked.entries, np.arange(len(asked.entries))[:, None]), asked.shares)
        return _Heats(asked, cells, evidence, mix, np.asarray(cells @ mix, dtype=np.float32))

    def _counted(self, number: str, heat: Floats32) -> float:
        """How the number of boxes that hold a thing agrees with the number that is said: 0 at best."""
        boxes = self.photo.boxes
        if not len(boxes):
            return 0.0
        middle = np.minimum((boxes[:, :2] + boxes[:, 2:]) / 2 * self.side, self.side - 1).astype(np.int64)
        near = heat[middle[:, 1] * self.side + middle[:, 0]] - heat.max() + _FAINT
        seen = float(np.log1p((self.photo.certain / (1 + np.exp(-2 * near))).sum()))
        if number in NUMBERS:
            return -abs(seen - float(np.log1p(NUMBERS[number])))
        return min(seen - float(np.log1p(4)), 0.0) if number in MANY else 0.0

    def unsaid(self, said: set[int], most: int) -> list[tuple[int, float, Box]]:
        """Entries the photo makes people say, without some: number, expected share of captions, region."""
        whole = self.model.whole(self.photo)
        order = [place for place in np.argsort(-whole)[: 8 * most].tolist() if place not in said]
        asked = np.array(order[: 4 * most], dtype=np.int64)
        cells = self.model.at_cells(self.photo, asked)
        odds = self.model.prior[asked] + self.model.evidence(whole[asked], pooled(cells), asked)
        best = np.argsort(-odds)[:most].tolist()
        regions = regions_of(self.photo, cells)
        return [(int(asked[b]), float(1 / (1 + np.exp(-odds[b]))), box_of(regions[b])) for b in best]


@dataclass(frozen=True)
class _Asked:
    """Entries that claims ask for, each once, and their places among them."""

    every: Ints
    entries: Ints  # (claims, NEAREST)
    shares: Floats32
    phrases: Ints  # (claims,); -1: none
    rivals: Ints  # (claims, RIVALS); -1: none
    likeness: Floats32

    @classmethod
    def of(cls, known: Sequence[Known], rivals: Ints) -> _Asked:
        entries = np.array([own.entries for own in known], dtype=np.int64)
        phrases = np.array([own.phrase for own in known], dtype=np.int64)
        others = rivals[entries[:, 0]]
        shares = np.array([own.shares for own in known], dtype=np.float32)
        # An entry without a share is asked for nothing: the first one stands in its place.
        entries = np.where(shares > 0, entries, entries[:, :1])
        joined = np.concatenate([entries, phrases[:, None], others], axis=1)
        joined = np.where(joined < 0, entries[:, :1], joined)
        every, places = np.unique(joined, return_inverse=True)
        places = places.reshape(joined.shape)
        own, phrase, other = np.split(places, [NEAREST, NEAREST + 1], axis=1)
        likeness = np.array([known.likeness for known in known], dtype=np.float32)
        return cls(
            every, own, shares, np.where(phrases < 0, -1, phrase[:, 0]), np.where(others < 0, -1, other), likeness
        )


@dataclass(frozen=True)
class _Heats:
    """Log odds at cells and evidence of the entries that claims ask for."""

    asked: _Asked
    cells: Floats32  # (cells, entries)
    evidence: Floats32  # (entries,)
    mix: Floats32  # (entries, claims): shares
    claims: Floats32  # (cells, claims)

    def photo_numbers(self, model: VisualWords) -> Floats32:
        """(claims, 7): the numbers that need no object; `local` is 0."""
        asked, every = self.asked, self.asked.every
        evidence, prior = self.evidence @ self.mix, model.prior[every] @ self.mix
        best = self.claims.max(axis=0) - model.bias[every] @ self.mix
        phrase = np.where(asked.phrases >= 0, self.evidence[asked.phrases], evidence)
        odds = np.append(self.evidence + model.prior[every], -np.inf)  # the last one: no rival
        rival = odds[asked.rivals].max(axis=1) - evidence - prior
        rival = np.where(np.isfinite(rival), rival, 0.0)
        zero = np.zeros_like(evidence)
        return np.stack([evidence, best, phrase, zero, prior, asked.likeness, rival], axis=1)

    def local_numbers(self, which: Ints, places: Floats32) -> tuple[Floats32, Floats32]:
        """Of claims that are said of something: heat at its cells beyond the mean, and how much hotter rivals are."""
        there = self.cells.T @ places  # (entries, claims)
        own = (there * self.mix[:, which]).sum(axis=0)
        local = own - self.claims[:, which].mean(axis=0)
        rows = np.concatenate([there, np.full((1, there.shape[1]), -np.inf, dtype=np.float32)])
        rival = rows[self.asked.rivals[which], np.arange(len(which))[:, None]].max(axis=1) - own
        return local, np.where(np.isfinite(rival), rival, 0.0)


def geometry(heat: Floats32, boxes: Floats32, pairs: Ints) -> Floats32:
    """(pairs, 8): how two things lie to each other, from their heats (cells, things) and boxes (things, 4)."""
    side = round(len(heat) ** 0.5)
    things, places = np.unique(pairs, return_inverse=True)
    places = places.reshape(pairs.shape)
    rows, columns = np.divmod(np.arange(len(heat)), side)
    cells = (np.stack([columns, rows], axis=1) + 0.5) / side
    hot = softmax(2 * heat[:, things]).T @ cells
    own = boxes[things].astype(np.float64)
    first, second = places.T
    a, b, p, q = hot[first], hot[second], own[first], own[second]
    areas = [(box[:, 2:] - box[:, :2]).prod(axis=1) for box in (p, q)]
    middle = ((p[:, :2] + p[:, 2:]) - (q[:, :2] + q[:, 2:])) / 2
    low, high = np.maximum(p[:, :2], q[:, :2]), np.minimum(p[:, 2:], q[:, 2:])
    shared = np.clip(high - low, 0, None).prod(axis=1)
    joint = shared / np.maximum(areas[0] + areas[1] - shared, 1e-9)
    size = np.log((areas[0] + 0.01) / (areas[1] + 0.01))
    apart = np.abs(a - b).sum(axis=1)
    found = [*(a - b).T, *middle.T, size, joint, p[:, 3] - q[:, 3], apart]
    return np.stack(found, axis=1).astype(np.float32)
