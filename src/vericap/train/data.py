"""Training data: photos with one or more captions each, from files of captions and Flickr8k's layout."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vericap.core.errors import InputError
from vericap.core.typing import Array, Bools, Ints
from vericap.train.caption_files import read_captions
from vericap.vision.images import find

PER_IMAGE = 5  # captions of an image that are read at most, the first ones
_NEIGHBOURS = 100  # texts or images that share a nearest one, on average
_BLOCK = 4096


@dataclass(frozen=True)
class Captioned:
    """Image keys with one or more captions each."""

    keys: list[str]
    captions: list[list[str]]

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def most(self) -> int:
        """The largest number of captions of an image."""
        return max(map(len, self.captions), default=0)

    def texts(self, each: int) -> list[str]:
        """`each` captions of every image, one image after the other; where there are fewer they come in turn again.

        >>> Captioned(["x", "y"], [["a"], ["b", "c"]]).texts(3)
        ['a', 'a', 'a', 'b', 'c', 'b']
        """
        return [own[k % min(len(own), each)] for own in self.captions for k in range(each)]

    def places(self, each: int) -> CaptionPlaces:
        """Which of `texts` are captions, not a caption come again."""
        return CaptionPlaces(np.array([min(len(own), each) for own in self.captions], dtype=np.int64), each)

    def only(self, keep: Iterable[str]) -> Captioned:
        wanted = set(keep)
        which = [i for i, name in enumerate(self.keys) if name in wanted]
        return Captioned([self.keys[i] for i in which], [self.captions[i] for i in which])

    def without(self, drop: Iterable[str]) -> Captioned:
        unwanted = set(drop)
        return self.only(name for name in self.keys if name not in unwanted)

    def with_photos(self, folder: str | Path) -> Captioned:
        """Those whose photo is in a folder."""

        def there(key: str) -> bool:
            try:
                return find(key, folder).is_file()
            except InputError:
                return False

        found = self.only(key for key in self.keys if there(key))
        if not len(found):
            raise InputError(f"none of the {len(self)} photos is in {folder}")
        return found

    def first(self, count: int | None) -> Captioned:
        """The first images; all of them for None."""
        return Captioned(self.keys[:count], self.captions[:count])

    def sample(self, count: int, seed: int = 0) -> Captioned:
        """A random part, the larger one containing the smaller one for the same seed."""
        order = np.random.default_rng(seed).permutation(len(self))[:count]
        return Captioned([self.keys[i] for i in order], [self.captions[i] for i in order])

    def __add__(self, other: Captioned) -> Captioned:
        return Captioned(self.keys + other.keys, self.captions + other.captions)


@dataclass(frozen=True)
class CaptionPlaces:
    """Captions of images where `each` places are kept for every image: caption k of image i at `each * i + k`.

    An image with fewer captions has them in turn again; `counts` says how many differ.
    """

    counts: Ints  # (images,)
    each: int

    @classmethod
    def full(cls, images: int, each: int) -> CaptionPlaces:
        """The same number of captions of every image."""
        return cls(np.full(images, each, dtype=np.int64), each)

    def __len__(self) -> int:
        return len(self.counts)

    @cached_property
    def columns(self) -> Ints:
        """Places of all captions, none twice."""
        return np.flatnonzero(self.there(np.arange(len(self))).reshape(-1))

    @cached_property
    def owners(self) -> Ints:
        """The image of each of `columns`."""
        return self.columns // self.each

    @property
    def fewest(self) -> int:
        return int(self.counts.min(initial=self.each))

    def there(self, rows: Ints) -> Bools:
        """(rows, each): which places of some images are captions for the first time."""
        return np.asarray(np.arange(self.each) < self.counts[rows][:, None])

    def drawn(self, rows: Ints, wanted: int, generator: np.random.Generator) -> Ints:
        """(rows, wanted) captions of images in random order; where there are fewer they come in turn again."""
        turns = np.arange(wanted)
        own = [generator.permutation(count)[turns % count] for count in self.counts[rows].tolist()]
        return np.stack(own) if own else np.zeros((0, wanted), dtype=np.int64)

    def first(self, each: int) -> CaptionPlaces:
        """The same of the first `each` captions."""
        return CaptionPlaces(np.minimum(self.counts, each), each)


def coco(files: Sequence[str | Path], *, never: str | Path | None = None) -> Captioned:
    """Captions of files (`caption_files` says which), at most five of an image; keys are image ids or names."""
    left_out = set(lines(never)) if never else set()
    captions: dict[str, list[str]] = {}
    for file in files:
        for key, text in read_captions(Path(file)):
            if key not in left_out:
                captions.setdefault(key, []).append(text)
    if not captions:
        raise InputError(f"no caption of an image that may be trained on in {', '.join(map(str, files))}")
    return Captioned(list(captions), [texts[:PER_IMAGE] for texts in captions.values()])


def flickr8k(folder: str | Path, split: str) -> Captioned:
    """A split (train, dev, test) of Flickr8k; keys are file names."""
    root = Path(folder)
    captions: dict[str, list[str]] = {}
    try:
        names = (root / f"Flickr_8k.{split}Images.txt").read_text("utf-8").split()
        rows = (root / "Flickr8k.token.txt").read_text("utf-8").splitlines()
    except OSError as error:
        raise InputError(f"{root} is not a Flickr8k folder ({error})") from error
    for line in rows:
        key, _, text = line.partition("\t")
        captions.setdefault(key.split("#")[0], []).append(text.strip())
    known = [name for name in names if name in captions]
    if not known:
        raise InputError(f"no caption of the {len(names)} {split} images in {root}")
    return Captioned(known, [captions[name][:PER_IMAGE] for name in known])


def lines(file: str | Path) -> list[str]:
    """Ids of a file, one per line."""
    try:
        rows = Path(file).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read as a list of ids ({error})") from error
    return [row.strip() for row in rows if row.strip()]


class Draw:
    """Which images make batch k: passes over a permutation, each depending on the seed and the pass alone."""

    def __init__(self, count: int, size: int, seed: int) -> None:
        self.count, self.size, self.seed = count, min(size, count), seed

    def batch(self, step: int) -> Ints:
        per_pass = max(self.count // self.size, 1)
        order = np.random.default_rng([self.seed, 7, step // per_pass]).permutation(self.count)
        start = (step % per_pass) * self.size
        return np.sort(order[start : start + self.size])


class NeighbourDraw:
    """Which texts make batch k, or images by vectors of their captions: every pass cuts all of them into short runs of
    neighbours and mixes the runs.

    Two texts drawn at random have nothing in common; how alike similar ones are is learned from neighbours. Who they
    are depends on the seed and the pass alone: texts that are nearest to the same of some texts drawn at random.
    """

    def __init__(self, vectors: NDArray[np.float16], size: int, seed: int, *, run: int = 16) -> None:
        self._vectors, self._size, self._seed = vectors, min(size, len(vectors)), seed
        self._run = run  # neighbours that are drawn together
        self._per_pass = max(len(vectors) // self._size, 1)
        self._pass = -1
        self._order: Ints = np.zeros(0, dtype=np.int64)

    def batch(self, step: int) -> Ints:
        if step // self._per_pass != self._pass:
            self._pass = step // self._per_pass
            self._order = self._ordered(np.random.default_rng([self._seed, 7, self._pass]))
        start = (step % self._per_pass) * self._size
        return np.sort(self._order[start : start + self._size])

    def _ordered(self, generator: np.random.Generator) -> Ints:
        count = len(self._vectors)
        chosen = generator.permutation(count)[: max(count // _NEIGHBOURS, 1)]
        mean = self._vectors[chosen].astype(np.float32).mean(axis=0)
        centres = self._vectors[chosen].astype(np.float32) - mean
        centres /= np.maximum(np.linalg.norm(centres, axis=1, keepdims=True), 1e-6)
        nearest = np.concatenate(
            [
                (self._vectors[start : start + _BLOCK].astype(np.float32) @ centres.T - mean @ centres.T).argmax(axis=1)
                for start in range(0, count, _BLOCK)
            ]
        )
        order = np.lexsort((generator.random(count), nearest))
        runs = [order[start : start + self._run] for start in range(0, count, self._run)]
        return np.concatenate([runs[place] for place in generator.permutation(len(runs))])


def drawn(sentences: Array, size: int, seed: int, *, near: int = 1) -> Draw | NeighbourDraw:
    """Batches of images whose captions' vectors (images, captions, d) are given, at random or by neighbours."""
    if near < 2:
        return Draw(len(sentences), size, seed)
    blocks = range(0, len(sentences), _BLOCK)
    means = [np.asarray(sentences[start : start + _BLOCK], dtype=np.float32).mean(axis=1) for start in blocks]
    return NeighbourDraw(np.concatenate(means).astype(np.float16), size, seed, run=near)
