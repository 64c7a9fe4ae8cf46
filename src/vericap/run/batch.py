"""Many samples as columns, with every distinct text and image once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vericap.samples import Sample

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Settings:
    """What a run was asked for; the same for every metric in it."""

    lang: str = "en"
    tokenizer: str = "ptb"
    df: str = "corpus"
    images: Path | None = None
    objects: str = "detector"
    features: Path | None = None
    workers: int = 1  # more start processes where it pays: a script then needs its `if __name__ == "__main__":`
    seed: int = 0
    cache: Path | None = None
    explain: bool = False
    progress: bool = False
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass
class Batch:
    """Columns over samples; analyses are computed at first use and kept."""

    ids: list[str]
    texts: list[str]
    candidates: Ints
    reference_offsets: Ints
    reference_index: Ints
    image_keys: list[str]
    images: Ints
    sample_objects: list[Any]
    settings: Settings
    _analyses: dict[str, Any] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def of(cls, samples: Iterable[Sample], settings: Settings | None = None) -> Batch:
        """Collect samples, keeping each distinct text and image once."""
        samples = samples if isinstance(samples, list) else list(samples)
        # Whole columns at a time: at 40,000 samples a loop of appends costs as much as tokenising.
        flat = [text for sample in samples for text in (sample.candidate, *sample.references)]
        number: defaultdict[str, int] = defaultdict(count().__next__)  # a text's number is its first appearance
        codes = np.fromiter(map(number.__getitem__, flat), np.int64, len(flat))
        counts = np.fromiter((len(sample.references) for sample in samples), np.int64, len(samples))
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        first = offsets[:-1] + np.arange(len(samples))  # each sample's candidate stands before its references
        keys = dict.fromkeys(sample.image for sample in samples if sample.image is not None)
        place_of = {None: -1, **{key: place for place, key in enumerate(keys)}}
        return cls(
            ids=[sample.id for sample in samples],
            texts=list(number),
            candidates=codes[first],
            reference_offsets=offsets,
            reference_index=np.delete(codes, first),
            image_keys=list(keys),
            images=np.array([place_of[sample.image] for sample in samples], dtype=np.int64),
            sample_objects=[sample.objects for sample in samples],
            settings=settings or Settings(),
        )

    def references(self, row: int) -> Ints:
        """Indices into `texts` of one sample's references."""
        return self.reference_index[self.reference_offsets[row] : self.reference_offsets[row + 1]]

    def reference_counts(self) -> Ints:
        return np.diff(self.reference_offsets)

    def candidate_texts(self) -> list[str]:
        return [self.texts[i] for i in self.candidates]

    def reference_texts(self, row: int) -> list[str]:
        return [self.texts[i] for i in self.references(row)]

    def reference_summary(self) -> str:
        """Number of references per sample, as a range where it varies."""
        counts = self.reference_counts()
        if not counts.size:
            return "0"
        low, high = int(counts.min()), int(counts.max())
        return str(low) if low == high else f"{low}-{high}"

    def analysis(self, name: str) -> Any:
        """The named analysis of this batch's texts or images, computed once."""
        if name not in self._analyses:
            from vericap.run.analyses import provider

            self._analyses[name] = provider(name)(self)
        return self._analyses[name]

    def provide(self, name: str, value: Any) -> None:
        """Put a ready analysis in place (tests, compat layers, other front ends)."""
        self._analyses[name] = value

    def rows(self, which: Sequence[int] | Ints) -> Batch:
        """A smaller batch with some of the samples; analyses are not carried over."""
        return Batch.of((self.sample(int(row)) for row in which), self.settings)

    def sample(self, row: int) -> Sample:
        image = self.images[row]
        return Sample(
            id=self.ids[row],
            candidate=self.texts[self.candidates[row]],
            references=tuple(self.reference_texts(row)),
            image=None if image < 0 else self.image_keys[image],
            objects=self.sample_objects[row],
        )
