"""FAIEr's equations against plain loops, against torch, and learning on made features."""

from __future__ import annotations

import json

import numpy as np
import pytest

from vericap.core import shipped
from vericap.core.errors import VericapError
from vericap.models.faier import EMPTY, UNKNOWN, VARIANTS, FaierConfig, FaierModel, load
from vericap.models.recurrent import bidirectional

torch = pytest.importorskip("torch")
torch.set_num_threads(1)  # tests share the processor
from vericap.train.faier.network import FaierModule  # noqa: E402
from vericap.train.losses import hardest_negative  # noqa: E402

WORDS = [UNKNOWN, EMPTY, "a", "dog", "cat", "on", "grass", "red", "runs"]
CAPTIONS = [["a", "dog", "runs"], ["red", "cat", "on", "grass"], ["zebra"], []]
TRIPLETS = [[["dog", "runs", "grass"]], [["cat", "on", "grass"], ["cat", "a", "red"]], [], []]


def module(**options) -> FaierModule:
    torch.manual_seed(0)
    return FaierModule(FaierConfig(width=6, d=8, words=5, **options), WORDS)


def images(count=3, regions=4, width=6):
    rng = np.random.default_rng(1)
    mask = np.ones((count, regions), dtype=bool)
    mask[1, 2:] = False
    features = rng.normal(size=(count, regions, width)).astype(np.float32) * mask[:, :, None]
    return features, rng.random((count, regions, 4)).astype(np.float32), mask


def torch_scores(net, chosen, captions=CAPTIONS, triplets=TRIPLETS):
    """(images, captions); `chosen` (images, references) are rows of the captions, -1 for none."""
    features, boxes, mask = (torch.from_numpy(part) for part in images())
    if net.embedding.weight.dtype == torch.float64:
        features, boxes = features.double(), boxes.double()
    text, visual = net.captions(captions, triplets), net.regions(features, boxes, mask)
    sides = {level: net.sides(level, visual[level], mask, text[level], chosen) for level in net.levels}
    return net.scores(sides, text)


OPTIONS = [{"variant": name} for name in VARIANTS] + [{"similarity": "cosine"}]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("references", [0, 1, 3])
def test_torch_and_torch_free_agree(options, references) -> None:
    net = module(**options)
    free = net.export()
    features, boxes, mask = images()
    chosen = np.array([[(image + j) % 4 for j in range(references)] for image in range(3)], np.int64).reshape(
        3, references
    )
    if references == 3:
        chosen[1, 1], chosen[2] = -1, -1  # one image has fewer references, one has none
    with torch.no_grad():
        expected = torch_scores(net, chosen).numpy()
    nodes = free.captions(CAPTIONS, TRIPLETS)
    seen = free.regions(features, boxes, mask)
    for image in range(3):
        for caption in range(4):
            total = 0.0
            for level in free.levels:
                own = [nodes.level(level)[row] for row in chosen[image] if row >= 0]
                sides = free.sides(level, seen[level][image][mask[image]], own)
                best = free.matched(sides, nodes.level(level)[caption])
                total += best.mean() if best.size else 0.0
            assert total == pytest.approx(expected[image, caption], abs=1e-4)


def test_image_and_references_apart_against_loops() -> None:
    """`aier` and `fier+aier`: best node of the image, best node of the references, weighed."""
    net = module(variant="fier+aier")
    with torch.no_grad():
        net.merge["object"].weight[:] = torch.tensor([[0.3, 0.8]])
    free, alone = net.export(), module(variant="aier").export()
    features, boxes, mask = images()
    visual = free.regions(features, boxes, mask)["object"][0]
    nodes = free.captions(CAPTIONS, TRIPLETS).objects
    for k, score in enumerate(free.matched(free.sides("object", visual, [nodes[1], nodes[2]]), nodes[0])):
        image = max(float(v @ nodes[0][k]) for v in visual)
        said = max(float(h @ nodes[0][k]) for h in [*nodes[1], *nodes[2]])
        assert score == pytest.approx(0.3 * image + 0.8 * said, abs=1e-5)
    own = alone.captions(CAPTIONS, TRIPLETS).objects
    empty = alone.captions([[EMPTY]], [[]]).objects[0]
    np.testing.assert_allclose(
        alone.matched(alone.sides("object", visual, []), own[0]), [float(empty[0] @ h) for h in own[0]], atol=1e-5
    )


