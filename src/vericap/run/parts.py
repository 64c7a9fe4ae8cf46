"""The parts of a run (systems, or draws of references) in one batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vericap.core.batch import Batch
from vericap.core.errors import VericapError
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.core.typing import Ints


@dataclass
class Joined:
    """The samples of all parts in one batch; those of one id stand together, so that shards share what they can."""

    names: list[str]
    samples: dict[str, list[Sample]]
    good: dict[str, list[int]]  # places of samples that can be judged
    batch: Batch
    place: Ints  # (samples,) of each in its own part

    @classmethod
    def of(cls, parts: Mapping[str, Sequence[Sample]], settings: Settings) -> Joined:
        samples = {name: list(own) for name, own in parts.items()}
        good = {name: [i for i, sample in enumerate(own) if not sample.problem] for name, own in samples.items()}
        flat = [(samples[name][place], number, place) for number, name in enumerate(samples) for place in good[name]]
        if not flat:
            first = next((sample.problem for own in samples.values() for sample in own), "")
            raise VericapError(f"there is nothing to score: {first or 'no usable record was found'}")
        if len(samples) > 1:
            first_met: dict[str, int] = {}
            for sample, *_ in flat:
                first_met.setdefault(sample.id, len(first_met))
            flat.sort(key=lambda item: (first_met[item[0].id], item[1]))
        part, place = (np.array(column, dtype=np.int64) for column in list(zip(*flat))[1:])
        return cls(list(samples), samples, good, Batch.of([sample for sample, *_ in flat], settings, part), place)

    def rows(self, part: int) -> Ints:
        """Rows of the batch that belong to a part, in the part's own order."""
        rows = np.flatnonzero(self.batch.part == part)
        return rows[np.argsort(self.place[rows], kind="stable")]
