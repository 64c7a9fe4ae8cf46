"""SCAN in matrix products against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vericap.models.scan import Attention, CaptionWords, ScanModel, by_length, context_products, unit


def model(width: int = 6, given_width: int = 9, **attention: object) -> ScanModel:
    rng = np.random.default_rng(1)
    weights = {
        "image": rng.normal(size=(width, given_width)),
        "image_bias": rng.normal(size=width),
        "text": np.eye(width),
        "text_bias": np.zeros(width),
    }
    meta = {"name": "tiny", "fingerprint": "f", "words": "states", "attention": attention}
    return ScanModel(weights, meta)


def loop_grounding(regions: np.ndarray, mask: np.ndarray, words: np.ndarray, attention: Attention) -> np.ndarray:
    """The equations one number at a time."""
    count, length = len(regions), len(words)
    s = np.zeros((count, length))
    for i in range(count):
        for j in range(length):
            value = sum(a * b for a, b in zip(regions[i], words[j]))
            s[i, j] = (value if value > 0 else attention.slope * value) * mask[i]
    for j in range(length):
        s[:, j] /= max(np.sqrt(sum(v * v for v in s[:, j])), 1e-8)
    found = np.zeros(count)
    for i in range(count):
        e = np.exp(attention.sharpness * s[i])
        context = sum(e[j] / e.sum() * words[j] for j in range(length))
        found[i] = context @ regions[i] / max(np.linalg.norm(context) * np.linalg.norm(regions[i]), 1e-8)
    return found


def random_case(seed: int) -> tuple[np.ndarray, np.ndarray, CaptionWords]:
    rng = np.random.default_rng(seed)
    regions = unit(rng.normal(size=(3, 4, 6)).astype(np.float32))
    mask = np.ones((3, 4), np.float32)
    mask[1, 2:] = 0
    lengths = rng.integers(1, 6, size=7)
    vectors = unit(rng.normal(size=(int(lengths.sum()), 6)).astype(np.float32))
    return regions, mask, CaptionWords(vectors, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["average", "logsumexp"]), st.sampled_from([0.0, 0.1]))
def test_all_pairs_equal_the_loop(seed: int, pooling: str, slope: float) -> None:
    scan = model(pooling=pooling, slope=slope)
    regions, mask, words = random_case(seed)
    matrix = scan.matrix(regions, mask, words)
    images, captions = (index.reshape(-1) for index in np.indices(matrix.shape))
    pairs = scan.pairs(regions, mask, words, images, captions).reshape(matrix.shape)
    np.testing.assert_allclose(matrix, pairs, atol=1e-5)
    for image in range(3):
        for caption in range(7):
            g = loop_grounding(regions[image], mask[image], words[caption], scan.attention)
            inside = g[mask[image] > 0]
            expected = inside.mean() if pooling == "average" else np.log(np.exp(6 * inside).sum()) / 6
            assert matrix[image, caption] == pytest.approx(expected, abs=1e-5)


def test_contexts_give_the_same_grounding() -> None:
    scan = model()
    regions, mask, words = random_case(3)
    images, captions = np.array([0, 2, 1]), np.array([4, 1, 6])
    contexts = scan.contexts(regions, mask, words, images, captions)
    cosines = (unit(contexts) * regions[images]).sum(axis=-1)
    np.testing.assert_allclose(cosines, scan.grounding(regions, mask, words, images, captions), atol=1e-5)


def test_lengths_of_contexts_need_no_contexts() -> None:
    """Inner products and lengths, plain and whitened, from Gram matrices are those of the context vectors."""
    scan = model()
    regions, mask, words = random_case(5)
    images, captions = np.array([0, 2, 1, 0]), np.array([4, 1, 6, 0])
    whitening = np.random.default_rng(6).normal(size=(regions.shape[-1],) * 2).astype(np.float32)
    whitened = CaptionWords(words.vectors @ whitening.T, words.offsets)
    found = scan.measured(regions, mask, words, whitened, images, captions)
    inner, lengths = found.inner, found.lengths
    contexts = scan.contexts(regions, mask, words, images, captions)
    others = np.array([2, 3, 5, 4])
    said = scan.measured(regions, mask, words, whitened, images, others)
    products = context_products(words, (captions, others), (found.weights, said.weights))
    told = scan.contexts(regions, mask, words, images, others)
    np.testing.assert_allclose(products, (contexts * told).sum(axis=-1), atol=1e-5)
    np.testing.assert_allclose(inner, (contexts * regions[images]).sum(axis=-1), atol=1e-5)
    np.testing.assert_allclose(lengths.plain, np.linalg.norm(contexts, axis=-1), atol=1e-5)
    np.testing.assert_allclose(lengths.whitened, np.linalg.norm(contexts @ whitening.T, axis=-1), atol=1e-4)


@pytest.mark.parametrize(("width", "slope"), [(6, 0.0), (40, 0.1), (384, 0.0)])
def test_the_kernel_measures_like_its_twin(width: int, slope: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Captions of any length, words that are not read, regions that are not there, widths that fill no vector."""
    rng, scan = np.random.default_rng(width), model(slope=slope)
    mask = (rng.random((5, 7)) > 0.2).astype(np.float32)
    regions = unit(rng.normal(size=(5, 7, width)).astype(np.float32)) * mask[..., None]
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 14, size=30))]).astype(np.int64)
    vectors = unit(rng.normal(size=(int(offsets[-1]), width)).astype(np.float32))
    vectors[rng.random(len(vectors)) < 0.1] = 0
    words, whitened = CaptionWords(vectors, offsets), CaptionWords(2 * vectors[:, ::-1].copy(), offsets)
    images, (captions, others) = rng.integers(0, 5, 60), rng.integers(0, 30, (2, 60))

    def found() -> list[np.ndarray]:
        own, other = (scan.measured(regions, mask, words, whitened, images, texts) for texts in (captions, others))
        products = context_products(words, (captions, others), (own.weights, other.weights))
        return [own.inner, own.lengths.plain, own.lengths.whitened, own.weights, products]

    made = found()
    monkeypatch.setenv("VERICAP_PURE_PYTHON", "1")
    for one, other in zip(made, found(), strict=True):
        np.testing.assert_allclose(one, other, atol=2e-5)


def test_order_of_regions_does_not_matter() -> None:
    scan = model()
    regions, mask, words = random_case(4)
    order = np.array([2, 0, 3, 1])
    shuffled = scan.matrix(regions[:, order], mask[:, order], words)
    np.testing.assert_allclose(shuffled, scan.matrix(regions, mask, words), atol=1e-5)


def test_zero_regions_and_empty_captions_are_no_trouble() -> None:
    scan = model()
    words = CaptionWords(unit(np.ones((2, 6), np.float32)), np.array([0, 0, 2]))
    scores = scan.matrix(np.zeros((1, 3, 6), np.float32), np.ones((1, 3), np.float32), words)
    assert np.isfinite(scores).all()
    assert scores[0, 0] == 0


def test_groups_hold_equal_lengths() -> None:
    lengths = np.array([3, 0, 2, 3, 3, 2])
    groups = [group.tolist() for group in by_length(lengths, 2)]
    assert sorted(place for group in groups for place in group) == [0, 2, 3, 4, 5]
    assert all(len({lengths[i] for i in group}) == 1 and len(group) <= 2 for group in groups)
