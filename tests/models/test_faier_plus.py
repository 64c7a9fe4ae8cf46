"""FAIEr-plus: the torch module and the torch-free network agree, and both agree with plain loops."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from vericap.metrics.faier_plus import _merged  # noqa: E402
from vericap.models import faier_plus as plain  # noqa: E402
from vericap.train import faier_plus as learned  # noqa: E402

D = 384


def texts(rng: np.random.Generator, captions: int) -> plain.Texts:
    states = rng.normal(size=(captions, 7, D)).astype(np.float32)
    mask = np.arange(7)[None] < rng.integers(2, 8, captions)[:, None]
    averages = np.zeros((captions, 3, 7), dtype=np.float32)
    for row in range(captions - 1):  # the last caption has no relation
        for node in range(int(rng.integers(1, 4))):
            averages[row, node, [0, 1]] = 0.5
    sentences = plain.unit(rng.normal(size=(captions, D)).astype(np.float32))
    return plain.Texts(states, mask, averages, sentences)


@pytest.fixture(scope="module")
def pair() -> tuple[learned.FaierPlusModule, plain.FaierPlus]:
    torch.manual_seed(0)
    module = learned.FaierPlusModule(hidden=16)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    meta = {"name": "tiny", "fingerprint": "x", "encoder": "default"}
    return module, plain.FaierPlus(module.weights(), meta)


def views(rng: np.random.Generator, images: int, regions: int = 5) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    embedded = plain.unit(rng.normal(size=(images, regions, D)).astype(np.float32))
    boxes = rng.random((images, regions, 4)).astype(np.float32)
    return embedded, boxes, np.ones((images, regions), dtype=bool)


def test_both_networks_give_the_same_parts(pair: tuple[learned.FaierPlusModule, plain.FaierPlus]) -> None:
    module, network = pair
    rng = np.random.default_rng(1)
    embedded, boxes, mask = views(rng, 3)
    own, references = texts(rng, 4), [texts(rng, 3), texts(rng, 3)]
    there = np.array([[True, True], [True, False], [False, False]])
    with torch.no_grad():
        visual = module.regions(*(torch.from_numpy(x) for x in (embedded, boxes, mask)))
        given = [(learned.Block.of(text), torch.from_numpy(there[:, j])) for j, text in enumerate(references)]
        found, total = module.parts(visual, learned.Block.of(own), given)
    regions = network.regions(embedded, boxes, mask)
    nodes, told_by = network.nodes(own), [network.nodes(text) for text in references]
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
            part = told_by[j][level]
            logits = [np.exp(network.weights[f"temperature.{level}"]) * visual[region] @ h for h in part.vectors[image]]
            raised = np.array([np.exp(x) if part.mask[image, k] else 0.0 for k, x in enumerate(logits)])
            if raised.sum() > 0:
                contexts[region] += (raised[:, None] / raised.sum() * part.vectors[image]).sum(axis=0)
    union = visual + network.weights[f"gate.{level}"] * contexts / max(len(used), 1)
    union = union / np.linalg.norm(union, axis=1, keepdims=True)
    if level == "sentence":
        t = own.sentences[caption]
        cosines = union @ t
        weights = np.exp(np.exp(network.weights["sharpness"]) * cosines[1:])
        value = 0.5 * cosines[0] + 0.5 * (weights * cosines[1:]).sum() / weights.sum()
        spoken = float(np.mean([references[j].sentences[image] @ t for j in used])) if used else np.nan
    else:
        mine = nodes[level]
        if not mine.mask[caption].any():
            return float("nan")
        value = sum(
            mine.weights[caption, k] * max(z @ mine.vectors[caption, k] for z in union)
            for k in np.flatnonzero(mine.mask[caption])
        )
        spoken = told_loop(mine, caption, [told_by[j][level] for j in used], image)
    part = "seen" if used else "alone"
    seen = network.weights["calibration"][plain.PARTS.index(part), plain.LEVELS.index(level)] @ [value, 1.0]
    if np.isnan(spoken):
        return float(seen)
    told = network.weights["calibration"][2, plain.LEVELS.index(level)] @ [spoken, 1.0]
    return float((seen + told) / 2)


def told_loop(mine, caption, others, image) -> float:
    others = [other for other in others if other.mask[image].any()]
    if not others:
        return float("nan")
    own = [mine.vectors[caption, k] for k in np.flatnonzero(mine.mask[caption])]
    precision = sum(
        mine.weights[caption, k]
        * max(o.vectors[image, n] @ mine.vectors[caption, k] for o in others for n in np.flatnonzero(o.mask[image]))
        for k in np.flatnonzero(mine.mask[caption])
    )
    recall = sum(
        o.weights[image, n] / len(others) * max(o.vectors[image, n] @ h for h in own)
        for o in others
        for n in np.flatnonzero(o.mask[image])
    )
    return (precision + recall) / 2


def test_regions_may_come_in_any_order(pair: tuple[learned.FaierPlusModule, plain.FaierPlus]) -> None:
    _, network = pair
    rng = np.random.default_rng(2)
    embedded, boxes, mask = views(rng, 1)
    own = texts(rng, 1)
    order = rng.permutation(5)
    scores = []
    for turn in (np.arange(5), order):
        regions = network.regions(embedded[:, turn], boxes[:, turn], mask)
        scores.append(network.seen("object", regions["object"], mask, network.nodes(own)["object"])[0])
        scores.append(network.seen("relation", regions["relation"], mask, network.nodes(own)["object"])[0])
    np.testing.assert_allclose(scores[0], scores[2], atol=1e-5)
    np.testing.assert_allclose(scores[1], scores[3], atol=1e-5)


def test_missing_regions_count_for_nothing(pair: tuple[learned.FaierPlusModule, plain.FaierPlus]) -> None:
    _, network = pair
    rng = np.random.default_rng(3)
    embedded, boxes, mask = views(rng, 1)
    own = texts(rng, 2)
    mask[0, 3:] = False
    nodes = network.nodes(own)["object"].rows([0])
    whole = network.regions(embedded, boxes, mask)
    few = network.regions(embedded[:, :3], boxes[:, :3], mask[:, :3])
    for level in ("object", "relation"):
        a = network.seen(level, whole[level], mask, nodes)[0]
        b = network.seen(level, few[level], mask[:, :3], nodes)[0]
        np.testing.assert_allclose(a, b, atol=1e-5)


def test_merged_references_share_their_weight() -> None:
    rng = np.random.default_rng(4)
    mask = np.array([[True, True, False], [True, False, False], [False, False, False]])
    weights = mask / np.maximum(mask.sum(axis=1, keepdims=True), 1)
    nodes = plain.Nodes(rng.normal(size=(3, 3, D)).astype(np.float32), mask, weights.astype(np.float32))
    merged = _merged(nodes, [np.array([0, 1, 2]), np.zeros(0, dtype=np.int64)])
    assert merged.mask.sum(axis=1).tolist() == [3, 0]
    np.testing.assert_allclose(merged.weights.sum(axis=1), [1.0, 0.0], atol=1e-6)
