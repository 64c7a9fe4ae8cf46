"""SCAN (Lee et al. 2018) without torch: stacked cross attention between regions and words.

With unit region vectors v_i and unit word vectors h_j of one caption (metrics: section "Grounding"):
    s_ij = v_i . h_j,   clipped below, L2-normalised over the regions for each word,
    alpha_ij = softmax_j(9 s_ij),   a_i = sum_j alpha_ij h_j,   g_i = cos(v_i, a_i).
All pairs of images and captions come from one matrix product; the length of a_i comes from the caption's
Gram matrix, |a_i|^2 = alpha_i (H H') alpha_i', so contexts are never built where only g_i is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vericap.models import store, vse
from vericap.models.vse import standardise
from vericap.models.words import encode

Array = NDArray[np.float32]
Ints = NDArray[np.int64]
_TINY = 1e-8
_CHUNK = 1024  # caption-image pairs attended to together
_CELLS = 1 << 19  # similarities held at once: they stay in the processor's cache


@dataclass(frozen=True)
class Attention:
    """How region and word similarities become weights."""

    sharpness: float = 9.0
    slope: float = 0.1  # of negative similarities: 0 as in the paper, 0.1 as in the public program
    pooling: str = "average"  # or logsumexp
    lse: float = 6.0


def unit(vectors: Array) -> Array:
    """Rows of length 1; a zero row stays zero."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, _TINY), dtype=np.float32)


def weights(similarity: Array, mask: Array, attention: Attention) -> Array:
    """alpha of (..., regions, words); `mask` (..., regions) leaves out regions that are not there."""
    clipped = np.where(similarity > 0, similarity, attention.slope * similarity)
    clipped = clipped * mask[..., :, None]
    length = np.sqrt((clipped**2).sum(axis=-2, keepdims=True))
    logits = attention.sharpness * clipped / np.maximum(length, _TINY)
    logits -= logits.max(axis=-1, keepdims=True)
    found = np.exp(logits)
    return np.asarray(found / found.sum(axis=-1, keepdims=True), dtype=np.float32)


def pooled(grounding: Array, mask: Array, attention: Attention) -> Array:
    """Score of (..., regions) grounding: mean over regions, or LogSumExp."""
    if attention.pooling == "average":
        return np.asarray((grounding * mask).sum(axis=-1) / np.maximum(mask.sum(axis=-1), 1), dtype=np.float32)
    summed = (np.exp(attention.lse * grounding) * mask).sum(axis=-1)
    return np.asarray(np.log(np.maximum(summed, _TINY)) / attention.lse, dtype=np.float32)


@dataclass(frozen=True)
class Words:
    """Unit word vectors, caption after caption: caption i has rows offsets[i]:offsets[i + 1]."""

    vectors: Array
    offsets: Ints

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, caption: int) -> Array:
        return self.vectors[self.offsets[caption] : self.offsets[caption + 1]]

    def lengths(self) -> Ints:
        return np.diff(self.offsets)

    def stacked(self, captions: Sequence[int] | Ints) -> Array:
        """(captions, words, d) of captions that have the same number of words."""
        which = np.asarray(captions, dtype=np.int64)
        length = int(self.offsets[which[0] + 1] - self.offsets[which[0]])
        return self.vectors[self.offsets[which][:, None] + np.arange(length)]


@dataclass(frozen=True)
class Lengths:
    """Lengths of vectors, plain and by Mahalanobis."""

    plain: Array
    whitened: Array

    def __getitem__(self, rows: Any) -> Lengths:
        return Lengths(self.plain[rows], self.whitened[rows])


def by_length(lengths: Ints, most: int) -> Iterator[Ints]:
    """Places of equal length together, at most `most` in one group; places of length 0 are left out."""
    order = np.argsort(lengths, kind="stable")
    order = order[lengths[order] > 0]
    if not order.size:
        return
    for group in np.split(order, np.flatnonzero(np.diff(lengths[order])) + 1):
        for start in range(0, len(group), most):
            yield group[start : start + most]


