"""Word vectors behind one interface: the shipped table, or a file of the user's.

space = open_vectors(None, folder=cache)                    # words through the caption encoder, no set-up
space = open_vectors("gte-small", folder=cache)             # or through another sentence encoder
space = open_vectors("glove.6B.300d.txt", folder=cache)     # converted once, then memory-mapped
rows, known = space.rows(["dog", "unicycle"])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vericap.core import shipped
from vericap.core.errors import InputError
from vericap.text.encoders import CAPTIONS, GTE_SMALL, encoder_name, open_encoder
from vericap.text.encoders.folder import is_folder

Rows = NDArray[np.float32]
Known = NDArray[np.bool_]

DEFAULT = "encoder"
HELP = f"word vectors: '{DEFAULT}', '{GTE_SMALL}', or a word2vec, GloVe, fastText or .npy file"


class WordVectors(Protocol):
    """A vector per word. `name` is part of a score's signature."""

    name: str
    width: int

    def rows(self, words: Sequence[str]) -> tuple[Rows, Known]:
        """Vectors (words, width), the table's mean not yet removed, and which words have one."""

    def mean(self) -> Rows:
        """What all words of the table share."""


class Encodes(Protocol):
    """What reads a word that no table has."""

    @property
    def width(self) -> int: ...

    def encode(self, texts: Sequence[str], *, centred: bool = True) -> Rows: ...

    def phrase_mean(self) -> Rows: ...


class EncoderVectors:
    """Single words through a sentence encoder. The caption encoder's frequent words are in a table."""

    def __init__(self, encoder: str = CAPTIONS, reader: Encodes | None = None) -> None:
        self.name = f"{encoder_name(encoder)}-words"
        self.tabled = encoder == CAPTIONS
        self._reader = reader or open_encoder(encoder)
        self.width = self._reader.width

    def rows(self, words: Sequence[str]) -> tuple[Rows, Known]:
        places, table, scales = _table() if self.tabled else _no_table()
        found = np.zeros((len(words), self.width), dtype=np.float32)
        known = np.ones(len(words), dtype=bool)
        rest = []
        for row, word in enumerate(words):
            place = places.get(word)
            if place is not None:
                found[row] = table[place] * scales[place]
            elif word.strip():
                rest.append(row)
            else:
                known[row] = False
        if rest:
            found[rest] = self._reader.encode([words[row] for row in rest], centred=False)
        return found, known

    def mean(self) -> Rows:
        if not self.tabled:
            return self._reader.phrase_mean()
        mean: Rows = np.load(shipped.path("word_vectors", "mean.npy"), allow_pickle=False)
        return mean


