"""People's ratings of images with captions, and of captions with each other (Crisscrossed Captions' two files).

Photos are parted by their names alone: a part fits weights, a part sets thresholds, the rest checks. Whatever learns
from ratings learns from the first part, so that figures on the last are of photos nothing has been fitted to.
"""

from __future__ import annotations

import argparse
import gzip
import json
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from vericap.core.errors import InputError
from vericap.core.typing import Bools, Floats32, Ints
from vericap.train.data import Captioned, coco
from vericap.vision.store import FeatureStore

FIT, HELD = 0.55, 0.75  # photos that fit weights; those up to the second share set thresholds, the rest check
_MOST = 5.0  # the best rating


def share_of(image: str) -> float:
    """A number from 0 to 1 by which photos are parted, drawn by their names alone."""
    return int.from_bytes(sha256(image.encode()).digest()[:4], "big") / 2**32


def photo_name(number: Any) -> str:
    """How a photo of COCO is called."""
    return f"{int(number):012d}.jpg"


def records(file: str | Path) -> Iterator[dict[str, Any]]:
    """Lines of a JSONL file, packed or not."""
    opened = gzip.open if str(file).endswith(".gz") else open
    try:
        with opened(file, "rt", encoding="utf-8") as stream:
            for line in filter(str.strip, stream):
                yield json.loads(line)
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise InputError(f"{file} is no JSONL file ({error})") from error


@dataclass(frozen=True)
class Rating:
    """What people gave a caption of a photo (0 to 1), with the photo's other captions as references."""

    image: str
    caption: str
    references: tuple[str, ...]
    own: bool  # whether it was written for this photo
    value: float


def ratings(file: str | Path, captions: Captioned) -> list[Rating]:
    """Ratings of photos that may be trained on and have captions."""
    own = dict(zip(captions.keys, captions.captions))
    found = []
    for number, record in enumerate(records(file), 1):
        with _named(file, number):
            key = str(record["image_id"])
            if record.get("trainable") and record.get("photo") and key in own:
                text = record["caption"].strip()
                rest = tuple(other for other in own[key] if other.strip() != text)
                found.append(Rating(photo_name(key), text, rest, bool(record["own"]), record["rating"] / _MOST))
    return found


@contextmanager
def _named(file: str | Path, number: int) -> Iterator[None]:
    """Says which record of a file is not as it should be."""
    try:
        yield
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{file}, record {number}: no rating as Crisscrossed Captions has them ({error!r})") from error


@dataclass(frozen=True)
class Likeness:
    """How alike people find two captions (0 to 1), and whose they are."""

    texts: tuple[str, str]
    images: tuple[str, str]
    value: float


def likenesses(file: str | Path, never: Collection[str] = ()) -> list[Likeness]:
    """Ratings of pairs of captions; those of photos that are never trained on are left out."""
    found, left_out = [], set(never)
    for number, record in enumerate(records(file), 1):
        with _named(file, number):
            first, second = str(record["image_a"]), str(record["image_b"])
            if left_out.isdisjoint((first, second)):
                texts = record["caption_a"].strip(), record["caption_b"].strip()
                found.append(Likeness(texts, (photo_name(first), photo_name(second)), record["rating"] / _MOST))
    return found


class RatedDraw(NamedTuple):
    """Some photos with one rated caption each, and references of them."""

    rows: Ints
    columns: Ints  # (photos,) the rated caption's place
    given: Ints  # (photos, references) places of own captions
    use: Bools  # (photos, references): which are given
    values: Floats32  # (photos,) ratings


@dataclass(frozen=True)
class RatedPhotos:
    """Photos with captions written for them, and then captions of other photos that people rated here."""

    photos: Captioned
    own: Ints  # (photos,) captions that were written for it
    values: Floats32  # (photos, most captions): NaN where nothing was rated

    def __len__(self) -> int:
        return len(self.photos)

    def drawn(self, count: int, references: int, generator: np.random.Generator) -> RatedDraw:
        """Photos at random; all of them have references, at most so many, or none has: the two are rated apart."""
        rows = np.sort(generator.permutation(len(self))[:count])
        rated = ~np.isnan(self.values[rows])
        columns = (generator.random(rated.shape) * rated).argmax(axis=1)
        given = np.stack([generator.permutation(own)[np.arange(references) % own] for own in self.own[rows].tolist()])
        most = np.minimum(generator.integers(1, references + 1, len(rows)), self.own[rows])
        use = np.arange(references) < most[:, None] * int(generator.integers(0, 2))
        return RatedDraw(rows, columns, given, use, self.values[rows, columns])


def rated_photos(found: Sequence[Rating], store: FeatureStore, low: float = 0.0, high: float = FIT) -> RatedPhotos:
    """Photos of a share that have features, with the ratings of other photos' captions: that people like a caption
    which was written for the photo needs no learning."""
    rated: dict[str, list[Rating]] = {}
    for one in found:
        if not one.own and one.references and one.image in store and low <= share_of(one.image) < high:
            rated.setdefault(one.image, []).append(one)
    own = [list(max(theirs, key=lambda one: len(one.references)).references) for theirs in rated.values()]
    captions = [[*texts, *(one.caption for one in theirs)] for texts, theirs in zip(own, rated.values())]
    values = np.full((len(rated), max(map(len, captions), default=0)), np.nan, dtype=np.float32)
    for row, (texts, theirs) in enumerate(zip(own, rated.values())):
        values[row, len(texts) : len(texts) + len(theirs)] = [one.value for one in theirs]
    if not rated:
        raise InputError("none of the photos that people rated captions of is in the store")
    return RatedPhotos(Captioned(list(rated), captions), np.array(list(map(len, own)), dtype=np.int64), values)


def add_arguments(parser: argparse.ArgumentParser, *, weight: float) -> None:
    """Ratings that a model learns from beside its teacher."""
    parser.add_argument(
        "--ratings", metavar="FILE", help="learn people's ratings of images with captions too (CxC; part of the photos)"
    )
    parser.add_argument(
        "--rating-weight", type=float, default=weight, metavar="WEIGHT", help=f"of what they teach ({weight:g})"
    )


def rated_of(args: argparse.Namespace, store: FeatureStore) -> RatedPhotos | None:
    """The photos that --ratings names, where it is given."""
    if not 0 < args.share <= 1 or (args.share < 1 and not args.start):
        raise InputError(f"`share={args.share:g}` is a share of the way from `start=NAME`: above 0, at most 1")
    if not args.ratings:
        return None
    return rated_photos(ratings(args.ratings, coco(args.captions, never=args.never)), store)
