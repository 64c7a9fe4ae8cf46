"""Many numbers in ascending order, each with a value: in memory, or in a file of which a piece is read at a time."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from errno import EIO
from pathlib import Path
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from vericap.core.typing import Array, Ints, Ints32

Keys = npt.NDArray[np.uint64]
BUCKETS = 1024  # parts of the range of all numbers whose places in a file are noted
BLOCK = 1 << 18  # numbers that are held at once: 3 MB


@dataclass(frozen=True)
class FileArray:
    """An array in a file: slices of it are read, never the whole."""

    path: Path
    dtype: np.dtype[Any]
    begin: int  # its first byte
    length: int

    def __len__(self) -> int:
        return self.length

    @overload
    def __getitem__(self, index: slice) -> Array: ...

    @overload
    def __getitem__(self, index: int) -> Any: ...

    def __getitem__(self, index: slice | int) -> Any:
        if isinstance(index, int):
            return self[index : index + 1][0]
        start, stop, _ = index.indices(self.length)
        count = max(stop - start, 0)
        found = np.fromfile(self.path, self.dtype, count, offset=self.begin + start * self.dtype.itemsize)
        if len(found) < count:
            raise OSError(EIO, "is shorter than it was", str(self.path))
        return found


@dataclass(frozen=True)
class SortedNumbers:
    """64-bit numbers in ascending order, each with a value; a number may be there more than once.

    `borders`, where they are known, say where each of `BUCKETS` equal parts of the range begins.
    """

    keys: Keys | FileArray
    values: Ints32 | FileArray
    borders: Ints | FileArray | None = None

    @classmethod
    def of(cls, keys: Keys, values: Array) -> SortedNumbers:
        """The numbers, sorted.

        Examples
        --------
        >>> found = SortedNumbers.of(np.array([7, 3], np.uint64), np.array([1, 2]))
        >>> found.keys.tolist(), found.values.tolist()
        ([3, 7], [2, 1])
        """
        order = np.argsort(keys, kind="stable")
        return cls(keys[order], np.asarray(values)[order].astype(np.int32))

    def __len__(self) -> int:
        return len(self.keys)

    def with_borders(self) -> SortedNumbers:
        """The same, with the places of its parts."""
        starts = np.arange(BUCKETS, dtype=np.uint64) << np.uint64(64 - (BUCKETS - 1).bit_length())
        borders = np.searchsorted(self.keys[:], starts).astype(np.int64)
        return SortedNumbers(self.keys, self.values, np.append(borders, len(self)))

    def between(self, first: int, last: int) -> SortedNumbers:
        """Those of some parts of the range, `first` to `last` - 1, in memory."""
        if self.borders is None:
            raise ValueError("numbers without borders have no parts")
        own = slice(int(self.borders[first]), int(self.borders[last]))
        return SortedNumbers(self.keys[own], self.values[own])

    def blocks(self) -> Iterator[tuple[Keys, Ints32]]:
        """All numbers and values, some at a time."""
        for start in range(0, len(self), BLOCK):
            yield self.keys[start : start + BLOCK], self.values[start : start + BLOCK]

    def starting(self, low: int, high: int) -> SortedNumbers:
        """Numbers from `low` to `high` - 1, in memory; of a file only these are read."""
        own = slice(bisect_left(self.keys, low), bisect_left(self.keys, high))
        return SortedNumbers(self.keys[own], self.values[own])


def joined(parts: Sequence[SortedNumbers]) -> tuple[Keys, Ints32, Ints]:
    """Numbers of several in ascending order, their values, and which part each is from; equal ones by part."""
    sizes = [len(part) for part in parts]
    keys = np.concatenate([part.keys[:] for part in parts])
    order = np.argsort(keys, kind="stable")
    values = np.concatenate([part.values[:] for part in parts])[order]
    return keys[order], values, np.repeat(np.arange(len(parts)), sizes)[order]


def group_starts(*columns: Array) -> Ints:
    """Where each row of several equal neighbours begins.

    Examples
    --------
    >>> group_starts(np.array([3, 3, 7, 8, 8])).tolist()
    [0, 2, 3]
    >>> group_starts(np.array([3, 3, 7]), np.array([1, 2, 2])).tolist()
    [0, 1, 2]
    """
    changes = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return np.flatnonzero(np.append(len(columns[0]) > 0, changes))
