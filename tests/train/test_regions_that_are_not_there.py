"""Images with different numbers of regions: torch over padded ones equals the models that score, image by image."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from vericap.models import faier_plus as plain  # noqa: E402
from vericap.models import scan as scoring  # noqa: E402
from vericap.models.arrays import unit  # noqa: E402
from vericap.models.vse import VseModel  # noqa: E402
from vericap.train.faier_plus.network import CaptionTensors, FaierPlusModule, GivenReferences  # noqa: E402
from vericap.train.scan.data import WordTensors  # noqa: E402
from vericap.train.scan.network import ScanModule, ScanOptions, weights_of  # noqa: E402
from vericap.train.vse.network import VseHead  # noqa: E402

COUNTS, MOST, D, WIDTH = [1, 3, 5], 5, 8, 12
MASK = np.arange(MOST) < np.array(COUNTS)[:, None]


def features(width: int = WIDTH, seed: int = 0) -> np.ndarray:
    """Padded with noise: a region that is not there must not be seen."""
    return np.random.default_rng(seed).normal(size=(3, MOST, width)).astype(np.float32)


def test_vse() -> None:
    torch.manual_seed(0)
    head = VseHead(WIDTH, D, hidden=6)
    torch.nn.init.normal_(head.output.weight)
    texts = unit(np.random.default_rng(1).normal(size=(4, D)))
    with torch.no_grad():
        found = head.score(head(torch.from_numpy(features())), torch.from_numpy(texts), torch.from_numpy(MASK)).numpy()
        weights = {
            "linear": head.linear.weight, "linear_bias": head.linear.bias,
            "hidden": head.hidden.weight, "hidden_bias": head.hidden.bias,
            "output": head.output.weight, "output_bias": head.output.bias, "sharpness": head.sharpness.exp(),
        }  # fmt: skip
        model = VseModel({k: v.numpy() for k, v in weights.items()}, {"name": "m", "fingerprint": "f"})
    for image, count in enumerate(COUNTS):
        own = model.embed(features()[image : image + 1, :count])
        expected = model.matrix(own, np.ones((1, count), bool), texts)[0]
        np.testing.assert_allclose(found[image], expected, atol=1e-5)
    np.testing.assert_allclose(found, model.matrix(model.embed(features()), MASK, texts), atol=1e-5)


@pytest.mark.parametrize("pooling", ["average", "logsumexp"])
def test_scan(pooling: str) -> None:
    torch.manual_seed(0)
    module = ScanModule(ScanOptions(width=D, hidden=6, pooling=pooling, references=1), WIDTH, states=10)
    rng = np.random.default_rng(1)
    counts = np.array([3, 4, 3])
    text = WordTensors(torch.from_numpy(rng.normal(size=(10, 10)).astype(np.float32)), torch.from_numpy(counts))
    mask = torch.from_numpy(MASK)
    with torch.no_grad():
        words = module.words(text)
        regions = module.regions(torch.from_numpy(features()), mask)
        contexts = module.contexts(regions, words, text.counts)  # caption i is image i's reference
        found, told, _ = module.score(regions, words, text.counts, contexts, mask)
        meta = {"name": "m", "fingerprint": "f", "words": "states", "attention": vars(module.options.attention())}
        model = scoring.ScanModel(weights_of(module), meta)
        own_words = scoring.CaptionWords(words.numpy(), np.concatenate([[0], np.cumsum(counts)]))
        for image, count in enumerate(COUNTS):
            alone = torch.from_numpy(features()[image : image + 1, :count])
            seen = module.regions(alone)
            reference = WordTensors(
                text.values[own_words.offsets[image] :][: counts[image]], text.counts[image : image + 1]
            )
            given = module.contexts(seen, module.words(reference), reference.counts)
            one, both, _ = module.score(seen, words, text.counts, given)
            np.testing.assert_allclose(found[image], one[0], atol=1e-5)
            np.testing.assert_allclose(told[image], both[0], atol=1e-5)
            numbers = model.regions(alone.numpy())
            expected = model.matrix(numbers, np.ones((1, count), np.float32), own_words)[0]
            np.testing.assert_allclose(found[image], expected, atol=1e-5)


def test_faier_plus() -> None:
    torch.manual_seed(0)
    module = FaierPlusModule(6, D)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    rng = np.random.default_rng(1)
    boxes = np.sort(rng.random((3, MOST, 2, 2)), axis=2).reshape(3, MOST, 4).astype(np.float32)

    def captions(count: int) -> CaptionTensors:
        words, relations = rng.integers(1, 4, count), rng.integers(0, 3, count)
        given = (rng.normal(size=(words.sum(), D)), words, rng.normal(size=(relations.sum(), D)), relations)
        sentences = unit(rng.normal(size=(count, D)))
        return CaptionTensors(*(torch.from_numpy(np.asarray(x, x.dtype if x.dtype == int else np.float32))
                                for x in (*given, sentences)))  # fmt: skip

    own, references = captions(4), GivenReferences(captions(2), torch.tensor([1, 2]))
    regions = unit(features(D))
    with torch.no_grad():
        visual = module.regions(torch.from_numpy(regions), torch.from_numpy(boxes), torch.from_numpy(MASK))
        _, scores = module.parts(visual, own, references, torch.from_numpy(MASK))
        network = plain.FaierPlusModel(module.weights(), {"name": "m", "fingerprint": "f"})
        for image, count in enumerate(COUNTS):
            some = (x[image : image + 1, :count] for x in (regions, boxes))
            alone = module.regions(*(torch.from_numpy(x) for x in some), torch.ones(1, count, dtype=torch.bool))
            at = references.images == image
            one = (
                GivenReferences(_only(references.block, int(at.nonzero()[0])), torch.zeros(1, dtype=torch.long))
                if at.any()
                else None
            )
            _, expected = module.parts(alone, own, one)
            np.testing.assert_allclose(scores[image], expected[0], atol=1e-5)
            seen = network.regions(
                regions[image : image + 1, :count], boxes[image : image + 1, :count], np.ones((1, count), bool)
            )
            for level in plain.LEVELS:
                np.testing.assert_allclose(alone[level][0], seen[level][0], atol=1e-5)


def _only(block: CaptionTensors, caption: int) -> CaptionTensors:
    """One caption of several."""
    words = torch.split(block.words, block.word_counts.tolist())[caption]
    relations = torch.split(block.relations, block.relation_counts.tolist())[caption]
    counts = (block.word_counts[caption : caption + 1], block.relation_counts[caption : caption + 1])
    return CaptionTensors(words, counts[0], relations, counts[1], block.sentences[caption : caption + 1])
