"""What all sentence encoders share: vectors of texts, states of word pieces, and windows over long texts.

A text's vectors depend on that text alone, not on the texts that share its batch, so they can be kept on disk by
content and met again by every later run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from vericap.core.typing import Bools, Floats16, Floats32, Ints

_WORDS = 1 << 15  # words read alone that are remembered
LENGTH = 128  # word pieces a network reads at once; captions have 13 on average


@dataclass(frozen=True)
class Cut:
    """A text's word pieces: vocabulary numbers, and the letters each piece stands for.

    The first and the last piece are the marks at both ends (letters 0 to 0).
    """

    ids: list[int]
    offsets: list[tuple[int, int]]


@dataclass(frozen=True)
class StateTable:
    """Contextual states of all word pieces, text after text.

    Text i has pieces `offsets[i]:offsets[i + 1]`, the first one [CLS] and the last one [SEP] (span 0, 0).
    """

    offsets: Ints  # (texts + 1,)
    states: Floats16  # (pieces, width), last layer, not normalised
    pieces: NDArray[np.int32]  # (pieces,) vocabulary numbers
    spans: NDArray[np.int32]  # (pieces, 2) letters of the text, start and end

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, text: int) -> Floats16:
        """States of one text's pieces, marks included."""
        return self.states[self.offsets[text] : self.offsets[text + 1]]

    def words(self, text: int) -> tuple[Floats16, NDArray[np.int32]]:
        """States and letter spans of one text's pieces without the marks at both ends."""
        inner = slice(self.offsets[text] + 1, self.offsets[text + 1] - 1)
        return self.states[inner], self.spans[inner]

    def lettered(self, texts: Sequence[str]) -> Bools:
        """(pieces,): whether a piece has a letter or a digit; marks and stops have none."""
        owners = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        return lettered(texts, owners, self.pieces, self.spans)

    @classmethod
    def of(cls, states: Sequence[Floats16], cuts: Sequence[Cut], width: int) -> StateTable:
        """States and pieces of texts, one text after the other."""
        return cls(
            offsets=np.concatenate([[0], np.cumsum([len(own) for own in states])]).astype(np.int64),
            states=np.concatenate([np.zeros((0, width), np.float16), *states]),
            pieces=np.array([i for cut in cuts for i in cut.ids], dtype=np.int32),
            spans=np.array([span for cut in cuts for span in cut.offsets], dtype=np.int32).reshape(-1, 2),
        )


def lettered(texts: Sequence[str], owners: Ints, pieces: NDArray[np.int32], spans: NDArray[np.int32]) -> Bools:
    """Whether pieces of texts have a letter or a digit, each kind of piece looked at once."""
    _, first, inverse = np.unique(pieces, return_index=True, return_inverse=True)
    said = [texts[int(owners[at])][spans[at, 0] : spans[at, 1]] for at in first.tolist()]
    return np.array([any(map(str.isalnum, text)) for text in said], dtype=bool)[inverse.reshape(-1)]


