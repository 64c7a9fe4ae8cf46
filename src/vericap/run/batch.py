"""Many samples as columns, with every distinct text and image once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
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
    workers: int = 1
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
        seen_text: dict[str, int] = {}
        seen_image: dict[str, int] = {}
        ids, candidates, offsets, index, images, objects = [], [], [0], [], [], []
        for sample in samples:
            ids.append(sample.id)
            candidates.append(seen_text.setdefault(sample.candidate, len(seen_text)))
            for reference in sample.references:
                index.append(seen_text.setdefault(reference, len(seen_text)))
            offsets.append(len(index))
            key = sample.image
            images.append(-1 if key is None else seen_image.setdefault(key, len(seen_image)))
            objects.append(sample.objects)
        return cls(
            ids=ids,
            texts=list(seen_text),
            candidates=np.array(candidates, dtype=np.int64),
            reference_offsets=np.array(offsets, dtype=np.int64),
            reference_index=np.array(index, dtype=np.int64),
            image_keys=list(seen_image),
            images=np.array(images, dtype=np.int64),
            sample_objects=objects,
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
