"""Bags of words of many texts as columns: which words, how much of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Bags:
    """Bag k holds the words `ids[offsets[k]:offsets[k + 1]]` with weights that sum to 1."""

    offsets: NDArray[np.int64]
    ids: NDArray[np.int64]
    weights: NDArray[np.float64]
    scales: NDArray[np.float64]  # factor on each word's vector (VIFIDEL's rho); 1 elsewhere

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def span(self, bag: int) -> slice:
        return slice(int(self.offsets[bag]), int(self.offsets[bag + 1]))

    def sizes(self) -> NDArray[np.int64]:
        return np.diff(self.offsets)

    @classmethod
    def of(cls, counts: Iterable[Mapping[int, float]], *, binary: bool = False) -> Bags:
        """From {word number: count} per bag; `binary` counts every word once."""
        offsets = [0]
        ids: list[int] = []
        weights: list[float] = []
        for bag in counts:
            total = float(len(bag) if binary else sum(bag.values()))
            ids.extend(bag)
            weights.extend((1.0 if binary else count) / total for count in bag.values())
            offsets.append(len(ids))
        return cls(
            np.array(offsets, dtype=np.int64),
            np.array(ids, dtype=np.int64),
            np.array(weights, dtype=np.float64),
            np.ones(len(ids)),
        )

    def take(self, which: NDArray[np.int64]) -> Bags:
        """Some of the bags, in that order, repeated where asked for."""
        sizes = self.sizes()[which]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        places = np.arange(offsets[-1]) - np.repeat(offsets[:-1], sizes) + np.repeat(self.offsets[which], sizes)
        return Bags(offsets, self.ids[places], self.weights[places], self.scales[places])

    def scaled(self, scales: NDArray[np.float64]) -> Bags:
        return Bags(self.offsets, self.ids, self.weights, np.ascontiguousarray(scales, dtype=np.float64))