class TableVectors:
    """A converted file: vectors memory-mapped, words found by their hash."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self.folder = folder
        self._vectors = np.load(folder / "vectors.npy", mmap_mode="r", allow_pickle=False)
        self._hashes = np.load(folder / "hashes.npy", mmap_mode="r", allow_pickle=False)
        self._order = np.load(folder / "order.npy", mmap_mode="r", allow_pickle=False)
        self._ends = np.load(folder / "ends.npy", mmap_mode="r", allow_pickle=False)
        self._letters = np.load(folder / "letters.npy", mmap_mode="r", allow_pickle=False)
        self.width = int(self._vectors.shape[1])

    def __len__(self) -> int:
        return len(self._vectors)

    def word(self, row: int) -> str:
        start = int(self._ends[row - 1]) if row else 0
        return bytes(self._letters[start : int(self._ends[row])]).decode("utf-8", "replace")

    def find(self, words: Sequence[str]) -> NDArray[np.int64]:
        """Row of each word, -1 where there is none; a word is tried as written, then in lower case."""
        from vericap.text.vector_files import word_hash

        rows = np.full(len(words), -1, dtype=np.int64)
        for form in (str, str.lower):
            asked = [place for place in range(len(words)) if rows[place] < 0]
            if not asked:
                break
            hashes = np.array([word_hash(form(words[place])) for place in asked], dtype=np.uint64)
            spots = np.searchsorted(self._hashes, hashes)
            for place, spot, value in zip(asked, spots, hashes):
                while spot < len(self._hashes) and self._hashes[spot] == value:
                    if self.word(int(self._order[spot])) == form(words[place]):
                        rows[place] = self._order[spot]
                        break
                    spot += 1
        return rows

    def rows(self, words: Sequence[str]) -> tuple[Rows, Known]:
        places = self.find(words)
        known = places >= 0
        found = np.zeros((len(words), self.width), dtype=np.float32)
        found[known] = self._vectors[places[known]]
        return found, known

    def mean(self) -> Rows:
        mean: Rows = np.load(self.folder / "mean.npy", allow_pickle=False)
        return mean

    def vectors(self) -> NDArray[Any]:
        """All vectors, memory-mapped."""
        return self._vectors


def vectors_name(spec: str | None = None) -> str:
    """The name of the vectors a text names, without opening them."""
    if encoder := _encoder(spec):
        return f"{encoder_name(encoder)}-words"
    return Path(str(spec)).expanduser().name


def _encoder(spec: str | None) -> str:
    """The sentence encoder a text names, if it names one."""
    if spec in (None, "", DEFAULT, CAPTIONS):
        return CAPTIONS
    return str(spec) if spec == GTE_SMALL or is_folder(Path(str(spec)).expanduser()) else ""


def open_vectors(
    spec: str | None = None, *, folder: Path, readers: Callable[[str], Encodes] = open_encoder
) -> WordVectors:
    """The vectors a text names: 'encoder' (default), another sentence encoder, or a file.

    A file is converted at its first use into `folder`; `readers` opens the encoder of words that no table has.
    """
    if encoder := _encoder(spec):
        return EncoderVectors(encoder, readers(encoder))
    from vericap.text.vector_files import converted

    path = Path(str(spec)).expanduser()
    if not path.exists():
        raise InputError(
            f"the word vectors '{spec}' are neither '{DEFAULT}' nor '{GTE_SMALL}' nor a file; give word2vec (.bin, "
            ".txt), GloVe, fastText (.vec) or a .npy with its vocabulary beside it"
        )
    return TableVectors(converted(path, folder), path.name)


def prepare(rows: Rows, known: Known, mean: Rows | None, *, normalise: bool) -> Rows:
    """Remove the mean, then bring every row to length 1; unknown words stay zero."""
    made = rows.astype(np.float32, copy=True)
    if mean is not None:
        made -= mean
    if normalise:
        made /= np.maximum(np.linalg.norm(made, axis=1, keepdims=True), 1e-12)
    made[~known] = 0.0
    return made


@lru_cache(maxsize=1)
def _table() -> tuple[dict[str, int], NDArray[np.int8], Rows]:
    """The shipped table: int8 rows with a scale each."""
    words = shipped.path("word_vectors", "words.txt").read_text("utf-8").split("\n")
    table = np.load(shipped.path("word_vectors", "vectors.npy"), mmap_mode="r", allow_pickle=False)
    scales = np.load(shipped.path("word_vectors", "scales.npy"), allow_pickle=False)
    return {word: place for place, word in enumerate(words)}, table, scales


def _no_table() -> tuple[dict[str, int], NDArray[np.int8], Rows]:
    return {}, np.zeros((0, 0), dtype=np.int8), np.zeros(0, dtype=np.float32)


def shipped_vectors() -> dict[str, Any]:
    """What the shipped table is, in the form `vericap vectors list` prints."""
    return {
        "source": DEFAULT,
        "words": len(_table()[0]),
        "width": int(_table()[1].shape[1]),
        "folder": str(shipped.folder("word_vectors")),
    }


def table_words(source: WordVectors, words: Sequence[str]) -> Known:
    """Which words are in the table itself; the encoder computes others when asked for."""
    if isinstance(source, EncoderVectors):
        places = _table()[0] if source.tabled else {}
        return np.array([word in places for word in words], dtype=bool)
    return source.rows(words)[1]


def nearest(source: WordVectors, word: str, *, count: int = 10) -> list[tuple[str, float]]:
    """Words of the table with the highest cosine to a word, mean removed; none for an unknown word."""
    row, known = source.rows([word])
    if not known[0]:
        return []
    mean = source.mean()
    target = prepare(row, known, mean, normalise=True)[0]
    best: list[tuple[float, str]] = []
    for start in range(0, _size(source), 100_000):
        part = _slice(source, start, start + 100_000)
        unit = prepare(part, np.ones(len(part), dtype=bool), mean, normalise=True)
        cosine = unit @ target
        top = np.argsort(-cosine)[: count + 1]
        best += [(float(cosine[i]), _word(source, start + int(i))) for i in top]
    return [(other, cosine) for cosine, other in sorted(best, reverse=True) if other != word][:count]


def _size(source: WordVectors) -> int:
    return len(source) if isinstance(source, TableVectors) else len(_table()[0])


def _slice(source: WordVectors, start: int, end: int) -> Rows:
    if isinstance(source, TableVectors):
        return np.asarray(source.vectors()[start:end], dtype=np.float32)
    _, table, scales = _table()
    return np.asarray(table[start:end] * scales[start:end, None], dtype=np.float32)


def _word(source: WordVectors, row: int) -> str:
    return source.word(row) if isinstance(source, TableVectors) else list(_table()[0])[row]
