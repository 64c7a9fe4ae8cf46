"""Words of captions that name a class of boxes, and where a photo shows it: what boxes teach SCAN's words.

A word that names one of the classes should be most like the regions that lie on a box of that class. The target of a
word over the regions of its photo is the squared overlap with the nearest box, of regions whose middle lies in one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from vericap.core.typing import Floats32, Ints
from vericap.text.encoders import SentenceEncoder
from vericap.train.kept import StoreFeatures
from vericap.train.words.boxes import NONE, PhotoBoxes, inside
from vericap.vision.cells import overlap
from vericap.vision.mentions import mentions

_TOGETHER = 4096  # captions cut into word pieces at a time


@dataclass(frozen=True)
class NamedWords:
    """Pieces of captions that name classes: caption i has entries offsets[i]:offsets[i + 1]."""

    offsets: Ints
    pieces: Ints  # places among the caption's pieces, marks counted
    kinds: Ints  # numbers of `classes`
    classes: list[tuple[int, ...]]  # classes any of which a word may name

    @classmethod
    def of(cls, captions: Sequence[str], encoder: SentenceEncoder, names: Sequence[str]) -> NamedWords:
        numbers = {name: number for number, name in enumerate(names)}
        known: dict[tuple[int, ...], int] = {}
        counts, pieces, kinds = [0], [], []
        for start in range(0, len(captions), _TOGETHER):
            some = list(captions[start : start + _TOGETHER])
            for text, cut in zip(some, encoder.cut(some)):
                for said in mentions(text):
                    own = tuple(numbers[name] for name in said.classes if name in numbers)
                    if own:
                        kind = known.setdefault(own, len(known))
                        places = [at for at, (a, b) in enumerate(cut.offsets) if a < said.end and b > said.start]
                        pieces += places
                        kinds += [kind] * len(places)
                counts.append(len(pieces))
        return cls(np.array(counts), np.array(pieces, dtype=np.int64), np.array(kinds, dtype=np.int64), list(known))


@dataclass
class Pointed:
    """Words of a step that name a class: the image, the row of the word among all, and the share of each region."""

    images: torch.Tensor
    rows: torch.Tensor
    shares: torch.Tensor  # (words, regions)


class BoxTeacher:
    """Boxes of the photos of one source, and the words of their captions that name them."""

    def __init__(self, named: NamedWords, features: StoreFeatures, photos: Sequence[PhotoBoxes]) -> None:
        self._named, self._features, self._photos = named, features, photos

    def pointed(self, rows: Ints, captions: Ints, counts: Ints) -> Pointed | None:
        """What boxes say of the captions (images, k) of photos, whose pieces (`counts`) lie one after the other."""
        starts = np.cumsum(counts) - counts
        boxes = self._features.boxes(rows)
        images, places, shares = [], [], []
        for number, caption in enumerate(captions.reshape(-1).tolist()):
            image = number // captions.shape[1]
            own = slice(self._named.offsets[caption], self._named.offsets[caption + 1])
            for piece, kind in zip(self._named.pieces[own].tolist(), self._named.kinds[own].tolist()):
                target = shares_of(boxes[image], self._photos[rows[image]], self._named.classes[kind])
                if target is not None:
                    images.append(image)
                    places.append(int(starts[number]) + piece)
                    shares.append(target)
        if not images:
            return None
        return Pointed(torch.tensor(images), torch.tensor(places), torch.as_tensor(np.stack(shares)))


def shares_of(regions: Floats32, photo: PhotoBoxes, classes: tuple[int, ...]) -> Floats32 | None:
    """The target over regions (n, 4) of a word that names classes; None where no region lies on any of them."""
    own = photo.boxes[np.isin(photo.classes, classes)]
    if not len(own):
        return None
    lies = inside(own, np.asarray((regions[:, :2] + regions[:, 2:]) / 2, dtype=np.float32))
    weights = np.stack([overlap(box, regions) for box in own]) * lies
    best = (weights.max(axis=0) + 0.02 * lies.any(axis=0)) ** 2
    return (best / best.sum()).astype(np.float32) if best.any() else None


def photos_of(keys: Sequence[str], boxes: Mapping[int, PhotoBoxes]) -> list[PhotoBoxes]:
    """Boxes of photos by their ids or file names; none where a photo has none."""
    numbers = [key.rpartition("/")[2].partition(".")[0].rpartition("_")[2] for key in keys]
    return [boxes.get(int(number), NONE) if number.isdigit() else NONE for number in numbers]
