"""Sentence and token vectors from the shipped encoder (gte-small through ONNX Runtime).

A text's vectors depend on that text alone, not on the texts that share its batch (tools/build_encoder.py says
how), so they can be kept on disk by content and met again by every later run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vericap.models import store
from vericap.run.batch import Batch
from vericap.run.cache import Cache, key
from vericap.run.progress import Bar

WIDTH = 384
LENGTH = 128  # word pieces read of one text; captions have 13 on average
_TOKENS = 384  # word pieces computed together: 24 captions of 16 stay in the processor's cache
_CHUNK = 2048  # texts between two writes to the disk cache

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class TokenStates:
    """Contextual states of all word pieces, text after text.

    Text i has pieces `offsets[i]:offsets[i + 1]`, the first one [CLS] and the last one [SEP] (span 0, 0).
    """

    offsets: NDArray[np.int64]  # (texts + 1,)
    states: NDArray[np.float16]  # (pieces, 384), last layer, not normalised
    pieces: NDArray[np.int32]  # (pieces,) vocabulary numbers
    spans: NDArray[np.int32]  # (pieces, 2) letters of the text, start and end

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, text: int) -> NDArray[np.float16]:
        """States of one text's pieces, marks included."""
        return self.states[self.offsets[text] : self.offsets[text + 1]]

    def words(self, text: int) -> tuple[NDArray[np.float16], NDArray[np.int32]]:
        """States and letter spans of one text's pieces without the marks at both ends."""
        inner = slice(self.offsets[text] + 1, self.offsets[text + 1] - 1)
        return self.states[inner], self.spans[inner]


class Encoder:
    """The shipped encoder. `cache=None` computes everything anew; `Cache(kind())` keeps results on disk."""

    def __init__(self, *, threads: int = 1, cache: Cache | None = None, progress: bool = False) -> None:
        self.cache = cache
        self.progress = progress
        self._threads = threads
        self._session: Any = None

    def encode(self, texts: Sequence[str], *, centred: bool = True) -> Vectors:
        """Unit vectors (texts, 384); `centred` removes the mean vector of training captions first."""
        distinct, inverse = _distinct(texts)
        vectors = np.empty((len(distinct), WIDTH), dtype=np.float32)
        keys = [key("sentence", text) for text in distinct]
        missing = np.ones(len(distinct), dtype=bool)
        for place, found in self._stored(keys):
            vectors[place] = np.frombuffer(found, dtype=np.float16)
            missing[place] = False
        with Bar(what="sentence vectors", total=int(missing.sum()), show=self.progress, unit="text") as bar:
            for part in _parts(np.flatnonzero(missing)):
                # Rounded before use, so that a cached and a fresh vector are the same number.
                fresh = self._sentences([distinct[i] for i in part]).astype(np.float16)
                vectors[part] = fresh
                self._keep((keys[i], vector.tobytes()) for i, vector in zip(part, fresh))
                bar.advance(len(part))
        if centred:
            vectors -= caption_mean()
        return normalise(vectors)[inverse]

    def token_states(self, texts: Sequence[str]) -> TokenStates:
        """Last-layer states of every word piece of every text."""
        distinct, inverse = _distinct(texts)
        found: list[tuple[NDArray[np.float16], Any]] = [None] * len(distinct)  # type: ignore[list-item]
        keys = [key("tokens", text) for text in distinct]
        tokenised = _tokenizer().encode_batch(list(distinct)) if distinct else []
        missing = np.ones(len(distinct), dtype=bool)
        for place, stored in self._stored(keys):
            found[place] = (np.frombuffer(stored, dtype=np.float16).reshape(-1, WIDTH), tokenised[place])
            missing[place] = False
        with Bar(what="token vectors", total=int(missing.sum()), show=self.progress, unit="text") as bar:
            for part in _parts(np.flatnonzero(missing)):
                for place, states in zip(part, self._states([tokenised[i] for i in part])):
                    found[place] = (states.astype(np.float16), tokenised[place])
                self._keep((keys[i], found[i][0].tobytes()) for i in part)
                bar.advance(len(part))
        return _joined([found[i] for i in inverse])

    def _sentences(self, texts: list[str]) -> Vectors:
        tokenised = _tokenizer().encode_batch(texts)
        means = np.stack([states.mean(axis=0) for states in self._states(tokenised)])
        return normalise(means)

    def _states(self, tokenised: Sequence[Any]) -> list[Vectors]:
        """Last hidden states, texts of like length together so that little padding is computed."""
        session = self.session()
        states: list[Vectors] = [None] * len(tokenised)  # type: ignore[list-item]
        for group in _groups([len(item.ids) for item in tokenised]):
            length = max(len(tokenised[i].ids) for i in group)
            ids = np.zeros((len(group), length), dtype=np.int64)
            mask = np.zeros_like(ids)
            for row, i in enumerate(group):
                ids[row, : len(tokenised[i].ids)] = tokenised[i].ids
                mask[row, : len(tokenised[i].ids)] = 1
            (hidden,) = session.run(["last_hidden_state"], {"input_ids": ids, "attention_mask": mask})
            for row, i in enumerate(group):
                states[i] = hidden[row, : len(tokenised[i].ids)]
        return states

    def session(self) -> Any:
        if self._session is None:
            self._session = store.session(store.path("encoder", "model.onnx"), threads=self._threads)
        return self._session

    def _stored(self, keys: list[str]) -> Iterator[tuple[int, bytes]]:
        if self.cache is None:
            return
        for start in range(0, len(keys), _CHUNK):
            found = self.cache.get(keys[start : start + _CHUNK])
            for place, name in enumerate(keys[start : start + _CHUNK], start):
                if name in found:
                    yield place, found[name]

    def _keep(self, items: Iterator[tuple[str, bytes]]) -> None:
        if self.cache is not None:
            self.cache.put(items)


