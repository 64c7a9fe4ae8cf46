"""Flickr8k-Expert, Flickr8k-CF and PASCAL-50S for programs that score captions in ways of their own.

expert().tau(scores), crowd().tau(scores), pascal(references=5, draw=0).accuracy(scores)

Protocols and statistics are those of `vericap.meta`; what a metric of vericap gets is `vericap.meta.evaluate`'s matter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.library.data import data_folder
from vericap.core.samples import Sample
from vericap.meta.catalogue import load
from vericap.meta.evaluation import chosen_protocol
from vericap.meta.judgements import Pairs, Ratings
from vericap.meta.task import Task, make_task

GROUPS = ("HC", "HI", "HM", "MM")


@dataclass
class Rated:
    """Captions with judgements."""

    task: Task
    samples: list[Sample]

    def tau(self, scores: np.ndarray) -> float:
        """Kendall's tau x 100 of scores in the order of the samples."""
        return 100 * self.task.agreement([self.task.scores(np.asarray(scores, dtype=float))]).value


@dataclass
class Preferred:
    """Pairs of captions: all first ones, then all second ones."""

    task: Task
    samples: list[Sample]

    def accuracy(self, scores: np.ndarray) -> dict[str, float]:
        """Share of pairs x 100 in which the preferred caption scores higher, per group and their mean; ties 1/2."""
        found = [self.task.scores(np.asarray(scores, dtype=float))]
        shares = {group: 100 * self.task.group_agreement(found, group).value for group in GROUPS}
        return {**shares, "mean": float(np.mean(list(shares.values())))}


def _task(name: str, protocol: str, references: int | None, draws: int = 1) -> Task:
    data = load(name, data_folder())
    assert isinstance(data, Ratings | Pairs)
    return make_task(data, chosen_protocol(data, f"{name}/{protocol}", references=references, runs=draws))


def expert(*, references: int | None = None) -> Rated:
    """Published protocol: own captions dropped, three raters as rows, tau-c; all references, or a draw of them."""
    task = _task("flickr8k-expert", "published", references)
    return Rated(task, task.samples())


def crowd(*, references: int | None = None) -> Rated:
    """Published protocol: judged captions out of the references, share of yes, tau-b.

    The set to choose defaults on (its photos are Expert's, its judgements are not); cards say where that was not done.
    """
    task = _task("flickr8k-cf", "published", references)
    return Rated(task, task.samples())


def pascal(*, label: str = "consensus48", references: int = 5, draw: int = 0, objects: bool = False) -> Preferred:
    """The judged pairs with a random draw of references, and gold objects where asked for."""
    task = _task("pascal50s", label, references, draw + 1)
    return Preferred(task, task.samples(draw, gold_objects=objects))
