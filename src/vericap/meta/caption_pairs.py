"""Pairs of judged captions: what people say about the two, and how far a metric sets them apart.

Pairs are of one image where a data set has enough of these (that is what metrics are used for: captions of the same
photo), else of any two captions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vericap.core.typing import Bools, Floats, Ints
from vericap.meta.judgements import Pairs
from vericap.meta.task import Task

ENOUGH = 500  # pairs of captions of one image from which pairs across images are not needed; few captions need fewer
_EQUAL = 1e-9  # mean ratings that are equal but for rounding
MOST = 20_000_000  # pairs that are listed one by one


@dataclass(frozen=True)
class CaptionPairs:
    """`first` and `second` are places in a task's flat scores; `lead` is above 0 where people prefer the second."""

    first: Ints
    second: Ints
    lead: Floats
    cluster: tuple[Ints, Ints]  # the image of either caption
    clusters: int
    same_image: bool

    def __len__(self) -> int:
        return len(self.lead)

    @property
    def tied(self) -> Bools:
        """Where people see no difference."""
        return self.lead == 0

    def gaps(self, scores: Floats) -> Floats:
        """How much higher the second caption scores; NaN where one has no score."""
        flat = scores.ravel()
        return flat[self.second] - flat[self.first]


def caption_pairs(task: Task, *, most: int = MOST, seed: int = 0) -> CaptionPairs | None:
    """The pairs of a task: those that people compared, or any two rated captions of an image, or of the set.

    Across images, a random part is taken where there are more than `most`. None where there is no pair.
    """
    if isinstance(task.data, Pairs):
        rows = np.arange(len(task.rows))
        lead = np.sign(task.judgement - 0.5)
        return CaptionPairs(2 * rows, 2 * rows + 1, lead, (task.cluster, task.cluster), task.clusters, True)
    human, image = task.mean_judgement(), image_of_rows(task)
    first, second = within(image)
    same = enough_within(len(first), len(human))
    if not same:
        first, second = _any_two(len(human), most, seed)
    if not len(first):
        return None
    lead = leads(human, first, second)
    return CaptionPairs(first, second, lead, (image[first], image[second]), task.clusters, same)


def image_of_rows(task: Task) -> Ints:
    """The image of every kept row, as a number."""
    image = np.empty(len(task.rows), dtype=np.int64)
    image[task.entry] = task.cluster
    return image


def enough_within(pairs: int, captions: int) -> bool:
    """Whether pairs of captions of one image are enough to judge by."""
    return pairs >= min(captions, ENOUGH)


def leads(human: Floats, first: Ints, second: Ints) -> Floats:
    """By how much people rate the second higher; exactly 0 where they see no difference."""
    lead = human[second] - human[first]
    return np.where(np.abs(lead) < _EQUAL, 0.0, lead)


def within(group: Ints) -> tuple[Ints, Ints]:
    """All pairs of places with the same group; groups of one size are laid out at once."""
    order = np.argsort(group, kind="stable")
    starts = np.concatenate([[0], np.flatnonzero(np.diff(group[order])) + 1])
    sizes = np.diff([*starts, len(group)])
    first, second = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for size in np.unique(sizes[sizes > 1]):
        one, two = np.triu_indices(size, 1)
        own = starts[sizes == size][:, None]
        first.append(order[own + one].ravel())
        second.append(order[own + two].ravel())
    return np.concatenate(first), np.concatenate(second)


def _any_two(count: int, most: int, seed: int) -> tuple[Ints, Ints]:
    if count * (count - 1) // 2 <= most:
        one, two = np.triu_indices(count, 1)
        return one.astype(np.int64), two.astype(np.int64)
    generator = np.random.default_rng(seed)
    one = generator.integers(0, count, most)
    two = (one + generator.integers(1, count, most)) % count  # never itself
    return one, two
