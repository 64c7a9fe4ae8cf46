"""Words of captions that name a class of boxes, and where a photo shows it: what boxes teach words.

A word that names one of the classes should be most like the regions that lie on a box of that class. The target of a
word over the regions of its photo is the squared overlap with the nearest box, of regions whose middle lies in one.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from vericap.core.errors import InputError
from vericap.core.typing import Floats32, Ints
from vericap.train.kept import StoreFeatures
from vericap.train.words.boxes import NONE, PhotoBoxes, inside, read, read_classes
from vericap.vision.cells import overlap
from vericap.vision.mentions import mentions

_TOGETHER = 4096  # captions cut into pieces at a time
Spans = Sequence[tuple[int, int]]
Cut = Callable[[list[str]], Iterable[Spans]]  # texts -> where the pieces of each stand in it


@dataclass(frozen=True)
class NamedWords:
    """Pieces of captions that name classes: caption i has entries offsets[i]:offsets[i + 1]."""

    offsets: Ints
    pieces: Ints  # places among the caption's pieces
    kinds: Ints  # numbers of `classes`
    classes: list[tuple[int, ...]]  # classes any of which a word may name

    @classmethod
    def of(cls, captions: Sequence[str], cut: Cut, names: Sequence[str]) -> NamedWords:
        """`cut` makes the pieces that the model reads, `names` are those of the boxes' classes."""
        numbers = {name: number for number, name in enumerate(names)}
        known: dict[tuple[int, ...], int] = {}
        counts, pieces, kinds = [0], [], []
        for start in range(0, len(captions), _TOGETHER):
            some = list(captions[start : start + _TOGETHER])
            for text, spans in zip(some, cut(some)):
                for said in mentions(text):
                    own = tuple(numbers[name] for name in said.classes if name in numbers)
                    if own:
                        kind = known.setdefault(own, len(known))
                        places = [at for at, (a, b) in enumerate(spans) if a < said.end and b > said.start]
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

    def pointed(self, rows: Ints, captions: Ints, owners: Ints, counts: Ints) -> Pointed | None:
        """What boxes say of captions, whose pieces (`counts`) lie one after the other; caption i belongs to the photo
        rows[owners[i]]."""
        starts = np.cumsum(counts) - counts
        boxes = self._features.boxes(rows)
        images, places, shares = [], [], []
        for number, (caption, image) in enumerate(zip(captions.tolist(), owners.tolist())):
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


def add_arguments(parser: argparse.ArgumentParser, weight: float) -> None:
    parser.add_argument(
        "--boxes",
        nargs="+",
        default=[],
        metavar="FILE",
        help="boxes of objects (lines `image_id<tab>class,x,y,w,h ...`) that words which name them should attend to",
    )
    parser.add_argument("--classes", metavar="FILE", help="names of the boxes' classes, a JSON list")
    parser.add_argument("--box-weight", type=float, default=weight, help=f"of what boxes teach in the loss ({weight})")


def teacher(
    args: argparse.Namespace, keys: Sequence[str], captions: Sequence[str], cut: Cut, features: StoreFeatures
) -> BoxTeacher | None:
    """What the boxes named on the command line teach of images and their captions; None where they have none."""
    if not args.boxes:
        return None
    if not args.classes:
        raise InputError("`boxes=FILE` needs the names of the boxes' classes: `classes=FILE`")
    photos = photos_of(keys, read(args.boxes))
    if not any(len(photo.boxes) for photo in photos):
        return None
    return BoxTeacher(NamedWords.of(captions, cut, read_classes(args.classes)), features, photos)
