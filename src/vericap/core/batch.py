"""Many samples as columns, with every distinct text and image once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vericap.core.analysis import Analysis, Key, Value
from vericap.core.samples import Photo, Sample, has_word
from vericap.core.settings import Settings
from vericap.core.typing import Bools, Ints


class UndeclaredAnalysis(Exception):
    """A metric or provider read an analysis that it does not declare: a mistake in its code."""


@dataclass
class Batch:
    """Columns over samples, and the analyses computed for them: `batch[key]`."""

    ids: list[str]
    texts: list[str]
    candidates: Ints  # (samples,) places in `texts`
    reference_offsets: Ints
    reference_index: Ints
    image_keys: list[str]
    images: Ints  # (samples,) places in `image_keys`; -1 without image
    sample_objects: list[Any]
    settings: Settings
    part: Ints  # (samples,) which system or run a sample belongs to
    photos: dict[str, Photo] = field(
        default_factory=dict, repr=False
    )  # of image keys that no folder has to be asked for
    _values: dict[Key, Any] = field(default_factory=dict, repr=False)
    _own: dict[Key, Any] = field(default_factory=dict, repr=False)  # values by sample: of these rows alone
    _worded: list[Bools] = field(default_factory=list, repr=False)  # of `texts`, once known
    _declared: frozenset[Key] | None = field(default=None, repr=False)
    _reader: str = field(default="", repr=False)
    read: set[Key] | None = field(default=None, repr=False)  # keys that were read, where a test wants to know

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def of(cls, samples: Iterable[Sample], settings: Settings | None = None, part: Ints | None = None) -> Batch:
        """Collect samples, keeping each distinct text and image once."""
        samples = samples if isinstance(samples, list) else list(samples)
        # Whole columns at a time: at 40,000 samples a loop of appends costs as much as tokenising.
        flat = [text for sample in samples for text in (sample.candidate, *sample.references)]
        seen: dict[str, int] = {}  # where each text appears first; texts are numbered in that order
        places = np.fromiter(map(seen.setdefault, flat, range(len(flat))), np.int64, len(flat))
        codes = (np.cumsum(places == np.arange(len(flat))) - 1)[places]
        counts = np.fromiter((len(sample.references) for sample in samples), np.int64, len(samples))
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        first = offsets[:-1] + np.arange(len(samples))  # each sample's candidate stands before its references
        keys = dict.fromkeys(sample.image for sample in samples if sample.image is not None)
        place_of = {None: -1, **{key: place for place, key in enumerate(keys)}}
        return cls(
            ids=[sample.id for sample in samples],
            texts=list(seen),
            candidates=codes[first],
            reference_offsets=offsets,
            reference_index=np.delete(codes, first),
            image_keys=list(keys),
            images=np.array([place_of[sample.image] for sample in samples], dtype=np.int64),
            sample_objects=[sample.objects for sample in samples],
            settings=settings or Settings(),
            part=np.zeros(len(samples), dtype=np.int64) if part is None else part,
            photos={s.image: s.photo for s in samples if s.photo is not None and s.image is not None},
        )

    # --- analyses -----------------------------------------------------------------------------------------------

    def __getitem__(self, key: Analysis[Value]) -> Value:
        """The value of an analysis. Reading one that the reader does not declare is an error."""
        if self._declared is not None and key not in self._declared:
            raise UndeclaredAnalysis(f"{self._reader} reads {key} and does not declare it in requires()")
        if self.read is not None:
            self.read.add(key)
        values = self._own if key.index == "sample" else self._values
        if key not in values:
            raise UndeclaredAnalysis(f"{key} has not been computed for this batch; a run does so for what is declared")
        found: Value = values[key]
        return found

    def __contains__(self, key: Key) -> bool:
        return key in (self._own if key.index == "sample" else self._values)

    def put(self, key: Analysis[Value], value: Value) -> None:
        """Put a value in place: the engine does, and tests that bring their own."""
        (self._own if key.index == "sample" else self._values)[key] = value

    def drop(self, keep: Iterable[Key] = ()) -> None:
        """Forget all values but some."""
        kept = set(keep)
        for values in (self._values, self._own):
            for key in [key for key in values if key not in kept]:
                del values[key]

    def read_by(self, reader: str, declared: Iterable[Key]) -> Batch:
        """The same batch, in which only the declared analyses can be read."""
        return self._copy(_declared=frozenset(declared), _reader=reader)

    def select(self, rows: Sequence[int] | Ints) -> Batch:
        """Some of the samples. Texts and images keep their numbers, so that what is known of them is shared."""
        which = np.asarray(rows, dtype=np.int64)
        counts = self.reference_counts()[which]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], counts)
        return self._copy(
            ids=[self.ids[row] for row in which],
            candidates=self.candidates[which],
            reference_offsets=offsets,
            reference_index=self.reference_index[np.repeat(self.reference_offsets[which], counts) + within],
            images=self.images[which],
            sample_objects=[self.sample_objects[row] for row in which],
            part=self.part[which],
            _own={},
        )

    def _copy(self, **changes: Any) -> Batch:
        return Batch(**{**self.__dict__, **changes})

    # --- samples ------------------------------------------------------------------------------------------------

    def references(self, row: int) -> Ints:
        """Indices into `texts` of one sample's references."""
        return self.reference_index[self.reference_offsets[row] : self.reference_offsets[row + 1]]

    def reference_counts(self) -> Ints:
        return np.diff(self.reference_offsets)

    def candidate_texts(self) -> list[str]:
        return [self.texts[i] for i in self.candidates]

    def reference_texts(self, row: int) -> list[str]:
        return [self.texts[i] for i in self.references(row)]

    def texts_in_use(self) -> Ints:
        """Texts that these samples have: fewer than `texts` after `select`."""
        return np.unique(np.concatenate([self.candidates, self.reference_index]))

    def images_in_use(self) -> Ints:
        return np.unique(self.images[self.images >= 0])

    def worded(self) -> Bools:
        """Which texts hold a word (a letter or a digit); others say nothing, whatever marks they hold."""
        if not self._worded:
            self._worded.append(np.fromiter(map(has_word, self.texts), np.bool_, len(self.texts)))
        return self._worded[0]

    def reference_summary(self) -> str:
        """Number of references per sample, as a range where it varies."""
        counts = self.reference_counts()
        if not counts.size:
            return "0"
        low, high = int(counts.min()), int(counts.max())
        return str(low) if low == high else f"{low}-{high}"

    def sample(self, row: int) -> Sample:
        image = self.images[row]
        return Sample(
            id=self.ids[row],
            candidate=self.texts[self.candidates[row]],
            references=tuple(self.reference_texts(row)),
            image=None if image < 0 else self.image_keys[image],
            objects=self.sample_objects[row],
            photo=None if image < 0 else self.photos.get(self.image_keys[image]),
        )
