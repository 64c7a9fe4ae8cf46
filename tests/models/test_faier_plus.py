"""FAIEr-plus: the torch module and the torch-free network agree, and both agree with plain loops."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from vericap.models import faier_plus as plain  # noqa: E402
from vericap.models.arrays import unit  # noqa: E402
from vericap.models.faier_plus.layout import NodeStates  # noqa: E402
from vericap.train.faier_plus import network as learned  # noqa: E402

D = 384


@dataclass
class Texts:
    """Captions made up: states of words and relations, sentence vectors."""

    states: NodeStates
    sentences: np.ndarray

    def block(self) -> learned.CaptionTensors:
        return learned.CaptionTensors.of(self.states, self.sentences)

    def rows(self, which: list[int]) -> Texts:
        """Some of the captions, in any order, as often as wanted."""
        s, order = self.states, np.array(which, dtype=np.int64)

        def picked(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
            return np.concatenate([values[:0], *(np.split(values, np.cumsum(counts)[:-1])[i] for i in order)])

        words, relations = picked(s.words, s.word_counts), picked(s.relations, s.relation_counts)
        counts = s.word_counts[order], s.relation_counts[order]
        return Texts(NodeStates(words, counts[0], relations, counts[1], s.means[order]), self.sentences[order])


def texts(rng: np.random.Generator, captions: int) -> Texts:
    words, relations = rng.integers(1, 8, captions), rng.integers(1, 4, captions)
    relations[-1] = 0  # the last caption has no relation

    def made(rows: int) -> np.ndarray:
        return rng.normal(size=(rows, D)).astype(np.float32)

    states = NodeStates(made(words.sum()), words, made(relations.sum()), relations, made(captions))
    return Texts(states, unit(made(captions)))


def nodes_of(network: plain.FaierPlusModel, texts: Texts) -> dict[str, plain.WeightedNodes]:
    s = texts.states
    return {
        "object": network.nodes("object", s.words, s.word_counts),
        "relation": network.nodes("relation", s.relations, s.relation_counts),
    }


def one(nodes: plain.WeightedNodes, caption: int) -> plain.WeightedNodes:
    return nodes.rows(np.array([caption]))


@pytest.fixture(scope="module")
def pair() -> tuple[learned.FaierPlusModule, plain.FaierPlusModel]:
    torch.manual_seed(0)
    module = learned.FaierPlusModule(16, 384)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    meta = {"name": "tiny", "fingerprint": "x", "encoder": "default"}
    return module, plain.FaierPlusModel(module.weights(), meta)


def views(rng: np.random.Generator, images: int, regions: int = 5) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    embedded = unit(rng.normal(size=(images, regions, D)).astype(np.float32))
    boxes = rng.random((images, regions, 4)).astype(np.float32)
    return embedded, boxes, np.ones((images, regions), dtype=bool)


def test_both_networks_give_the_same_parts(pair: tuple[learned.FaierPlusModule, plain.FaierPlusModel]) -> None:
    module, network = pair
    rng = np.random.default_rng(1)
    embedded, boxes, mask = views(rng, 3)
    own, references = texts(rng, 4), [texts(rng, 3), texts(rng, 3)]
    there = np.array([[True, True], [True, False], [False, False]])
    with torch.no_grad():
        visual = module.regions(*(torch.from_numpy(x) for x in (embedded, boxes, mask)))
        # Of image 0 both references are given, of image 1 the first, of image 2 none.
        parts = [references[0].rows([0]), references[1].rows([0]), references[0].rows([1])]
        given = learned.GivenReferences(
            learned.CaptionTensors.joined([part.block() for part in parts]), torch.from_numpy(np.nonzero(there)[0])
        )
        found, total = module.parts(visual, own.block(), given)
    regions = network.regions(embedded, boxes, mask)
    nodes, told_by = nodes_of(network, own), [nodes_of(network, text) for text in references]
    for image in range(3):
        for caption in range(4):
            levels = []
            for level in plain.LEVELS:
                levels.append(by_loops(network, level, regions, nodes, told_by, own, references, there, image, caption))
            np.testing.assert_allclose(float(total[image, caption]), np.nanmean(levels), atol=1e-4)
    assert float(found["seen", "object"][0].std()) > 0


def by_loops(network, level, regions, nodes, told_by, own, references, there, image, caption) -> float:
    """The score of one pair on one level, as the formulas are written; NaN for a caption without such nodes."""
    used = [j for j in range(len(references)) if there[image, j]]
    visual = regions[level][image]
    contexts = np.zeros_like(visual)
    for j in used:
        for region in range(len(visual)):
            if level == "sentence":
                contexts[region] += references[j].sentences[image]
                continue
            vectors = one(told_by[j][level], image).vectors
            raised = np.exp(np.exp(network.weights[f"temperature.{level}"]) * vectors @ visual[region])
            if len(vectors):
                contexts[region] += (raised[:, None] / raised.sum() * vectors).sum(axis=0)
    union = visual + network.weights[f"gate.{level}"] * contexts / max(len(used), 1)
    union = union / np.linalg.norm(union, axis=1, keepdims=True)
    if level == "sentence":
        t = own.sentences[caption]
        cosines = union @ t
        weights = np.exp(np.exp(network.weights["sharpness"]) * cosines[1:])
        value = 0.5 * cosines[0] + 0.5 * (weights * cosines[1:]).sum() / weights.sum()
        spoken = float(np.mean([references[j].sentences[image] @ t for j in used])) if used else np.nan
    else:
        mine = one(nodes[level], caption)
        if not len(mine.vectors):
            return float("nan")
        value = sum(weight * max(z @ h for z in union) for weight, h in zip(mine.weights, mine.vectors))
        spoken = told_loop(mine, [one(told_by[j][level], image) for j in used])
    part = "seen" if used else "alone"
    seen = network.weights["calibration"][plain.PARTS.index(part), plain.LEVELS.index(level)] @ [value, 1.0]
    if np.isnan(spoken):
        return float(seen)
    told = network.weights["calibration"][2, plain.LEVELS.index(level)] @ [spoken, 1.0]
    return float((seen + told) / 2)


def told_loop(mine: plain.WeightedNodes, others: list[plain.WeightedNodes]) -> float:
    others = [other for other in others if len(other.vectors)]
    if not others:
        return float("nan")
    precision = sum(
        weight * max(o @ h for other in others for o in other.vectors) for weight, h in zip(mine.weights, mine.vectors)
    )
    recall = sum(
        weight / len(others) * max(o @ h for h in mine.vectors)
        for other in others
        for weight, o in zip(other.weights, other.vectors)
    )
    return (precision + recall) / 2


def test_matching_agrees_with_plain_loops(pair: tuple[learned.FaierPlusModule, plain.FaierPlusModel]) -> None:
    """Many candidates and references at once, as the metric matches them; some have no nodes."""
    _, network = pair
    rng = np.random.default_rng(5)
    embedded, boxes, mask = views(rng, 1)
    regions = network.regions(embedded, boxes, mask)
    own, given = texts(rng, 4), texts(rng, 3)
    nodes, others = nodes_of(network, own), nodes_of(network, given)
    for level in ("object", "relation"):
        union = network.union(level, regions[level][0], others[level])
        context = np.zeros_like(union)
        for j in range(3):
            vectors = one(others[level], j).vectors
            raised = np.exp(np.exp(network.weights[f"temperature.{level}"]) * regions[level][0] @ vectors.T)
            context += raised / np.maximum(raised.sum(axis=1, keepdims=True), 1e-9) @ vectors
        expected = unit(regions[level][0] + network.weights[f"gate.{level}"] * context / 3)
        np.testing.assert_allclose(union, expected, atol=1e-5)
        seen, told = network.seen(union, nodes[level]), network.told(nodes[level], others[level])
        for caption in range(4):
            mine = one(nodes[level], caption)
            if not len(mine.vectors):
                assert np.isnan([seen[caption], told[caption]]).all()
                continue
            value = sum(weight * (union @ h).max() for weight, h in zip(mine.weights, mine.vectors))
            np.testing.assert_allclose(seen[caption], value, atol=1e-5)
            spoken = told_loop(mine, [one(others[level], j) for j in range(3)])
            np.testing.assert_allclose(told[caption], spoken, atol=1e-5)


def test_regions_may_come_in_any_order(pair: tuple[learned.FaierPlusModule, plain.FaierPlusModel]) -> None:
    _, network = pair
    rng = np.random.default_rng(2)
    embedded, boxes, mask = views(rng, 1)
    own = texts(rng, 1)
    order = rng.permutation(5)
    scores = []
    for turn in (np.arange(5), order):
        regions = network.regions(embedded[:, turn], boxes[:, turn], mask)
        scores.append(network.seen(regions["object"][0], nodes_of(network, own)["object"]))
        scores.append(network.seen(regions["relation"][0], nodes_of(network, own)["object"]))
    np.testing.assert_allclose(scores[0], scores[2], atol=1e-5)
    np.testing.assert_allclose(scores[1], scores[3], atol=1e-5)


def test_missing_regions_count_for_nothing(pair: tuple[learned.FaierPlusModule, plain.FaierPlusModel]) -> None:
    _, network = pair
    embedded, boxes, mask = views(np.random.default_rng(3), 1)
    mask[0, 3:] = False
    whole = network.regions(embedded, boxes, mask)
    few = network.regions(embedded[:, :3], boxes[:, :3], mask[:, :3])
    for level in plain.LEVELS:
        np.testing.assert_allclose(whole[level][:, :3], few[level], atol=1e-5)
        assert not whole[level][:, 3:].any()


def test_rows_are_the_nodes_of_some_captions() -> None:
    counts = np.array([2, 0, 3])
    vectors = np.arange(5, dtype=np.float32)[:, None]
    nodes = plain.WeightedNodes(vectors, np.array([0.5, 0.5, 0.2, 0.2, 0.6], np.float32), counts)
    found = nodes.rows(np.array([2, 1, 0, 2]))
    assert found.vectors[:, 0].tolist() == [2, 3, 4, 0, 1, 2, 3, 4]
    assert found.counts.tolist() == [3, 0, 2, 3]
    np.testing.assert_allclose(found.weighted(np.ones(8, np.float32)), [1.0, np.nan, 1.0, 1.0])
    assert nodes.rows(np.array([1])).vectors.shape == (0, 1)
    assert nodes.rows(np.zeros(0, np.int64)).counts.shape == (0,)


def test_gradients_of_runs() -> None:
    """Maxima and softmax over runs of rows, one of them empty, against finite differences."""
    counts = torch.tensor([2, 0, 3])
    rows = torch.rand(5, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: learned.most(x, counts), rows)
    assert torch.autograd.gradcheck(lambda x: learned.shares(x, counts), rows)
    found = learned.shares(rows, counts).detach()
    np.testing.assert_allclose(found[:2].sum(dim=0), 1.0)
    np.testing.assert_allclose(learned.most(rows, counts)[1].detach(), -1.0)