def test_equations_against_loops() -> None:
    free = module().export()
    features, boxes, mask = images()
    w = free.weights
    seen = free.regions(features, boxes, mask)
    for image in range(3):
        there = np.flatnonzero(mask[image])
        objects = [
            w["visual.2.weight"] @ np.tanh(w["visual.0.weight"] @ u + w["visual.0.bias"]) + w["visual.2.bias"]
            for u in features[image]
        ]
        for i in there:
            pull = [np.exp(np.tanh(w["offset.weight"][0] @ (boxes[image, i] - boxes[image, j]))) for j in there]
            relation = sum(p / sum(pull) * (w["relation.weight"] @ objects[j]) for p, j in zip(pull, there))
            np.testing.assert_allclose(seen["object"][image, i], objects[i], atol=1e-5)
            np.testing.assert_allclose(seen["relation"][image, i], relation, atol=1e-5)
    reference = free.captions(CAPTIONS, TRIPLETS).objects[1]
    weight, context = free.attend("object", seen["object"][0], reference)
    for i in range(4):
        logits = [w["attention.object.weight"][0] @ (seen["object"][0, i] * h) for h in reference]
        alpha = np.exp(logits) / np.exp(logits).sum()
        np.testing.assert_allclose(weight[i], alpha, atol=1e-5)
        np.testing.assert_allclose(context[i], alpha @ reference, atol=1e-5)


def test_gru_equals_torch() -> None:
    net = torch.nn.GRU(5, 3, batch_first=True, bidirectional=True)
    inputs = np.random.default_rng(0).normal(size=(1, 6, 5)).astype(np.float32)
    weights = {name.replace("_l0", ""): value.detach().numpy() for name, value in net.state_dict().items()}
    states, last = bidirectional(inputs, np.array([6]), weights)
    expected, hidden = net(torch.from_numpy(inputs))
    np.testing.assert_allclose(states, expected.detach().numpy(), atol=1e-6)
    np.testing.assert_allclose(last[0], torch.cat([hidden[0, 0], hidden[1, 0]]).detach().numpy(), atol=1e-6)


def test_order_of_regions_changes_nothing() -> None:
    free = module().export()
    features, boxes, mask = (part[:1] for part in images())
    order = np.array([2, 0, 3, 1])
    nodes = free.captions(CAPTIONS, TRIPLETS)
    for level in free.levels:
        one = free.union(level, free.regions(features, boxes, mask)[level][0], nodes.level(level)[:2])
        turned = free.regions(features[:, order], boxes[:, order], mask[:, order])[level][0]
        two = free.union(level, turned, nodes.level(level)[:2])
        np.testing.assert_allclose(
            free.match(one, nodes.level(level)[1]), free.match(two, nodes.level(level)[1]), atol=1e-5
        )


@pytest.mark.parametrize("variant", VARIANTS)
def test_gradients_reach_every_parameter_and_are_right(variant) -> None:
    net = module(variant=variant).double()
    chosen = np.array([[1, 0], [2, -1], [0, 1]])
    triplets = [TRIPLETS[0], TRIPLETS[1], TRIPLETS[0]]

    def loss() -> torch.Tensor:
        return hardest_negative(torch_scores(net, chosen, CAPTIONS[:3], triplets), margin=5.0)

    loss().backward()
    for name, parameter in net.named_parameters():
        assert parameter.grad is not None, name
        place = parameter.grad.abs().argmax()
        with torch.no_grad():
            flat = parameter.view(-1)
            flat[place] += 1e-5
            up = loss()
            flat[place] -= 2e-5
            down = loss()
            flat[place] += 1e-5
        assert (up - down) / 2e-5 == pytest.approx(parameter.grad.view(-1)[place].item(), rel=1e-3, abs=1e-6), name


