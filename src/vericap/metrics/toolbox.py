"""What several metrics share: rows that cannot be judged, and words of a caption with their places."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from vericap.core.batch import Batch
from vericap.core.statistics import Statistics
from vericap.core.typing import Floats, Floats32, Ints
from vericap.text.stopwords import ENGLISH

if TYPE_CHECKING:
    from vericap.vision.store import RegionTable

NO_REFERENCE = "no reference to compare with"
NO_WORD = "the candidate has no word"
NO_REGION = "the image has no region"
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


def without_references(batch: Batch, values: Any) -> Statistics:
    """Statistics in which samples without a reference are NaN, with the reason."""
    values = np.array(values, dtype=np.float64)
    missing = np.flatnonzero(batch.reference_counts() == 0)
    values[missing] = np.nan
    return Statistics(values, dict.fromkeys(missing.tolist(), NO_REFERENCE))


def reference_cosines(batch: Batch, vectors: Floats32) -> tuple[Floats, Ints]:
    """Cosine of each caption with each of its references that hold a word, and the row of each; of unit vectors."""
    usable = batch.worded()[batch.reference_index]
    rows = np.repeat(np.arange(len(batch)), batch.reference_counts())[usable]
    own, other = batch.candidates[rows], batch.reference_index[usable]
    cosines = np.einsum("ij,ij->i", vectors[own], vectors[other], dtype=np.float64)
    return np.clip(cosines, -1.0, 1.0), rows


def row_means(values: Floats, rows: Ints, count: int) -> Floats:
    """Mean of the values of each of `count` rows; NaN for a row without any."""
    number = np.bincount(rows, minlength=count)
    return np.where(number > 0, np.bincount(rows, values, minlength=count) / np.maximum(number, 1), np.nan)


def wordless(batch: Batch) -> dict[int, str]:
    """Rows whose candidate holds no word: "???", an emoji, blanks or nothing say the same."""
    return dict.fromkeys(np.flatnonzero(~batch.worded()[batch.candidates]).tolist(), NO_WORD)


def imageless(batch: Batch, problems: Mapping[int, str]) -> dict[int, str]:
    """Rows without a usable image; `problems` says of images why they cannot be used."""
    found: dict[int, str] = {}
    for row, image in enumerate(batch.images.tolist()):
        if image < 0:
            found[row] = "no image is named"
        elif image in problems:
            found[row] = problems[image]
    return found


def unjudged(batch: Batch, regions: RegionTable) -> dict[int, str]:
    """Rows that no metric over regions can judge: a candidate without a word, no image, an image without regions."""
    without = dict.fromkeys(np.flatnonzero(~regions.mask.any(axis=1)).tolist(), NO_REGION)
    return {**wordless(batch), **imageless(batch, {**without, **regions.problems})}


def judged(batch: Batch, problems: Mapping[int, str]) -> Ints:
    """The other rows."""
    return np.array([row for row in range(len(batch)) if row not in problems], dtype=np.int64)


def words_of(text: str) -> list[tuple[str, int, int]]:
    """Words of a caption as written, with the places of their first letter and of the letter after them."""
    return [(match.group(), match.start(), match.end()) for match in _WORD.finditer(text)]


def content_words(text: str) -> list[tuple[str, int, int]]:
    """Words that say something: no stop words."""
    return [item for item in words_of(text) if item[0].lower() not in ENGLISH]
