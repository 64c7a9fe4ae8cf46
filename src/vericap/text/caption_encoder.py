"""Sentence vectors and word states from the small caption encoder that `vericap train encoder` makes.

It stands for gte-small where speed matters: vectors lie in the same space (384 values, the same mean of captions), word
pieces are the same. Texts of one length are computed together, so nothing is padded or masked and a text's vectors
depend on that text alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vericap.core import onnx
from vericap.core.errors import InputError
from vericap.text.encoder import LENGTH, WIDTH, StateTable, Vectors, distinct_texts, joined, normalise

KIND = "caption-encoder"  # what meta.json calls a model of this kind
_TOKENS = 448  # word pieces computed together: 32 captions of 14 stay in the processor's cache
_LONGEST = 100  # letters of a word that is cut into pieces; a longer one is unknown
_WORDS = re.compile(r"[a-z0-9]+|[^ a-z0-9]")


@dataclass(frozen=True)
class Cut:
    """A text's word pieces: vocabulary numbers, and the letters each piece stands for."""

    ids: list[int]
    offsets: list[tuple[int, int]]


class Pieces:
    """gte-small's word pieces, cut as the library `tokenizers` cuts them, but six times faster for plain letters.

    Words are cut once and remembered. Texts with other than printable ASCII letters, and those with a bracket (which
    may begin a mark such as [SEP]), go to the library itself.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._library: Any = None
        self._known: dict[str, tuple[int, ...]] = _Words(file)
        self._first, self._last = (self._known["[CLS]"][0], self._known["[SEP]"][0])

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Numbers of the word pieces of texts, with the marks at both ends."""
        known, words, first, last = self._known.__getitem__, _WORDS.findall, self._first, self._last
        found: list[list[int]] = []
        for text in texts:
            if plain(text):
                ids = [first, *chain.from_iterable(map(known, words(text.lower()))), last]
                found.append(ids if len(ids) <= LENGTH else [*ids[: LENGTH - 1], last])
            else:
                found.append(list(self.library().encode(text).ids))
        return found

    def cut(self, texts: Sequence[str]) -> list[Cut]:
        """Word pieces of texts with their letters."""
        return [self._cut(text) for text in texts]

    def _cut(self, text: str) -> Cut:
        if not plain(text):
            item = self.library().encode(text)
            return Cut(list(item.ids), list(item.offsets))
        ids, spans = [self._first], [(0, 0)]
        for match in _WORDS.finditer(text.lower()):
            numbers = self._known[match.group()]
            ids.extend(numbers)
            spans.extend(self._known.spans(match, numbers))  # type: ignore[attr-defined]
        return Cut([*ids[: LENGTH - 1], self._last], [*spans[: LENGTH - 1], (0, 0)])

    def library(self) -> Any:
        if self._library is None:
            from tokenizers import Tokenizer

            self._library = Tokenizer.from_file(str(self._file))
            self._library.no_padding()
            self._library.enable_truncation(LENGTH)
        return self._library