class SentenceEncoder(ABC):
    """Texts to vectors. The network is opened at its first use.

    A text of more pieces than `length` is read in windows: its vector is the mean of theirs, weighted by their pieces,
    and its states are theirs one after the other. Nothing is cut off.
    """

    name: str  # of the network and its version, for signatures and kept vectors
    width: int
    length: int = LENGTH

    @abstractmethod
    def cut(self, texts: Sequence[str]) -> list[Cut]:
        """Word pieces of texts, whole."""

    @abstractmethod
    def caption_mean(self) -> Floats32:
        """Mean of the unit vectors of captions: what all captions share."""

    @abstractmethod
    def phrase_mean(self) -> Floats32:
        """Mean of the unit vectors of scene-graph phrases."""

    @abstractmethod
    def _means(self, windows: Sequence[Sequence[int]]) -> Floats32:
        """Vectors (windows, width) of lists of pieces that are short enough."""

    @abstractmethod
    def _states(self, windows: Sequence[Sequence[int]]) -> list[Floats32]:
        """States (pieces, width) of lists of pieces that are short enough."""

    def encode(self, texts: Sequence[str], *, centred: bool = True) -> Floats32:
        """Unit vectors (texts, width); `centred` removes the mean vector of captions first."""
        distinct, inverse = distinct_texts(texts)
        vectors = self.sentences(distinct).astype(np.float32)
        return normalise(vectors - self.caption_mean() if centred else vectors)[inverse]

    def sentences(self, texts: Sequence[str]) -> Floats16:
        """Unit vectors as they are kept: rounded, so that a stored and a fresh vector are the same number."""
        windows, owners, sizes = self._windows(self._ids(texts))
        found = np.zeros((len(texts), self.width), dtype=np.float32)
        if len(windows) == len(texts):
            found = self._means(windows)
        else:
            np.add.at(found, owners, normalise(self._means(windows)) * sizes[:, None])
        return normalise(found).astype(np.float16)

    def _ids(self, texts: Sequence[str]) -> list[list[int]]:
        return [cut.ids for cut in self.cut(texts)]

    def _windows(self, pieces: Sequence[Sequence[int]]) -> tuple[list[Sequence[int]], Ints, Floats32]:
        """Windows of texts, the text each belongs to, and how many pieces it has."""
        parts = [(row, window) for row, ids in enumerate(pieces) for window in cut_windows(ids, self.length)]
        owners = np.array([row for row, _ in parts], dtype=np.int64)
        return [window for _, window in parts], owners, np.array([len(w) - 2 for _, w in parts], dtype=np.float32)

    def token_states(self, texts: Sequence[str]) -> StateTable:
        """States of every word piece of every text."""
        distinct, inverse = distinct_texts(texts)
        cuts = self.cut(distinct)
        states = self.piece_states(cuts)
        return StateTable.of([states[i] for i in inverse], [cuts[i] for i in inverse], self.width)

    def word_states(self, texts: Sequence[str]) -> StateTable:
        """States of every word piece of every text, each word read alone: nothing of its sentence is in them. Marks at
        both ends are zero."""
        distinct, inverse = distinct_texts(texts)
        cuts = self.cut(distinct)
        words = [list(word_pieces(text, cut)) for text, cut in zip(distinct, cuts)]
        known = self._read_alone(dict.fromkeys(word for own in words for word in own))
        mark = np.zeros((1, self.width), dtype=np.float16)
        states = [np.concatenate([mark, *(known[word] for word in own), mark]) for own in words]
        return StateTable.of([states[i] for i in inverse], [cuts[i] for i in inverse], self.width)

    def _read_alone(self, words: Iterable[tuple[int, ...]]) -> Mapping[tuple[int, ...], Floats16]:
        """States of words by their pieces; words met before are remembered."""
        known: dict[tuple[int, ...], Floats16] = self.__dict__.get("_alone", {})
        if len(known) > _WORDS:
            known = {}  # another thread may read the old ones
        self.__dict__["_alone"] = known
        new = [word for word in words if word not in known]
        if new:
            first, last = self.cut([""])[0].ids
            read = self.piece_states([Cut([first, *word, last], []) for word in new])
            known.update(zip(new, (own[1:-1] for own in read)))
        return known

    def piece_states(self, cuts: Sequence[Cut]) -> list[Floats16]:
        """States of texts cut by `cut`, as they are kept."""
        windows, owners, _ = self._windows([cut.ids for cut in cuts])
        found = [own.astype(np.float16) for own in self._states(windows)]
        if len(windows) == len(cuts):
            return found
        ends = np.searchsorted(owners, np.arange(len(cuts) + 1)).tolist()
        return [_joined(found[start:end]) for start, end in pairwise(ends)]

    def phrases(self, vectors: Floats32) -> Floats32:
        """Unit vectors of phrases after what all phrases share is taken away."""
        return normalise(vectors - self.phrase_mean())


def word_pieces(text: str, cut: Cut) -> Iterator[tuple[int, ...]]:
    """The pieces of every word of a text without the marks at both ends; letters and digits that touch are one word."""
    word: list[int] = []
    end = -1
    for piece, (start, stop) in zip(cut.ids[1:-1], cut.offsets[1:-1]):
        if word and not (start == end and text[start : start + 1].isalnum() and text[start - 1 : start].isalnum()):
            yield tuple(word)
            word = []
        word.append(piece)
        end = stop
    if word:
        yield tuple(word)


def _joined(windows: Sequence[Floats16]) -> Floats16:
    """States of a text's windows, the marks between them left out."""
    if len(windows) == 1:
        return windows[0]
    inner = [windows[0][:1], *(own[1:-1] for own in windows), windows[-1][-1:]]
    return np.concatenate(inner)


def cut_windows(ids: Sequence[int], length: int = LENGTH) -> Iterator[Sequence[int]]:
    """Pieces of a text in parts of nearly the same size, each between the text's two marks and at most `length` long.

    >>> [list(part) for part in cut_windows([1, 5, 6, 7, 8, 9, 2], 5)]
    [[1, 5, 6, 7, 2], [1, 8, 9, 2]]
    """
    inner = len(ids) - 2
    if len(ids) <= length:
        yield ids
        return
    size = -(-inner // -(-inner // (length - 2)))
    for start in range(1, len(ids) - 1, size):
        yield [ids[0], *ids[start : min(start + size, len(ids) - 1)], ids[-1]]


def normalise(vectors: Floats32) -> Floats32:
    """Rows of length 1; a zero row stays zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12), dtype=np.float32)


def distinct_texts(texts: Sequence[str]) -> tuple[list[str], Ints]:
    """Each text once, and the place of every text among them."""
    places: dict[str, int] = {}
    inverse = np.fromiter((places.setdefault(text, len(places)) for text in texts), np.int64, len(texts))
    return list(places), inverse


def like_lengths(lengths: Sequence[int], pieces: int) -> Iterator[list[int]]:
    """Places of texts to compute together: like lengths, about so many word pieces with their padding."""
    group: list[int] = []
    for place in sorted(range(len(lengths)), key=lengths.__getitem__):
        if group and (len(group) + 1) * lengths[place] > pieces:
            yield group
            group = []
        group.append(place)
    if group:
        yield group


def padded(windows: Sequence[Sequence[int]]) -> tuple[Ints, Ints]:
    """Pieces of texts as one table, and which of its places are theirs."""
    ids = np.zeros((len(windows), max(map(len, windows))), dtype=np.int64)
    mask = np.zeros_like(ids)
    for row, own in enumerate(windows):
        ids[row, : len(own)] = own
        mask[row, : len(own)] = 1
    return ids, mask
