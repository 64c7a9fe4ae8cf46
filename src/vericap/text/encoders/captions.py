"""Sentence vectors and word states from the small caption encoder that `vericap train encoder` makes.

It has learned from gte-small: its vectors lie in the same space (384 values) and its word pieces are the same. Texts of
one length are computed together, so nothing is padded or masked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from vericap.core import onnx, shipped
from vericap.core.errors import InputError
from vericap.core.typing import Floats32, Ints
from vericap.native.dense import Layer
from vericap.text.encoders.base import Cut, SentenceEncoder

KIND = "caption-encoder"  # what meta.json calls a model of this kind
PART = "caption_encoder"  # the shipped one's folder
_TOKENS = 448  # word pieces computed together: 32 captions of 14 stay in the processor's cache
_BESIDE = 1 << 14  # vectors kept that were made beside states
_LONGEST = 100  # letters of a word that is cut into pieces; a longer one is unknown
_WORDS = re.compile(r"[a-z0-9]+|[^ a-z0-9]")


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
                found.append([first, *chain.from_iterable(map(known, words(text.lower()))), last])
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
        return Cut([*ids, self._last], [*spans, (0, 0)])

    def library(self) -> Any:
        if self._library is None:
            from tokenizers import Tokenizer

            self._library = Tokenizer.from_file(str(self._file))
            self._library.no_padding()
            self._library.no_truncation()
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
        if len(numbers) == 1:  # whole, or unknown
            return [match.span()]
        ends = list(accumulate((self._letters[number] for number in numbers), initial=match.start()))
        return list(pairwise(ends))


def plain(text: str) -> bool:
    """Whether a text has printable ASCII letters only, and nothing that may be a mark."""
    return text.isascii() and text.isprintable() and "[" not in text


class CaptionEncoder(SentenceEncoder):
    """The small encoder that ships, or one in a folder that `vericap train encoder` wrote."""

    width = 384

    def __init__(self, folder: str | Path | None = None, *, threads: int = 1) -> None:
        self._folder = Path(folder) if folder else shipped.folder(PART)
        self._threads = threads
        self.meta = describe(self._folder)
        self.name = named(self.meta)
        self.pieces = Pieces(self._folder / "tokenizer.json")
        self._session: Any = None
        self._kept: dict[str, Floats32] = {}
        self._head: Layer | None = None
        self._beside: dict[tuple[int, ...], Floats32] = {}  # vectors of windows whose states were read

    def cut(self, texts: Sequence[str]) -> list[Cut]:
        return self.pieces.cut(texts)

    def caption_mean(self) -> Floats32:
        return self._mean("caption_mean.npy")

    def phrase_mean(self) -> Floats32:
        return self._mean("phrase_mean.npy")

    def _ids(self, texts: Sequence[str]) -> list[list[int]]:
        return self.pieces.ids(texts)

    def _means(self, windows: Sequence[Sequence[int]]) -> Floats32:
        found = np.zeros((len(windows), self.width), dtype=np.float32)
        beside = self._beside
        known = [beside.get(tuple(window)) for window in windows] if beside else [None] * len(windows)
        new = [row for row, own in enumerate(known) if own is None]
        for row, own in enumerate(known):
            if own is not None:
                found[row] = own
        for rows, ids in _batches([windows[row] for row in new]):
            (vectors,) = self._run(["sentences"], ids)
            found[[new[row] for row in rows]] = vectors
        return found

    def _states(self, windows: Sequence[Sequence[int]]) -> list[Floats32]:
        """States of windows; their vectors are made by the way and kept for a while."""
        found: list[Floats32] = [np.zeros((0, self.width), np.float32)] * len(windows)
        head = self._states_head()
        if len(self._beside) + len(windows) > _BESIDE:
            self._beside = {}
        beside = self._beside
        for rows, ids in _batches(windows):
            hidden, vectors = self._run(["hidden", "sentences"], ids)
            for row, own, vector in zip(rows, head(hidden), vectors):
                found[row] = own
                beside[tuple(windows[row])] = vector
        return found

    def _mean(self, file: str) -> Floats32:
        if file not in self._kept:
            self._kept[file] = np.load(self._folder / file, allow_pickle=False).astype(np.float32)
        return self._kept[file]

    def _states_head(self) -> Layer:
        """The linear map from the network's width to states."""
        if self._head is None:
            from safetensors.numpy import load_file

            kept = load_file(self._folder / "encoder.safetensors")
            self._head = Layer(kept["state.weight"].T, kept["state.bias"])
        return self._head

    def _run(self, outputs: list[str], ids: Ints) -> list[Floats32]:
        # A text by itself takes another way through the products, whose last digits may tip an 8-bit number: so it
        # goes twice, and has the vector that it has among others.
        given = ids if len(ids) > 1 else np.repeat(ids, 2, axis=0)
        found = self.session().run(outputs, {"ids": given})
        return [np.asarray(values, dtype=np.float32)[: len(ids)] for values in found]

    def session(self) -> Any:
        if self._session is None:
            self._session = onnx.session(self._folder / "encoder.onnx", threads=self._threads)
        return self._session


def named(meta: dict[str, Any]) -> str:
    """Name of a network by its meta file."""
    return f"{meta['name']}-{meta['version']}"


def describe(folder: Path) -> dict[str, Any]:
    """The meta file of a caption encoder."""
    try:
        found: dict[str, Any] = json.loads((folder / "meta.json").read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{folder} holds no caption encoder ({error})") from error
    if found.get("kind") != KIND:
        raise InputError(f"{folder} holds no caption encoder, but '{found.get('kind', found.get('name'))}'")
    return found


def _batches(pieces: Sequence[Sequence[int]]) -> Iterator[tuple[list[int], Ints]]:
    """Texts of one length with about _TOKENS pieces together, and where they are."""
    lengths: dict[int, list[int]] = {}
    for row, ids in enumerate(pieces):
        lengths.setdefault(len(ids), []).append(row)
    for length, rows in lengths.items():
        size = max(_TOKENS // length, 1)
        for start in range(0, len(rows), size):
            part = rows[start : start + size]
            yield part, np.array([pieces[row] for row in part], dtype=np.int64)
