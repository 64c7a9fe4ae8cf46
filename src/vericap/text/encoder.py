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

from vericap.core import onnx, shipped

WIDTH = 384
LENGTH = 128  # word pieces read of one text; captions have 13 on average
_TOKENS = 384  # word pieces computed together: 24 captions of 16 stay in the processor's cache

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class StateTable:
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
    """The shipped encoder. The network is opened at its first use; a text's vectors depend on that text alone."""

    def __init__(self, *, threads: int = 1) -> None:
        self._threads = threads
        self._session: Any = None

    def encode(self, texts: Sequence[str], *, centred: bool = True) -> Vectors:
        """Unit vectors (texts, 384); `centred` removes the mean vector of training captions first."""
        distinct, inverse = distinct_texts(texts)
        return centre(self.sentences(distinct).astype(np.float32), centred)[inverse]

    def sentences(self, texts: Sequence[str]) -> NDArray[np.float16]:
        """Unit vectors as they are kept: rounded, so that a stored and a fresh vector are the same number."""
        if not texts:
            return np.zeros((0, WIDTH), dtype=np.float16)
        means = np.stack([states.mean(axis=0) for states in self._states(tokenised(texts))])
        return normalise(means).astype(np.float16)

    def token_states(self, texts: Sequence[str]) -> StateTable:
        """Last-layer states of every word piece of every text."""
        distinct, inverse = distinct_texts(texts)
        pieces = tokenised(distinct)
        states = self.piece_states(pieces)
        return joined([(states[i], pieces[i]) for i in inverse])

    def piece_states(self, pieces: Sequence[Any]) -> list[NDArray[np.float16]]:
        """States of texts cut by `tokenised`, as they are kept."""
        return [states.astype(np.float16) for states in self._states(pieces)]

    def _states(self, pieces: Sequence[Any]) -> list[Vectors]:
        """Last hidden states, texts of like length together so that little padding is computed."""
        if not pieces:
            return []
        session = self.session()
        states: list[Vectors] = [None] * len(pieces)  # type: ignore[list-item]
        for group in _groups([len(item.ids) for item in pieces]):
            length = max(len(pieces[i].ids) for i in group)
            ids = np.zeros((len(group), length), dtype=np.int64)
            mask = np.zeros_like(ids)
            for row, i in enumerate(group):
                ids[row, : len(pieces[i].ids)] = pieces[i].ids
                mask[row, : len(pieces[i].ids)] = 1
            (hidden,) = session.run(["last_hidden_state"], {"input_ids": ids, "attention_mask": mask})
            for row, i in enumerate(group):
                states[i] = hidden[row, : len(pieces[i].ids)]
        return states

    def session(self) -> Any:
        if self._session is None:
            self._session = onnx.session(shipped.path("encoder", "model.onnx"), threads=self._threads)
        return self._session


def kind() -> str:
    """Name of kept vectors; another version of the network has another one."""
    return f"encoder-{shipped.meta('encoder')['version']}"


def name() -> str:
    """Name of the network, for signatures."""
    meta = shipped.meta("encoder")
    return f"{meta['name']}-{meta['version']}"


@lru_cache(maxsize=1)
def caption_mean() -> Vectors:
    """Mean of the unit vectors of COCO and Flickr8k training captions: what all captions share."""
    mean: Vectors = np.load(shipped.path("encoder", "caption_mean.npy"), allow_pickle=False).astype(np.float32)
    return mean


@lru_cache(maxsize=1)
def phrase_mean() -> Vectors:
    """Mean of the unit vectors of scene-graph phrases of COCO training captions."""
    mean: Vectors = np.load(shipped.path("phrases", "phrase_mean.npy"), allow_pickle=False).astype(np.float32)
    return mean


def normalise(vectors: Vectors) -> Vectors:
    """Rows of length 1; a zero row stays zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12), dtype=np.float32)


def centre(vectors: Vectors, centred: bool) -> Vectors:
    """Kept vectors as a metric reads them: of length 1, what all captions share removed where asked for."""
    return normalise(vectors - caption_mean() if centred else vectors)


def tokenised(texts: Sequence[str]) -> list[Any]:
    """Word pieces of texts, as the tokenizer gives them (`ids`, `offsets`)."""
    found: list[Any] = tokenizer().encode_batch(list(texts)) if texts else []
    return found


@lru_cache(maxsize=1)
def tokenizer() -> Any:
    from tokenizers import Tokenizer

    made = Tokenizer.from_file(str(shipped.path("encoder", "tokenizer.json")))
    made.no_padding()
    made.enable_truncation(LENGTH)
    return made


def distinct_texts(texts: Sequence[str]) -> tuple[list[str], NDArray[np.int64]]:
    """Each text once, and the place of every text among them."""
    places: dict[str, int] = {}
    inverse = np.fromiter((places.setdefault(text, len(places)) for text in texts), np.int64, len(texts))
    return list(places), inverse


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


def joined(found: list[tuple[NDArray[np.float16], Any]]) -> StateTable:
    """States and pieces of texts, one text after the other."""
    lengths = np.array([len(states) for states, _ in found], dtype=np.int64)
    return StateTable(
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        states=np.concatenate([np.zeros((0, WIDTH), np.float16), *(states for states, _ in found)]),
        pieces=np.array([i for _, item in found for i in item.ids], dtype=np.int32),
        spans=np.array([s for _, item in found for s in item.offsets], dtype=np.int32).reshape(-1, 2),
    )