def test_learns_fifty_images() -> None:
    """Made features carry two words each; the right caption of 50 must be found."""
    torch.manual_seed(0)
    words = [f"w{i}" for i in range(20)]
    pairs = [(words[i % 20], words[(i * 7 + i // 20 + 1) % 20]) for i in range(50)]
    table = torch.randn(20, 16)
    features = torch.stack([torch.stack([table[words.index(a)], table[words.index(b)]]) for a, b in pairs])
    boxes, mask = torch.rand(50, 2, 4), torch.ones(50, 2, dtype=torch.bool)
    net = FaierModule(FaierConfig(width=16, d=32, words=16), [UNKNOWN, EMPTY, "on", *words])
    captions = [["on", a, b] for a, b in pairs]
    triplets = [[[a, "on", b]] for a, b in pairs]
    optimiser = torch.optim.Adam(net.parameters(), lr=5e-3)
    for step in range(120):
        text, visual = net.captions(captions, triplets), net.regions(features, boxes, mask)
        none = np.zeros((50, 0), dtype=np.int64)
        scores = net.scores({lv: net.sides(lv, visual[lv], mask, text[lv], none) for lv in net.levels}, text)
        optimiser.zero_grad()
        # The mean over negatives first, then the hardest: the usual warm-up.
        loss = hardest_negative(scores) if step > 40 else torch.nn.functional.cross_entropy(scores, torch.arange(50))
        loss.backward()
        optimiser.step()
    assert (scores.argmax(dim=1) == torch.arange(50)).float().mean() >= 0.95


@pytest.mark.parametrize("storage", ["int8", "float16", "float32"])
def test_storage(storage, tmp_path) -> None:
    torch.manual_seed(0)
    free = FaierModule(FaierConfig(width=64, d=64, words=64, fingerprint="f"), WORDS).export("small")
    free.save(tmp_path, storage=storage, licence="Apache-2.0")
    again = load(str(tmp_path))
    assert (again.name, again.fingerprint, again.vocabulary) == ("small", "f", WORDS)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["faier.safetensors", "meta.json"]
    for name, value in free.weights.items():
        tolerance = {"int8": np.abs(value).max() / 254 + 1e-3, "float16": 1e-3, "float32": 0.0}[storage]
        np.testing.assert_allclose(again.weights[name], value, atol=tolerance)
    sizes = (tmp_path / "faier.safetensors").stat().st_size, sum(v.size for v in free.weights.values())
    assert sizes[0] < {"int8": 1.25, "float16": 2.1, "float32": 4.1}[storage] * sizes[1] + 4096


def test_folders_of_the_first_version_are_read(tmp_path) -> None:
    free = module(fingerprint="f").export("early")
    free.save(tmp_path)
    meta = json.loads((tmp_path / "meta.json").read_text())
    about = {"config": {**meta.pop("config"), "fingerprint": "f"}, "vocabulary": meta.pop("vocabulary")}
    (tmp_path / "faier.json").write_text(json.dumps(about))
    (tmp_path / "meta.json").write_text(json.dumps(meta))
    assert load(str(tmp_path)).config == free.config
    (tmp_path / "faier.json").unlink()
    with pytest.raises(VericapError, match="not a readable FAIEr model"):
        load(str(tmp_path))


def test_damage_is_named(tmp_path, monkeypatch) -> None:
    free = module().export()
    free.save(tmp_path)
    again = load(str(tmp_path))
    with pytest.raises(VericapError, match="region features have width 7, the model faier reads 6"):
        again.regions(np.zeros((1, 2, 7), np.float32), np.zeros((1, 2, 4), np.float32), np.ones((1, 2), bool))
    with pytest.raises(VericapError, match=r"visual\.0\.weight .*, their options say"):
        FaierModel(FaierConfig(width=7, d=8, words=5), free.weights, WORDS)
    with pytest.raises(VericapError, match="weights lack merge"):
        FaierModel(FaierConfig(width=6, d=8, words=5, variant="fier+aier"), free.weights, WORDS)
    data = (tmp_path / "faier.safetensors").read_bytes()
    (tmp_path / "faier.safetensors").write_bytes(data[: len(data) // 2])
    with pytest.raises(VericapError, match="holds no model of the kind 'faier'"):
        load(str(tmp_path))
    with pytest.raises(VericapError, match="holds no model of the kind 'faier'"):
        load(str(tmp_path / "nowhere"))
    monkeypatch.setattr("vericap.core.shipped.ROOT", tmp_path)
    shipped.meta.cache_clear()
    with pytest.raises(VericapError, match="shipped part 'faier' is not at"):
        load("default")


def test_a_variant_that_does_not_exist_is_refused() -> None:
    with pytest.raises(VericapError, match="variant 'ier' is not one of"):
        module(variant="ier")
    with pytest.raises(VericapError, match="must be even"):
        FaierModule(FaierConfig(width=6, d=7), WORDS)


def test_long_captions_and_many_references() -> None:
    free = module().export()
    features, boxes, mask = (part[:1, :2] for part in images())
    nodes = free.captions([["dog"] * 200], [[]])
    union = free.union("object", free.regions(features, boxes, mask)["object"][0], nodes.objects * 50)
    assert np.isfinite(free.match(union, nodes.objects[0])).all()
