"""Training data: photos with their captions, from COCO and Flickr8k layouts, exclusions first."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vericap.core.errors import InputError
from vericap.core.typing import Ints
from vericap.vision.images import find

PER_IMAGE = 5


@dataclass(frozen=True)
class Captioned:
    """Image keys with the same number of captions each."""

    keys: list[str]
    captions: list[list[str]]

    def __len__(self) -> int:
        return len(self.keys)

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


def load_json(file: Path) -> Any:
    try:
        if file.suffix == ".gz":
            with gzip.open(file, "rt", encoding="utf-8") as stream:
                return json.load(stream)
        return json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{file} cannot be read as JSON ({error})") from error


def coco(files: Sequence[str | Path], *, never: str | Path | None = None) -> Captioned:
    """COCO caption files; keys are image ids. Images with fewer than five captions are left out."""
    left_out = set(Path(never).read_text("utf-8").split()) if never else set()
    captions: dict[str, list[str]] = {}
    for file in files:
        for item in load_json(Path(file)).get("annotations", []):
            captions.setdefault(str(item["image_id"]), []).append(str(item["caption"]).strip())
    return _five({name: texts for name, texts in captions.items() if name not in left_out}, files)


def flickr8k(folder: str | Path, split: str) -> Captioned:
    """A split (train, dev, test) of Flickr8k; keys are file names."""
    root = Path(folder)
    captions: dict[str, list[str]] = {}
    try:
        names = (root / f"Flickr_8k.{split}Images.txt").read_text("utf-8").split()
        lines = (root / "Flickr8k.token.txt").read_text("utf-8").splitlines()
    except OSError as error:
        raise InputError(f"{root} is not a Flickr8k folder ({error})") from error
    for line in lines:
        key, _, text = line.partition("\t")
        captions.setdefault(key.split("#")[0], []).append(text.strip())
    return _five({name: captions[name] for name in names if name in captions}, [root])


def _five(captions: dict[str, list[str]], sources: Sequence[str | Path]) -> Captioned:
    whole = {name: texts[:PER_IMAGE] for name, texts in captions.items() if len(texts) >= PER_IMAGE}
    if not whole:
        raise InputError(f"no image with {PER_IMAGE} captions in {', '.join(map(str, sources))}")
    return Captioned(list(whole), list(whole.values()))


class Draw:
    """Which images make batch k: passes over a permutation, each depending on the seed and the pass alone."""

    def __init__(self, count: int, size: int, seed: int) -> None:
        self.count, self.size, self.seed = count, min(size, count), seed

    def batch(self, step: int) -> Ints:
        per_pass = max(self.count // self.size, 1)
        order = np.random.default_rng([self.seed, 7, step // per_pass]).permutation(self.count)
        start = (step % per_pass) * self.size
        return np.sort(order[start : start + self.size])
