"""Flickr8k-Expert, Flickr8k-CF and PASCAL-50S as samples, with the protocols published numbers follow.

expert().tau(scores), crowd().tau(scores), pascal(references=5, draw=0).accuracy(scores)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import kendalltau

from benchmarks.library.data import data_folder
from vericap.core.samples import Sample
from vericap.meta.datasets import flickr8k, pascal50s

GROUPS = ("HC", "HI", "HM", "MM")


@dataclass
class Rated:
    """Samples with a judgement each; several judgements of one sample are rows of their own."""

    samples: list[Sample]
    rows: np.ndarray
    judgements: np.ndarray
    variant: str

    def tau(self, scores: np.ndarray) -> float:
        """Kendall's tau x 100."""
        return 100 * float(kendalltau(scores[self.rows], self.judgements, variant=self.variant).statistic)


def expert(*, references: int = 5) -> Rated:
    """Published protocol: own captions dropped, three raters as rows, tau-c."""
    found = flickr8k.read_expert(data_folder() / "flickr8k")
    keep = [i for i in range(len(found)) if found.candidates[i] not in found.references[i]]
    samples = [Sample(str(i), found.candidates[i], found.references[i][:references], found.images[i]) for i in keep]
    raters = found.ratings.shape[1]
    return Rated(samples, np.repeat(np.arange(len(keep)), raters), found.ratings[keep].ravel(), "c")


def crowd(*, references: int = 5) -> Rated:
    """Published protocol: own captions out of the references, share of yes, tau-b.

    The set to choose defaults on (its photos are Expert's, its judgements are not); cards say where that was not done.
    """
    found = flickr8k.read_crowd(data_folder() / "flickr8k")
    samples = []
    for i in range(len(found)):
        others = tuple(r for r in found.references[i] if r != found.candidates[i])
        samples.append(Sample(str(i), found.candidates[i], others[:references], found.images[i]))
    return Rated(samples, np.arange(len(samples)), found.ratings[:, 0], "b")


@dataclass
class Preferred:
    """Samples 2i and 2i + 1 are the two captions of pair i."""

    samples: list[Sample]
    groups: np.ndarray
    preference: np.ndarray

    def accuracy(self, scores: np.ndarray) -> dict[str, float]:
        """Share of pairs in which the preferred caption scores higher, per group and their mean; ties 1/2."""
        first, second = scores[0::2], scores[1::2]
        right = np.where(first == second, 0.5, (second > first) == (self.preference > 0.5))
        usable = ~np.isnan(self.preference) & (self.preference != 0.5)
        shares = {g: 100 * float(right[usable & (self.groups == g)].mean()) for g in GROUPS}
        return {**shares, "mean": float(np.mean(list(shares.values())))}


def pascal(*, label: str = "consensus48", references: int = 5, draw: int = 0, objects: bool = False) -> Preferred:
    """The judged pairs with a random draw of references, and gold objects where asked for."""
    found = pascal50s.read(data_folder() / "pascal50s")
    random = np.random.default_rng(draw)
    samples = []
    for i in range(len(found)):
        pool = [r for r in found.references[i] if r not in (found.first[i], found.second[i])]
        drawn = tuple(pool[j] for j in random.permutation(len(pool))[:references])
        gold = dict(found.objects[found.images[i]]) if objects else None
        for side, text in enumerate((found.first[i], found.second[i])):
            samples.append(Sample(f"{i}-{side}", text, drawn, found.images[i], gold))
    return Preferred(samples, np.array(found.groups), found.preference(label))