class _Words(dict[str, tuple[int, ...]]):
    """Pieces of every word met so far."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        try:
            model = json.loads(file.read_text("utf-8"))["model"]
        except (OSError, ValueError, KeyError) as error:
            raise InputError(f"{file} is not a tokenizer ({error})") from error
        self._pieces: dict[str, int] = model["vocab"]
        self._letters = {number: len(piece.removeprefix("##")) for piece, number in self._pieces.items()}
        self._unknown = self._pieces[model["unk_token"]]

    def __missing__(self, word: str) -> tuple[int, ...]:
        found = self[word] = self._whole(word) if len(word) <= _LONGEST else (self._unknown,)
        return found

    def _whole(self, word: str) -> tuple[int, ...]:
        """The longest piece that begins the word, and so on with what is left."""
        found: list[int] = []
        start, prefix = 0, ""
        while start < len(word):
            end = next((e for e in range(len(word), start, -1) if prefix + word[start:e] in self._pieces), None)
            if end is None:
                return (self._unknown,)
            found.append(self._pieces[prefix + word[start:end]])
            start, prefix = end, "##"
        return tuple(found)

    def spans(self, match: re.Match[str], numbers: tuple[int, ...]) -> list[tuple[int, int]]:
        """Letters of each piece of a word."""
        if numbers == (self._unknown,):
            return [match.span()]
        ends = match.start() + np.cumsum([self._letters[number] for number in numbers])
        return list(zip([match.start(), *ends[:-1].tolist()], ends.tolist()))


def plain(text: str) -> bool:
    """Whether a text has printable ASCII letters only, and nothing that may be a mark."""
    return text.isascii() and text.isprintable() and "[" not in text


class CaptionEncoder:
    """The small encoder in a folder. The network is opened at its first use."""

    def __init__(self, folder: str | Path, *, threads: int = 1) -> None:
        self._folder, self._threads = Path(folder), threads
        self.meta = _meta(self._folder)
        self.pieces = Pieces(self._folder / "tokenizer.json")
        self._session: Any = None
        self._head: dict[str, Vectors] = {}

    @property
    def name(self) -> str:
        """Name of the network, for signatures and kept vectors."""
        return f"{self.meta['name']}-{self.meta['version']}"

    def encode(self, texts: Sequence[str], *, centred: bool = True) -> Vectors:
        """Unit vectors (texts, 384); `centred` removes the mean vector of training captions first."""
        distinct, inverse = distinct_texts(texts)
        vectors = self.sentences(distinct).astype(np.float32)
        return normalise(vectors - self.caption_mean() if centred else vectors)[inverse]

    def sentences(self, texts: Sequence[str]) -> NDArray[np.float16]:
        """Unit vectors as they are kept: rounded, so that a stored and a fresh vector are the same number."""
        found = np.zeros((len(texts), WIDTH), dtype=np.float32)
        for rows, ids in _batches(self.pieces.ids(texts)):
            found[rows] = self._run("sentences", ids)
        return normalise(found).astype(np.float16)

    def token_states(self, texts: Sequence[str]) -> StateTable:
        """States of every word piece of every text."""
        distinct, inverse = distinct_texts(texts)
        pieces = self.pieces.cut(distinct)
        states = self.piece_states(pieces)
        return joined([(states[i], pieces[i]) for i in inverse])

    def piece_states(self, pieces: Sequence[Any]) -> list[NDArray[np.float16]]:
        """States of texts cut by `pieces.cut`, as they are kept."""
        found: list[NDArray[np.float16]] = [np.zeros((0, WIDTH), np.float16)] * len(pieces)
        for rows, ids in _batches([item.ids for item in pieces]):
            head = self._states_head()
            states = self._run("hidden", ids) @ head["state.weight"] + head["state.bias"]
            for row, own in zip(rows, states.astype(np.float16)):
                found[row] = own
        return found

    def caption_mean(self) -> Vectors:
        """Mean of the unit vectors of COCO and Flickr8k training captions."""
        return self._mean("caption_mean.npy")

    def phrase_mean(self) -> Vectors:
        """Mean of the unit vectors of scene-graph phrases."""
        return self._mean("phrase_mean.npy")

    def _mean(self, file: str) -> Vectors:
        if file not in self._head:
            self._head[file] = np.load(self._folder / file, allow_pickle=False).astype(np.float32)
        return self._head[file]

    def _states_head(self) -> dict[str, Vectors]:
        """The linear map from the network's width to states."""
        if "state.weight" not in self._head:
            from safetensors.numpy import load_file

            kept = load_file(self._folder / "encoder.safetensors")
            self._head.update({name: array.astype(np.float32) for name, array in kept.items()})
        return self._head

    def _run(self, output: str, ids: NDArray[np.int64]) -> Vectors:
        (found,) = self.session().run([output], {"ids": ids})
        return np.asarray(found, dtype=np.float32)

    def session(self) -> Any:
        if self._session is None:
            self._session = onnx.session(self._folder / "encoder.onnx", threads=self._threads)
        return self._session


def _meta(folder: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads((folder / "meta.json").read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{folder} holds no caption encoder ({error})") from error
    if found.get("kind") != KIND:
        raise InputError(f"{folder} holds no caption encoder, but '{found.get('kind', found.get('name'))}'")
    return found


def _batches(pieces: Sequence[Sequence[int]]) -> Iterator[tuple[list[int], NDArray[np.int64]]]:
    """Texts of one length with about _TOKENS pieces together, and where they are."""
    lengths: dict[int, list[int]] = {}
    for row, ids in enumerate(pieces):
        lengths.setdefault(len(ids), []).append(row)
    for length, rows in lengths.items():
        size = max(_TOKENS // length, 1)
        for start in range(0, len(rows), size):
            part = rows[start : start + size]
            yield part, np.array([pieces[row] for row in part], dtype=np.int64)