class Scan:
    """A trained model: projections of regions and words, attention, the whitening of REO's distance."""

    def __init__(self, weights: dict[str, Array], meta: dict[str, Any]) -> None:
        self.weights = {name: np.asarray(value, dtype=np.float32) for name, value in weights.items()}
        self.meta = meta
        self.name: str = meta["name"]
        self.fingerprint: str = meta["fingerprint"]
        self.attention = Attention(**meta.get("attention", {}))
        self.width = int(self.weights["image"].shape[0])
        self.whitening: Array = self.weights.get("whitening", np.eye(self.width, dtype=np.float32))

    def regions(self, features: Array) -> Array:
        """(..., d_u) features -> (..., D) unit vectors."""
        w = self.weights
        x = features.reshape(-1, features.shape[-1])  # one matrix product for all images
        encoder = self.meta.get("encoder")
        x = vse.load(encoder).embed(x) if encoder else np.asarray(x, dtype=np.float32)
        if self.meta.get("standardise", True):
            x = standardise(x)
        v = x @ w["image"].T + w["image_bias"]
        if "hidden" in w:
            v += np.maximum(x @ w["hidden"].T + w["hidden_bias"], 0.0) @ w["output"].T
        return unit(v).reshape(*features.shape[:-1], self.width)

    def words(self, texts: Sequence[str], states: Any = None) -> Words:
        """Unit word vectors of captions, from `text.encoder.TokenStates` or from words known since
        training."""
        if self.meta["words"] == "states":
            vectors = states.states.astype(np.float32) @ self.weights["text"].T + self.weights["text_bias"]
            return Words(unit(vectors), np.asarray(states.offsets, dtype=np.int64))
        vectors, offsets = encode(texts, self.weights, self.meta["vocabulary"])
        return Words(unit(vectors), offsets)

    def grounding(self, regions: Array, mask: Array, words: Words, images: Ints, captions: Ints) -> Array:
        """g_i of pairs (images[p], captions[p]): (pairs, regions); 0 for a caption without words."""
        found = np.zeros((len(images), regions.shape[1]), dtype=np.float32)
        for group, alpha, h, similarity in self._attended(regions, mask, words, images, captions):
            found[group] = (alpha * similarity).sum(axis=-1) / np.maximum(_quadratic(alpha, h), _TINY)
        return found

    def contexts(self, regions: Array, mask: Array, words: Words, images: Ints, captions: Ints) -> Array:
        """a_i of pairs: (pairs, regions, D); zeros for a caption without words."""
        found = np.zeros((len(images), regions.shape[1], self.width), dtype=np.float32)
        for group, alpha, h, _ in self._attended(regions, mask, words, images, captions):
            found[group] = alpha @ h
        return found

    def measured(
        self, regions: Array, mask: Array, words: Words, whitened: Words, images: Ints, captions: Ints
    ) -> tuple[Array, Lengths]:
        """a_i . v_i of pairs and the lengths of a_i, (pairs, regions) each; 0 for a caption without words.

        `whitened` are the words as the whitening maps them. Lengths come from the captions' Gram matrices, plain and
        whitened, so that no context is built or whitened.
        """
        shape = (len(images), regions.shape[1])
        inner, plain, other = (np.zeros(shape, dtype=np.float32) for _ in range(3))
        for group, alpha, h, similarity in self._attended(regions, mask, words, images, captions):
            inner[group] = np.einsum("prw,prw->pr", alpha, similarity)
            plain[group] = _quadratic(alpha, h)
            other[group] = _quadratic(alpha, whitened.stacked(captions[group]))
        return inner, Lengths(plain, other)

    def _attended(
        self, regions: Array, mask: Array, words: Words, images: Ints, captions: Ints
    ) -> Iterator[tuple[Ints, Array, Array, Array]]:
        for group in by_length(words.lengths()[captions], _CHUNK):
            h = words.stacked(captions[group])
            similarity = regions[images[group]] @ h.transpose(0, 2, 1)
            yield group, weights(similarity, mask[images[group]], self.attention), h, similarity

    def pairs(self, regions: Array, mask: Array, words: Words, images: Ints, captions: Ints) -> Array:
        """Scores of pairs (images[p], captions[p])."""
        grounding = self.grounding(regions, mask, words, images, captions)
        return pooled(grounding, mask[images], self.attention)

    def matrix(self, regions: Array, mask: Array, words: Words) -> Array:
        """Scores of every image with every caption: one matrix product, then Gram matrices per caption."""
        images, count, width = regions.shape
        scores = np.zeros((images, len(words)), dtype=np.float32)
        flat = regions.reshape(images * count, width)
        limit = max(1, _CELLS // (images * count * max(int(words.lengths().max(initial=1)), 1)))
        for group in by_length(words.lengths(), limit):
            h = words.stacked(group)
            captions, length, _ = h.shape
            similarity = (flat @ h.reshape(captions * length, width).T).reshape(images, count, captions, length)
            alpha = self._unscaled(similarity, mask)
            top = np.einsum("ircj,ircj->irc", alpha, similarity)
            rows = alpha.reshape(images * count, captions, length).transpose(1, 0, 2)
            inner = rows @ (h @ h.transpose(0, 2, 1))
            square = np.einsum("crj,crj->rc", inner, rows).reshape(images, count, captions)
            grounding = top / np.sqrt(np.maximum(square, _TINY))
            scores[:, group] = pooled(grounding.transpose(0, 2, 1), mask[:, None], self.attention)
        return scores

    def _unscaled(self, similarity: Array, mask: Array) -> Array:
        """alpha of (images, regions, captions, words) up to a factor per region, which no cosine sees.

        Normalised similarities are at most 1, so their exponentials need no shift.
        """
        clipped = np.maximum(similarity, self.attention.slope * similarity)
        if not mask.all():
            clipped *= mask[:, :, None, None]
        length = np.sqrt(np.einsum("ircj,ircj->icj", clipped, clipped))
        clipped *= (self.attention.sharpness / np.maximum(length, _TINY))[:, None]
        return np.exp(clipped, out=clipped)


def _quadratic(alpha: Array, h: Array) -> Array:
    """|sum_j alpha_ij h_j| of (pairs, regions, words) and (pairs, words, D)."""
    gram = h @ h.transpose(0, 2, 1)
    return np.sqrt(np.maximum(np.einsum("prw,prw->pr", alpha @ gram, alpha), 0.0))


@lru_cache(maxsize=4)
def load(model: str = "default") -> Scan:
    """The shipped model (default), or one in a folder (`scan.safetensors`, `meta.json`)."""
    return Scan(*store.weights(model, "scan"))
