"""The pointing game on COCO boxes: does the best region of a word lie on what the word names?

For every noun of a caption that names one of COCO's classes, and whose boxes cover less than 35 % of the photo, a model
points at the centre of the region it matches best. Right: the point lies in a box of that class. Two baselines: the
centre of the photo, and a region of the model's own, drawn at random.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from vericap.core.typing import Bools, Floats
from vericap.reproduce.coco_boxes import BoxedPhoto, Meant
from vericap.reproduce.word_maps import WordMap

LARGEST = 0.35  # share of the photo that the boxes of a case may cover


@dataclass(frozen=True)
class Pointed:
    """One case: whether the model, the centre, and a random region (as a probability) are right."""

    model: bool
    centre: bool
    random: float


def inside(points: Floats, boxes: Floats) -> Bools:
    """(points,): whether each lies in any of the boxes."""
    low, high = boxes[None, :, :2], boxes[None, :, 2:]
    within = (points[:, None] >= low) & (points[:, None] <= high)
    return np.asarray(np.any(np.all(within, axis=2), axis=1))


def centres(boxes: Floats) -> Floats:
    return np.asarray((boxes[:, :2] + boxes[:, 2:]) / 2)


def pointed(found: WordMap, photo: BoxedPhoto, meant: Sequence[Meant]) -> Iterator[Pointed]:
    """All cases of one caption."""
    middle = np.array([[0.5, 0.5]])
    for own in meant:
        boxes, columns = photo.of(own.labels), found.places(own.start, own.end)
        if not len(boxes) or not columns or _area(boxes) >= LARGEST:
            continue
        right = inside(centres(found.boxes), boxes)
        best = int(found.values[:, columns].mean(axis=1).argmax())
        yield Pointed(bool(right[best]), bool(inside(middle, boxes)[0]), float(right.mean()))


def _area(boxes: Floats) -> float:
    """Share of the photo, boxes that overlap counted twice."""
    return float(np.prod(np.clip(boxes[:, 2:] - boxes[:, :2], 0, None), axis=1).sum())


@dataclass(frozen=True)
class Game:
    """What all cases of a model come to: shares of right cases of the model, the centre and a random region."""

    right: float
    centre: float
    random: float
    cases: int

    @classmethod
    def of(cls, cases: Sequence[Pointed]) -> Game:
        if not cases:
            return cls(0.0, 0.0, 0.0, 0)
        right, centre, random = (
            float(np.mean([getattr(case, name) for case in cases])) for name in ("model", "centre", "random")
        )
        return cls(right, centre, random, len(cases))

    @property
    def chance(self) -> float:
        """The better of the two baselines."""
        return max(self.centre, self.random)

    def as_dict(self) -> dict[str, float]:
        """As a model's meta file keeps it (`vericap.models.described.points`)."""
        shares = {"right": self.right, "chance": self.chance}
        return {**{name: round(share, 4) for name, share in shares.items()}, "cases": self.cases}
