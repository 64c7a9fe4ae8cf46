"""What FAIEr reads of training captions: words and scene-graph triplets as numbers, parsed once and kept on disk."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vericap.models.faier import EMPTY, UNKNOWN, reading
from vericap.train.faier import Coded, Ints, spans

Array = NDArray[Any]
_TOGETHER = 50_000  # captions parsed between two lines of progress
_PARTS = ("words", "counts", "triplet_words", "lengths", "triplets")


@dataclass(frozen=True)
class Parsed:
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
    def load(cls, file: Path, digest: str) -> Parsed | None:
        """What was kept for these captions, if it was."""
        if not file.is_file():
            return None
        with np.load(file, allow_pickle=False) as kept:
            if str(kept["digest"]) != digest:
                return None
            table = kept["table"].tobytes().decode("utf-8").split("\n")
            return cls(table, *(kept[name] for name in _PARTS))


def parse(captions: Sequence[str], file: Path, *, workers: int = 1, quiet: bool = False) -> Parsed:
    """Words and triplets of captions by the product's own tokens and scene graphs; kept in `file`."""
    from vericap.graphs.analysis import parse_texts, parser_name
    from vericap.run.batch import Settings

    settings = Settings(workers=workers, progress=not quiet)
    digest = _digest(captions, parser_name(settings))
    kept = Parsed.load(file, digest)
    if kept is not None:
        return kept
    numbers: dict[str, int] = {}
    flat: dict[str, list[int]] = {name: [] for name in _PARTS}

    def add(words: Sequence[str], into: str, lengths: str) -> None:
        flat[into] += [numbers.setdefault(word, len(numbers)) for word in words]
        flat[lengths].append(len(words))

    for start in range(0, len(captions), _TOGETHER):
        texts = list(captions[start : start + _TOGETHER])
        for text, graph in zip(texts, parse_texts(texts, settings)):
            words, triplets = reading(text, graph)
            add(words or [EMPTY], "words", "counts")
            flat["triplets"].append(len(triplets))
            for triplet in triplets:
                add(triplet, "triplet_words", "lengths")
        if not quiet:
            print(f"parsed {start + len(texts)} of {len(captions)} captions", flush=True)
    found = Parsed(list(numbers), *(np.array(flat[name], dtype=np.int32) for name in _PARTS))
    found.save(file, digest)
    return found


def _digest(captions: Sequence[str], parser: str) -> str:
    digest = hashlib.sha256(f"1 {parser}".encode())
    for text in captions:
        digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()[:32]


def vocabulary(parts: Sequence[Parsed], rarest: int) -> list[str]:
    """Words seen often enough in captions or triplets, most frequent first, after the marks."""
    counts: dict[str, int] = {}
    for part in parts:
        seen = np.bincount(part.words, minlength=len(part.table))
        seen += np.bincount(part.triplet_words, minlength=len(part.table))
        for word, count in zip(part.table, seen.tolist()):
            counts[word] = counts.get(word, 0) + count
    kept = (word for word, count in counts.items() if count >= rarest and word not in (UNKNOWN, EMPTY))
    return [UNKNOWN, EMPTY, *sorted(kept, key=lambda word: (-counts[word], word))]


class Captions:
    """Captions of several sets in a model's numbers; any of them at once, without a loop over words."""

    def __init__(self, parts: Sequence[Parsed], words: Sequence[str]) -> None:
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

    def take(self, captions: Ints) -> Coded:
        """The captions at some places."""
        counts, triplets = self._counts[captions], self._triplets[captions]
        which = spans(self._first[captions], triplets)
        lengths = self._lengths[which]
        return Coded(
            self._words[spans(self._starts[captions], counts)].astype(np.int64),
            counts,
            self._triplet_words[spans(self._triplet_starts[which], lengths)].astype(np.int64),
            lengths,
            triplets,
        )
