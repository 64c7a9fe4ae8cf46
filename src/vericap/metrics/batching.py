"""Samples judged together: those of one image and the same references, in groups that fit a budget of memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from vericap.core.batch import Batch
from vericap.core.typing import Ints

TOGETHER = 256  # rows of one case: an image may have any number of captions


@dataclass(frozen=True)
class Case:
    """One image with one list of references, and the rows of the batch that are judged by them."""

    rows: Ints
    image: int  # place in `batch.image_keys`
    references: Ints  # places in `batch.texts`


def cases(batch: Batch, rows: Ints, references: Callable[[int], Ints], *, together: int = TOGETHER) -> Iterator[Case]:
    """Rows by image, and within an image by their references; `references` says which of a row's are read.

    More than `together` rows that are alike come as several cases.
    """
    ordered = rows[np.argsort(batch.images[rows], kind="stable")] if len(rows) else rows
    for image, own in groupby(ordered.tolist(), key=lambda row: int(batch.images[row])):
        alike: dict[bytes, list[int]] = {}
        for row in own:
            alike.setdefault(np.asarray(references(row), dtype=np.int64).tobytes(), []).append(row)
        for said, members in alike.items():
            for start in range(0, len(members), together):
                part = np.array(members[start : start + together], dtype=np.int64)
                yield Case(part, image, np.frombuffer(said, dtype=np.int64))


def grouped(
    cases: Iterable[Case], cost: Callable[[Case], int], budget: int, most: int | None = None
) -> Iterator[list[Case]]:
    """Consecutive cases whose costs stay within a budget, at most `most` together; a case is never cut."""
    group: list[Case] = []
    held = 0
    for case in cases:
        own = cost(case)
        if group and (held + own > budget or len(group) == most):
            yield group
            group, held = [], 0
        group.append(case)
        held += own
    if group:
        yield group


def references_of(batch: Batch) -> Callable[[int], Ints]:
    """The references of a row that hold a word; others say nothing."""
    worded = batch.worded()

    def found(row: int) -> Ints:
        texts = batch.references(row)
        return texts[worded[texts]]

    return found


def no_references(row: int) -> Ints:
    """For metrics that look at the image alone."""
    return np.zeros(0, dtype=np.int64)
