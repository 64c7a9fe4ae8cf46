"""Batches for the caption encoder: word pieces of texts beside what the teacher says of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from vericap.core.errors import InputError
from vericap.core.typing import Ints
from vericap.text.encoders.captions import Pieces
from vericap.train.encoder import teacher
from vericap.train.encoder.corpus import PHRASES, Text
from vericap.train.encoder.network import WIDTH, PieceGroup

_GROUPS = 6  # a batch is computed in so many parts of like length


def groups(pieces: Sequence[Sequence[int]], count: int = _GROUPS) -> list[PieceGroup]:
    """A batch of texts in a few parts of like length, so that little padding is computed."""
    order = sorted(range(len(pieces)), key=lambda row: len(pieces[row]))
    found = []
    for rows in np.array_split(np.array(order, dtype=np.int64), min(count, len(order))):
        length = len(pieces[rows[-1]])
        ids = torch.zeros(len(rows), length, dtype=torch.long)
        mask = torch.zeros(len(rows), length, dtype=torch.bool)
        for place, row in enumerate(rows):
            ids[place, : len(pieces[row])] = torch.tensor(pieces[row])
            mask[place, : len(pieces[row])] = True
        found.append(PieceGroup(torch.from_numpy(rows), ids, mask))
    return found


class Lessons:
    """All texts the teacher has spoken of."""

    def __init__(self, texts: Sequence[Text], folder: Path, pieces: Pieces, *, most: int | None = None) -> None:
        chunks = teacher.chunks(folder, len(texts))[: None if most is None else -(-most // teacher.CHUNK)]
        if not chunks:
            raise InputError(f"{folder} holds nothing of the teacher's yet")
        chosen = [text for chunk in chunks for text in texts[chunk.start : chunk.start + len(chunk.vectors)]]
        self.sources = [item.source for item in chosen]
        self.phrase = np.array([source in PHRASES for source in self.sources])
        self.pieces = [teacher.first_window(ids) for ids in pieces.ids([item.text for item in chosen])]
        self.vectors = np.concatenate([chunk.vectors for chunk in chunks])
        self._states = [chunk.states for chunk in chunks]
        self._chunk = np.repeat(np.arange(len(chunks)), [len(chunk.vectors) for chunk in chunks])
        self._start = self._starts(chunks)

    def _starts(self, chunks: Sequence[teacher.Chunk]) -> Ints:
        """Where a text's states begin in those of its chunk."""
        lengths = np.array([len(ids) for ids in self.pieces], dtype=np.int64)
        found, done = np.zeros(len(lengths), dtype=np.int64), 0
        for chunk in chunks:
            part = lengths[done : done + len(chunk.vectors)]
            found[done : done + len(part)] = np.cumsum(part) - part
            if chunk.states is not None and len(chunk.states) != part.sum():
                raise InputError("the kept states of the teacher belong to other texts; delete them")
            done += len(part)
        return found

    def __len__(self) -> int:
        return len(self.pieces)

    def has_states(self, row: int) -> bool:
        return self._states[self._chunk[row]] is not None

    def states(self, row: int) -> NDArray[np.float16]:
        """The teacher's states (pieces, 384) of a text that has them."""
        found = self._states[self._chunk[row]]
        if found is None:
            return np.zeros((0, WIDTH), dtype=np.float16)
        start = self._start[row]
        return np.asarray(found[start : start + len(self.pieces[row])])

    def state_mean(self, most: int = 100_000) -> NDArray[np.float32]:
        """Mean of the teacher's states of many pieces."""
        kept = [states[: most // 10] for states in self._states if states is not None][:10]
        found: NDArray[np.float32] = np.concatenate(kept).astype(np.float32).mean(axis=0)
        return found
