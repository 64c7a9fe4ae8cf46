"""What FAIEr learns from: regions of a store, and captions as numbers of words and triplets, parsed once and kept."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from vericap.core.typing import Array, Ints
from vericap.models.arrays import runs
from vericap.models.faier import EMPTY, UNKNOWN, reading
from vericap.train import kept
from vericap.train.data import CaptionPlaces
from vericap.train.faier.network import CodedCaptions
from vericap.train.named import BoxTeacher
from vericap.vision.store import FeatureStore

_TOGETHER = 50_000  # captions parsed between two lines of progress
_PARTS = ("words", "counts", "triplet_words", "lengths", "triplets")


@dataclass(frozen=True)
class ParsedCaptions:
    """Captions one after the other; words are numbers of `table`."""

    table: list[str]
    words: Array
    counts: Array  # words per caption, at least one
    triplet_words: Array
    lengths: Array  # words per triplet
    triplets: Array  # triplets per caption

    def __len__(self) -> int:
        return len(self.counts)

    def save(self, file: Path, digest: str) -> None:
        letters = np.frombuffer("\n".join(self.table).encode("utf-8"), dtype=np.uint8)
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("wb") as stream:
            parts = {name: getattr(self, name) for name in _PARTS}
            np.savez_compressed(stream, table=letters, digest=np.array(digest), **parts)

    @classmethod
    def load(cls, file: Path, digest: str) -> ParsedCaptions | None:
        """What was kept for these captions, if it was."""
        if not file.is_file():
            return None
        with np.load(file, allow_pickle=False) as found:
            if str(found["digest"]) != digest:
                return None
            table = found["table"].tobytes().decode("utf-8").split("\n")
            return cls(table, *(found[name] for name in _PARTS))


def parse(captions: Sequence[str], file: Path, *, workers: int = 1, quiet: bool = False) -> ParsedCaptions:
    """Words and triplets of captions by the product's own tokens and scene graphs; kept in `file`."""
    digest = _digest(captions, kept.graphs_version())
    before = ParsedCaptions.load(file, digest)
    if before is not None:
        return before
    numbers: dict[str, int] = {}
    flat: dict[str, list[int]] = {name: [] for name in _PARTS}

    def add(words: Sequence[str], into: str, lengths: str) -> None:
        flat[into] += [numbers.setdefault(word, len(numbers)) for word in words]
        flat[lengths].append(len(words))

    for start in range(0, len(captions), _TOGETHER):
        texts = list(captions[start : start + _TOGETHER])
        for text, graph in zip(texts, kept.graphs(texts, threads=workers, progress=not quiet)):
            words, triplets = reading(text, graph)
            add(words or [EMPTY], "words", "counts")
            flat["triplets"].append(len(triplets))
            for triplet in triplets:
                add(triplet, "triplet_words", "lengths")
        if not quiet:
            print(f"parsed {start + len(texts)} of {len(captions)} captions", flush=True)
    found = ParsedCaptions(list(numbers), *(np.array(flat[name], dtype=np.int32) for name in _PARTS))
    found.save(file, digest)
    return found


def _digest(captions: Sequence[str], parser: str) -> str:
    digest = hashlib.sha256(f"1 {parser}".encode())
    for text in captions:
        digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()[:32]


def vocabulary(parts: Sequence[ParsedCaptions], rarest: int) -> list[str]:
    """Words seen often enough in captions or triplets, most frequent first, after the marks."""
    counts: dict[str, int] = {}
    for part in parts:
        seen = np.bincount(part.words, minlength=len(part.table))
        seen += np.bincount(part.triplet_words, minlength=len(part.table))
        for word, count in zip(part.table, seen.tolist()):
            counts[word] = counts.get(word, 0) + count
    often = (word for word, count in counts.items() if count >= rarest and word not in (UNKNOWN, EMPTY))
    return [UNKNOWN, EMPTY, *sorted(often, key=lambda word: (-counts[word], word))]


class CaptionTable:
    """Captions of several sets in a model's numbers; any of them at once, without a loop over words."""

    def __init__(self, parts: Sequence[ParsedCaptions], words: Sequence[str]) -> None:
        places = {word: place for place, word in enumerate(words)}
        unknown = places[UNKNOWN]
        numbered = [np.array([places.get(word, unknown) for word in part.table], dtype=np.int32) for part in parts]
        self._words = np.concatenate([table[part.words] for table, part in zip(numbered, parts)])
        self._triplet_words = np.concatenate([table[part.triplet_words] for table, part in zip(numbered, parts)])
        self._counts, self._lengths, self._triplets = (
            np.concatenate([getattr(part, name) for part in parts]).astype(np.int64)
            for name in ("counts", "lengths", "triplets")
        )
        self._starts, self._triplet_starts, self._first = (
            np.cumsum(counts) - counts for counts in (self._counts, self._lengths, self._triplets)
        )

    def __len__(self) -> int:
        return len(self._counts)

    def take(self, captions: Ints) -> CodedCaptions:
        """The captions at some places."""
        counts, triplets = self._counts[captions], self._triplets[captions]
        which = runs(self._first[captions], triplets)
        lengths = self._lengths[which]
        return CodedCaptions(
            self._words[runs(self._starts[captions], counts)].astype(np.int64),
            counts,
            self._triplet_words[runs(self._triplet_starts[which], lengths)].astype(np.int64),
            lengths,
            triplets,
        )


class StoredRegions:
    """Regions of chosen images, read from a store when asked for."""

    def __init__(self, store: FeatureStore, keys: Sequence[str]) -> None:
        self._store, self._places = store, store.places(keys)

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, rows: Ints) -> tuple[Tensor, Tensor, Tensor]:
        """Features, boxes and mask, padded to the largest number of regions."""
        found = [self._store.at(place) for place in self._places[rows]]
        most = max(len(features) for features, _ in found)
        features = np.zeros((len(found), most, self._store.width), dtype=np.float32)
        boxes = np.zeros((len(found), most, 4), dtype=np.float32)
        mask = np.zeros((len(found), most), dtype=bool)
        for row, (values, places) in enumerate(found):
            features[row, : len(values)], boxes[row, : len(values)], mask[row, : len(values)] = values, places, True
        return torch.as_tensor(features), torch.as_tensor(boxes), torch.as_tensor(mask)


@dataclass
class FaierSource:
    """Images with the captions that are read, and sentence vectors (images, k, d) where the teacher is asked."""

    images: StoredRegions
    captions: CaptionTable  # k per image, those of image i at i * k
    sentences: Array | None = None
    there: CaptionPlaces | None = None  # where images have different numbers of captions
    boxes: BoxTeacher | None = None  # where objects are that words name

    def __len__(self) -> int:
        return len(self.images)

    @cached_property
    def places(self) -> CaptionPlaces:
        return self.there or CaptionPlaces.full(len(self), len(self.captions) // max(len(self), 1))
