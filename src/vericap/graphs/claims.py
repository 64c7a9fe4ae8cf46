"""What a scene graph claims, as phrases with kinds and weights, and how far two sides cover each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vericap.core.typing import Array, Floats, Floats32, Ints
from vericap.graphs.scene_graph import SceneGraph

KINDS = ("object", "attribute", "relation")
RELATIONS = 3.0  # weight of a relation; objects and attributes have 1


class GraphClaims:
    """The tuples of a graph as phrases, with kind (a place in KINDS) and weight."""

    __slots__ = ("kinds", "phrases", "weights")

    def __init__(self, phrases: list[str], kinds: Ints, weights: Floats) -> None:
        self.phrases, self.kinds, self.weights = phrases, kinds, weights

    def __len__(self) -> int:
        return len(self.phrases)

    @classmethod
    def of(cls, graph: SceneGraph, relations: float = RELATIONS) -> GraphClaims:
        """The claims of one graph."""
        counts = (len(graph.objects), len(graph.attributes), len(graph.relations))
        kinds = np.repeat(np.arange(len(KINDS)), counts)
        return cls(graph.phrases(full=True), kinds, np.array([1.0, 1.0, relations])[kinds])

    @classmethod
    def joined(cls, parts: Sequence[GraphClaims]) -> GraphClaims:
        """All claims of several references; what more of them say weighs more."""
        return cls(
            [phrase for part in parts for phrase in part.phrases],
            np.concatenate([np.zeros(0, np.int64), *(part.kinds for part in parts)]),
            np.concatenate([np.zeros(0), *(part.weights for part in parts)]),
        )


def covered(similarity: Floats32, own: Array, theirs: Array) -> list[float]:
    """Precision and recall: mean similarity of each claim to the nearest one of the other side, by weights."""
    return [
        float(np.average(similarity.max(axis=1), weights=own)),
        float(np.average(similarity.max(axis=0), weights=theirs)),
    ]


def match(similarity: Floats32, own: GraphClaims, theirs: GraphClaims) -> list[float]:
    """Precision and recall over all tuples, then the mean of both for objects, attributes, relations.

    P = sum_i w_i max_j s_ij / sum_i w_i over the candidate's tuples; R the same over the references' tuples.
    """
    found = covered(similarity, own.weights, theirs.weights)
    for kind in range(len(KINDS)):
        mine, other = own.kinds == kind, theirs.kinds == kind
        if not other.any():
            found.append(float("nan"))  # the references say nothing of this kind
        elif not mine.any():
            found.append(0.0)
        else:
            part = similarity[np.ix_(mine, other)]
            found.append(float(part.max(axis=1).mean() + part.max(axis=0).mean()) / 2)
    return found
