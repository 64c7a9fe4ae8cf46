"""What the teacher (the shipped gte-small) says of every training text, kept in chunks on disk.

A chunk is written whole or not at all, so an interrupted extraction goes on with the first chunk that is missing.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vericap.run.progress import Bar
from vericap.text.encoders import Cut, normalise
from vericap.text.encoders.base import LENGTH
from vericap.text.encoders.gte_small import GteSmall

CHUNK = 1024  # texts of one file
_STATES = 3  # every third chunk keeps the states of its word pieces too


@dataclass(frozen=True)
class Chunk:
    """Teacher's output for texts `start:start + CHUNK`."""

    start: int
    vectors: NDArray[np.float16]  # (texts, 384), length 1, not centred
    states: NDArray[np.float16] | None  # (pieces, 384), text after text, marks included


def has_states(number: int) -> bool:
    return number % _STATES == 0


def vectors_file(folder: Path, number: int) -> Path:
    return folder / f"vectors-{number:05d}.npy"


def states_file(folder: Path, number: int) -> Path:
    return folder / f"states-{number:05d}.npy"


def extract(texts: Sequence[str], folder: Path, *, processes: int = 2) -> None:
    """Make every chunk that is not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    count = -(-len(texts) // CHUNK)
    missing = [number for number in range(count) if not vectors_file(folder, number).is_file()]
    parts = [list(texts[number * CHUNK : (number + 1) * CHUNK]) for number in missing]
    with ProcessPoolExecutor(processes) as pool, Bar(what="teacher", total=len(missing), unit="chunk") as bar:
        for _ in pool.map(_extract, missing, parts, [folder] * len(missing)):
            bar.advance(1)


def _extract(number: int, texts: list[str], folder: Path) -> None:
    cuts = _encoder().cut(texts)
    states = _encoder().piece_states([Cut(first_window(cut.ids), cut.offsets) for cut in cuts])
    means = np.stack([item.astype(np.float32).mean(axis=0) for item in states])
    if has_states(number):
        save(states_file(folder, number), np.concatenate(states))
    save(vectors_file(folder, number), normalise(means).astype(np.float16))


@lru_cache(maxsize=1)
def _encoder() -> GteSmall:
    return GteSmall()


def first_window(ids: Sequence[int]) -> list[int]:
    """Pieces of a text as far as a network reads at once: a lesson ends there."""
    return list(ids) if len(ids) <= LENGTH else [*ids[: LENGTH - 1], ids[-1]]


def save(file: Path, array: NDArray[np.float16]) -> None:
    part = file.with_suffix(".part")
    with part.open("wb") as stream:
        np.save(stream, array)
    os.replace(part, file)


def chunks(folder: Path, count: int) -> list[Chunk]:
    """All chunks that are there, memory-mapped."""
    found = []
    for number in range(-(-count // CHUNK)):
        file = vectors_file(folder, number)
        if file.is_file():
            states = np.load(states_file(folder, number), mmap_mode="c") if has_states(number) else None
            found.append(Chunk(number * CHUNK, np.load(file, mmap_mode="c"), states))
    return found