def kind() -> str:
    """Name of the disk cache; another version of the network has another one."""
    return f"encoder-{store.meta('encoder')['version']}"


def name() -> str:
    """Name of the network, for signatures."""
    meta = store.meta("encoder")
    return f"{meta['name']}-{meta['version']}"


@lru_cache(maxsize=1)
def caption_mean() -> Vectors:
    """Mean of the unit vectors of COCO and Flickr8k training captions: what all captions share."""
    mean: Vectors = np.load(store.path("encoder", "caption_mean.npy"), allow_pickle=False).astype(np.float32)
    return mean


def normalise(vectors: Vectors) -> Vectors:
    """Rows of length 1; a zero row stays zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12), dtype=np.float32)


def of(batch: Batch) -> Encoder:
    """The encoder of a run: its threads, its cache, its progress bar."""
    settings = batch.settings
    return Encoder(threads=settings.workers, cache=Cache(kind(), settings.cache), progress=settings.progress)


def analyse_sentences(batch: Batch) -> Vectors:
    """Analysis `sentences`: centred unit vectors of the batch's texts."""
    return of(batch).encode(batch.texts)


def analyse_token_states(batch: Batch) -> TokenStates:
    """Analysis `token_states`: states of all word pieces of the batch's texts."""
    return of(batch).token_states(batch.texts)


@lru_cache(maxsize=1)
def _tokenizer() -> Any:
    from tokenizers import Tokenizer

    made = Tokenizer.from_file(str(store.path("encoder", "tokenizer.json")))
    made.no_padding()
    made.enable_truncation(LENGTH)
    return made


def _distinct(texts: Sequence[str]) -> tuple[list[str], NDArray[np.int64]]:
    places: dict[str, int] = {}
    inverse = np.fromiter((places.setdefault(text, len(places)) for text in texts), np.int64, len(texts))
    return list(places), inverse


def _parts(places: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    for start in range(0, len(places), _CHUNK):
        yield places[start : start + _CHUNK]


def _groups(lengths: list[int]) -> Iterator[list[int]]:
    """Places of texts to compute together: like lengths, about _TOKENS word pieces."""
    group: list[int] = []
    for place in sorted(range(len(lengths)), key=lengths.__getitem__):
        if group and (len(group) + 1) * lengths[place] > _TOKENS:
            yield group
            group = []
        group.append(place)
    if group:
        yield group


def _joined(found: list[tuple[NDArray[np.float16], Any]]) -> TokenStates:
    lengths = np.array([len(states) for states, _ in found], dtype=np.int64)
    return TokenStates(
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        states=np.concatenate([np.zeros((0, WIDTH), np.float16), *(states for states, _ in found)]),
        pieces=np.array([i for _, item in found for i in item.ids], dtype=np.int32),
        spans=np.array([s for _, item in found for s in item.offsets], dtype=np.int32).reshape(-1, 2),
    )
