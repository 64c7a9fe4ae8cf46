"""How each sentence of a caption matches its photo and its references, as FAIEr-plus matches them.

Captions of one sentence are read as they are; of longer ones every sentence is read for itself, as are sentences that
are read in another order of their words.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from vericap.core.analysis import Key, closure
from vericap.core.batch import Batch
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.core.typing import Floats32, Ints
from vericap.metrics.faier_plus import FaierPlus

if TYPE_CHECKING:
    from vericap.run.runtime import Runtime

MATCHED = ("photo", "guided")  # by the photo alone; by photo and references, NaN without
_PLUS = FaierPlus()


def needs(settings: Settings) -> tuple[Key, ...]:
    """What FAIEr-plus reads."""
    return _PLUS.requires(settings)


def matched(
    batch: Batch, rows: Ints, sentences: Mapping[int, Sequence[str]], apart: Collection[int], runtime: Runtime
) -> dict[int, Floats32]:
    """(sentences, MATCHED) of every row; `sentences` are those of each candidate, by its place among the texts, `apart`
    the candidates whose sentences are not the text itself."""
    places = batch.candidates[rows].tolist()
    several = np.array([place in apart for place in places], dtype=bool)
    found: dict[int, Floats32] = {}
    for some, alone in ((rows[~several], True), (rows[several], False)):
        if not len(some):
            continue
        counts = np.array([len(sentences[place]) for place, many in zip(places, several) if many != alone])
        judged = batch.select(some) if alone else _apart(batch, some, sentences, runtime)
        ends = np.cumsum(counts)
        values = _scores(judged)
        found |= {row: values[end - count : end] for row, count, end in zip(some.tolist(), counts, ends)}
    return found


def _scores(batch: Batch) -> Floats32:
    scored = _PLUS.statistics(batch)
    alone = scored.columns["fidelity"]
    guided = np.where(np.isnan(scored.columns["adequacy"]), np.nan, scored.values[:, 0])
    return np.stack([alone, guided], axis=1).astype(np.float32)


def _apart(batch: Batch, rows: Ints, sentences: Mapping[int, Sequence[str]], runtime: Runtime) -> Batch:
    """The sentences of some captions as samples of their own; what is known of the photos is shared."""
    samples = [
        Sample(batch.ids[row], sentence, tuple(batch.reference_texts(row)))
        for row in rows.tolist()
        for sentence in sentences[int(batch.candidates[row])]
    ]
    counts = [len(sentences[text]) for text in batch.candidates[rows].tolist()]
    apart = Batch.of(samples, batch.settings)
    apart.image_keys, apart.photos = batch.image_keys, batch.photos
    apart.images = np.repeat(batch.images[rows], counts)
    read = needs(batch.settings)
    for key in closure([key for key in read if key.index == "text"], batch.settings):
        apart.put(key, key.compute(apart, runtime))
    for key in read:
        if key.index != "text":
            apart.put(key, batch[key])
    return apart
