"""What is known of some records while they are judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from vericap.core.samples import Sample
from vericap.core.typing import Array, Bools, Ints, Ints32

KEPT, UNREADABLE, NOT_BEST = -1, -2, -3  # beside these, the number of the condition that failed


@dataclass(frozen=True)
class Rows:
    """Some records of the input in its order, and its own columns by name."""

    samples: Sequence[Sample]
    column: Callable[[str], Array]

    def __len__(self) -> int:
        return len(self.samples)


@dataclass
class State:
    """Scores and decisions of some records; what is held of them where all must be seen before the last decision."""

    failed: Ints32
    columns: dict[str, Array] = field(default_factory=dict)  # of metrics: their scores, and columns that are read
    scored: dict[str, Bools] = field(default_factory=dict)  # metric -> rows it has seen
    problems: dict[str, dict[int, str]] = field(default_factory=dict)  # metric -> row -> why it has no score
    entered: Bools | None = None  # rows that entered the stage whose share is to be cut

    @classmethod
    def of(cls, records: Rows) -> State:
        unread = [bool(sample.problem) for sample in records.samples]
        return cls(np.where(unread, UNREADABLE, KEPT).astype(np.int32))

    @property
    def alive(self) -> Ints:
        """Rows that no condition has rejected."""
        return np.flatnonzero(self.failed == KEPT)

    def unjudged(self, row: int, metrics: Sequence[str]) -> str:
        """Why some of the metrics could not judge a row."""
        reasons: dict[str, list[str]] = {}
        for label in metrics:
            reason = self.problems.get(label, {}).get(row)
            if reason:
                reasons.setdefault(reason, []).append(label)
        return "; ".join(f"{', '.join(names)}: {reason}" for reason, names in reasons.items())
