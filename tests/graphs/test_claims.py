"""Claims of scene graphs: phrases with kinds and weights, and how far two sides cover each other."""

from __future__ import annotations

import numpy as np
import pytest

from vericap.graphs.claims import RELATIONS, GraphClaims, covered, match
from vericap.graphs.scene_graph import SceneGraph

GRAPH = SceneGraph.of([("man",), ("horse", "brown"), ("man", "ride", "horse")])


def test_claims_follow_the_phrases_of_a_graph() -> None:
    found = GraphClaims.of(GRAPH)
    assert found.phrases == ["man", "horse", "brown horse", "man ride brown horse"]
    assert found.kinds.tolist() == [0, 0, 1, 2]
    assert found.weights.tolist() == [1.0, 1.0, 1.0, RELATIONS]
    assert GraphClaims.of(GRAPH, 1.0).weights.tolist() == [1.0] * 4
    assert len(GraphClaims.of(SceneGraph())) == 0


def test_joined_claims_keep_what_is_said_twice() -> None:
    one = GraphClaims.of(GRAPH)
    both = GraphClaims.joined([one, one])
    assert both.phrases == one.phrases * 2
    assert both.kinds.tolist() == one.kinds.tolist() * 2
    assert len(GraphClaims.joined([])) == 0


def test_precision_and_recall_are_weighted_means_of_the_nearest() -> None:
    similarity = np.array([[1.0, 0.0], [0.5, 0.25]], dtype=np.float32)
    assert covered(similarity, np.array([1.0, 3.0]), np.array([1.0, 1.0])) == pytest.approx([0.625, 0.625])


def test_kinds_nobody_speaks_of_are_undefined() -> None:
    own, theirs = GraphClaims.of(SceneGraph.of([("man",)])), GraphClaims.of(GRAPH)
    precision, recall, objects, attributes, relations = match(np.ones((1, 4), np.float32), own, theirs)
    assert (precision, recall, objects, attributes, relations) == (1.0, 1.0, 1.0, 0.0, 0.0)
    found = match(np.ones((4, 1), np.float32), theirs, own)
    assert np.isnan(found[3:]).all()
