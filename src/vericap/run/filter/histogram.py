"""How the values of a score lie, in a few lines of a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from vericap.core.typing import Array, Floats

BINS = 20
WIDTH = 40  # signs of the longest bar
HELD = 1 << 18  # values held; from then on every second, fourth, ... value is


@dataclass
class Histogram:
    """Values of one column, added piece by piece; memory stays bounded.

    Examples
    --------
    >>> found = Histogram("words")
    >>> found.add(np.array([3.0, 4.0, 4.0, np.nan]))
    >>> print(found.text(bins=2, cuts=[4.0]))
    words: 3 values from 3 to 4, mean 3.667, median 4; 1 record without
           3.00 - 3.50  1  ####################
           3.50 - 4.00  2  ########################################  <- 4
    """

    name: str
    values: list[Floats] = field(default_factory=list)
    seen: int = 0
    missing: int = 0
    sum: float = 0.0
    low: float = np.inf
    high: float = -np.inf
    stride: int = 1

    def add(self, values: Array) -> None:
        """Further values, NaN where there is none."""
        known = np.asarray(values, dtype=np.float64)
        known = known[~np.isnan(known)]
        self.missing += len(values) - len(known)
        if not len(known):
            return
        first = -self.seen % self.stride  # so that pieces of any size give the same values
        self.values.append(known[first :: self.stride])
        self.seen += len(known)
        self.sum += float(known.sum())
        self.low, self.high = min(self.low, float(known.min())), max(self.high, float(known.max()))
        while sum(map(len, self.values)) > HELD:
            held = np.concatenate(self.values)
            self.values, self.stride = [held[::2]], self.stride * 2

    def text(self, *, cuts: Sequence[float] = (), bins: int = BINS) -> str:
        """A line with the figures, and a bar for each bin; `cuts` are values that conditions compare with."""
        without = f"; {self.missing} record{'s' * (self.missing != 1)} without" if self.missing else ""
        if not self.seen:
            return f"{self.name}: no values{without}"
        held = np.concatenate(self.values)
        head = (
            f"{self.name}: {self.seen} values from {self.low:.4g} to {self.high:.4g}, mean {self.sum / self.seen:.4g}, "
            f"median {np.median(held):.4g}{without}"
        )
        if self.low == self.high:
            return head
        counts, edges = np.histogram(held, bins=bins, range=(self.low, self.high))
        counts = counts * self.stride
        size = len(str(counts.max()))
        lines = [head] if self.stride == 1 else [f"{head} (bars: every {self.stride}th value)"]
        for place, count in enumerate(counts.tolist()):
            bar = "#" * round(WIDTH * count / counts.max())
            marks = _marks(cuts, edges[place], edges[place + 1], last=place == bins - 1)
            lines.append(f"{edges[place]:11.2f} - {edges[place + 1]:.2f}  {count:>{size}}  {bar}{marks}".rstrip())
        return "\n".join(lines)


def _marks(cuts: Sequence[float], low: float, high: float, *, last: bool) -> str:
    inside = [cut for cut in cuts if low <= cut < high or (last and cut == high)]
    return f"  <- {', '.join(f'{cut:.4g}' for cut in sorted(set(inside)))}" if inside else ""
