"""SCAN (Lee et al. 2018) without torch: stacked cross attention between regions and words.

With unit region vectors v_i and unit word vectors h_j of one caption (metrics: section "Grounding"):
    s_ij = v_i . h_j,   clipped below, L2-normalised over the regions for each word,
    alpha_ij = softmax_j(9 s_ij),   a_i = sum_j alpha_ij h_j,   g_i = cos(v_i, a_i).
All pairs of images and captions come from one matrix product; the length of a_i comes from the caption's
Gram matrix, |a_i|^2 = alpha_i (H H') alpha_i', so contexts are never built where only g_i is asked for.

A folder may hold two models that read words in different ways (`joined`), and metrics take the mean of what they say:
words in their sentences, and words read alone, of which only attention knows what belongs together. NAME#alone is one
of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vericap.core import shipped
from vericap.core.errors import InputError
from vericap.core.typing import Floats32, Ints
from vericap.models.described import check_width, checked
from vericap.models.vse import standardise
from vericap.models.words import encode
from vericap.native import able
from vericap.native.dense import Layers

STATES, ALONE = "states", "alone"  # words in their sentences, or each read alone: both from a sentence encoder
BESIDE, HALF = "+", "#"  # between the ways of reading of two models in one folder; before that of one of them
UNREAD = "unread"  # of marks and stops in a model's meta file: they carry no weight
_TINY = 1e-8
_CHUNK = 1024  # caption-image pairs attended to together
_PAIRS = 64  # pairs of captions whose word vectors are held together
_CELLS = 1 << 19  # similarities held at once: they stay in the processor's cache


@dataclass(frozen=True)
class Attention:
    """How region and word similarities become weights."""

    sharpness: float = 9.0
    slope: float = 0.1  # of negative similarities: 0 as in the paper, 0.1 as in the public program
    pooling: str = "average"  # or logsumexp, max, sum
    lse: float = 6.0
    # Who attends in `pairs` and `matrix`: regions to words (i2t), or words to regions (t2i). Context vectors of
    # regions (REO, TIGEr) are those of i2t in any case.
    direction: str = "i2t"


def unit(vectors: Floats32) -> Floats32:
    """Rows of length 1; a zero row stays zero."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, _TINY), dtype=np.float32)


def weights(similarity: Floats32, mask: Floats32, attention: Attention, attended: Floats32 | None = None) -> Floats32:
    """alpha of (..., regions, words); `mask` (..., regions) leaves out regions that are not there.

    Rows attend to columns, those of them that `attended` (..., words) marks: for words that attend to regions give
    (..., words, regions), and the regions' mask as `attended`.
    """
    clipped = np.where(similarity > 0, similarity, attention.slope * similarity)
    clipped = clipped * mask[..., :, None]
    length = np.sqrt((clipped**2).sum(axis=-2, keepdims=True))
    logits = attention.sharpness * clipped / np.maximum(length, _TINY)
    found = np.exp(logits - logits.max(axis=-1, keepdims=True))
    if attended is not None:
        found *= attended[..., None, :] > 0
    return np.asarray(found / np.maximum(found.sum(axis=-1, keepdims=True), _TINY), dtype=np.float32)


def with_cells(embedded: Floats32, features: Floats32, cells: int) -> Floats32:
    """Regions as an image-sentence encoder embeds them, followed by the last `cells` values of their features: those of
    the finer map, which tell neighbours apart where the encoder minds the whole."""
    if not cells:
        return embedded
    return np.concatenate([embedded, np.asarray(features[..., -cells:], dtype=np.float32)], axis=-1)


def there(words: Floats32) -> Floats32:
    """(..., words) 1 for a word, 0 for what is no word of a caption: marks and stops, whose vectors are zero."""
    return np.asarray(words.any(axis=-1), dtype=np.float32)


def pooled(grounding: Floats32, mask: Floats32, attention: Attention) -> Floats32:
    """Score of (..., regions) grounding: mean over regions, or LogSumExp."""
    if attention.pooling == "average":
        return np.asarray((grounding * mask).sum(axis=-1) / np.maximum(mask.sum(axis=-1), 1), dtype=np.float32)
    if attention.pooling == "sum":
        return np.asarray((grounding * mask).sum(axis=-1), dtype=np.float32)
    if attention.pooling == "max":
        return np.asarray(np.where(mask > 0, grounding, -np.inf).max(axis=-1), dtype=np.float32)
    summed = (np.exp(attention.lse * grounding) * mask).sum(axis=-1)
    return np.asarray(np.log(np.maximum(summed, _TINY)) / attention.lse, dtype=np.float32)


@dataclass(frozen=True)
class CaptionWords:
    """Unit word vectors, caption after caption: caption i has rows offsets[i]:offsets[i + 1]."""

    vectors: Floats32
    offsets: Ints

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, caption: int) -> Floats32:
        return self.vectors[self.offsets[caption] : self.offsets[caption + 1]]

    def lengths(self) -> Ints:
        return np.diff(self.offsets)

    def padded(self, captions: Ints) -> Floats32:
        """(captions, words of the longest, d); behind a caption's last word stand vectors of others."""
        places = self.offsets[captions][:, None] + np.arange(self.lengths()[captions].max(initial=0))
        return self.vectors[np.minimum(places, len(self.vectors) - 1)]

    def stacked(self, captions: Sequence[int] | Ints) -> Floats32:
        """(captions, words, d) of captions that have the same number of words."""
        which = np.asarray(captions, dtype=np.int64)
        length = int(self.offsets[which[0] + 1] - self.offsets[which[0]])
        return self.vectors[self.offsets[which][:, None] + np.arange(length)]


@dataclass(frozen=True)
class Attended:
    """What captions make of regions, (pairs, regions) each: inner products a_i . v_i, lengths of a_i; and alpha_i."""

    inner: Floats32
    lengths: Lengths
    weights: Floats32  # (pairs, regions, words of the longest caption), 0 behind a caption's last word


@dataclass(frozen=True)
class Lengths:
    """Lengths of vectors, plain and by Mahalanobis."""

    plain: Floats32
    whitened: Floats32

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


class ScanModel:
    """A trained model: projections of regions and words, attention, the whitening of REO's distance."""

    def __init__(self, weights: dict[str, Floats32], meta: dict[str, Any]) -> None:
        self.weights = {name: np.asarray(value, dtype=np.float32) for name, value in weights.items()}
        self._layer = Layers(self.weights)
        self.meta = meta
        self.name: str = meta["name"]
        self.fingerprint: str = meta["fingerprint"]
        self.attention = Attention(**meta.get("attention", {}))
        self.encoder: str = meta.get("encoder", "")  # the model of `models.vse` whose regions it reads; empty: none
        self.cells = int(meta.get("cells", 0))  # values of the features that follow what the encoder makes of them
        self.width, self.reads = self.weights["image"].shape  # of the common space, of what regions are made from
        self.whitening: Floats32 = self.weights.setdefault("whitening", np.eye(self.width, dtype=np.float32))

    @property
    def cut(self) -> str:
        """How captions are cut into the words of its vocabulary."""
        return str(self.meta.get("tokens", "words"))

    def regions(self, features: Floats32) -> Floats32:
        """(..., d) features -> (..., D) unit vectors; where `encoder` is named, what that one makes of the features."""
        check_width(features.shape[-1], self.reads, self.name)
        x = np.asarray(features.reshape(-1, features.shape[-1]), dtype=np.float32)  # one product for all images
        if self.meta.get("standardise", True):
            x = standardise(x)
        v = self._layer("image", "image_bias")(x)
        if "hidden" in self.weights:
            self._layer("output")(self._layer("hidden", "hidden_bias")(x, rectify=True), add=v)
        return unit(v).reshape(*features.shape[:-1], self.width)

    def whitened(self, vectors: Floats32) -> Floats32:
        """Vectors (..., D) in the space where REO's Mahalanobis distance is the plain one."""
        return self._layer("whitening")(vectors)

    def words(self, texts: Sequence[str], states: Any = None) -> CaptionWords:
        """Unit word vectors of captions, from `text.encoders.StateTable` or from words known since training; zero for
        marks and stops where the model does not read them."""
        if self.meta["words"] in (STATES, ALONE):
            read = self._layer("text", "text_bias")(states.states)
            if "text_hidden" in self.weights:
                hidden = self._layer("text_hidden", "text_hidden_bias")(states.states, rectify=True)
                self._layer("text_output")(hidden, add=read)
            vectors = unit(read)
            if self.meta.get("marks") == UNREAD:
                vectors *= states.lettered(texts)[:, None]
            return CaptionWords(vectors, np.asarray(states.offsets, dtype=np.int64))
        vectors, offsets = encode(texts, self.weights, self.meta["vocabulary"], self.cut)
        return CaptionWords(unit(vectors), offsets)

    def grounding(
        self, regions: Floats32, mask: Floats32, words: CaptionWords, images: Ints, captions: Ints
    ) -> Floats32:
        """g_i of pairs (images[p], captions[p]): (pairs, regions); 0 for a caption without words."""
        found = np.zeros((len(images), regions.shape[1]), dtype=np.float32)
        for group, alpha, h, similarity in self._attended(regions, mask, words, images, captions):
            found[group] = (alpha * similarity).sum(axis=-1) / np.maximum(_quadratic(alpha, h), _TINY)
        return found

    def contexts(
        self, regions: Floats32, mask: Floats32, words: CaptionWords, images: Ints, captions: Ints
    ) -> Floats32:
        """a_i of pairs: (pairs, regions, D); zeros for a caption without words."""
        found = np.zeros((len(images), regions.shape[1], self.width), dtype=np.float32)
        for group, alpha, h, _ in self._attended(regions, mask, words, images, captions):
            found[group] = alpha @ h
        return found

    def measured(
        self,
        regions: Floats32,
        mask: Floats32,
        words: CaptionWords,
        whitened: CaptionWords,
        images: Ints,
        captions: Ints,
    ) -> Attended:
        """Inner products and lengths of pairs; zeros for a caption without words.

        `whitened` are the words as the whitening maps them. Lengths come from the captions' Gram matrices, plain and
        whitened, so that no context is whitened, or built at all.
        """
        shape = (len(images), regions.shape[1])
        inner, plain, other = (np.zeros(shape, dtype=np.float32) for _ in range(3))
        kept = np.zeros((*shape, words.lengths()[captions].max(initial=0)), dtype=np.float32)
        if (kernel := able("attention")) is not None:
            given = (regions, mask, words.vectors, whitened.vectors, words.offsets, images, captions)
            found = (inner, plain, other, kept)
            sizes = (*regions.shape[1:], kept.shape[2], self.attention.sharpness, self.attention.slope)
            kernel.attend(*map(np.ascontiguousarray, given), *found, *sizes)
            return Attended(inner, Lengths(plain, other), kept)
        for group, alpha, h, similarity in self._attended(regions, mask, words, images, captions):
            inner[group] = np.einsum("prw,prw->pr", alpha, similarity)
            plain[group] = _quadratic(alpha, h)
            other[group] = _quadratic(alpha, whitened.stacked(captions[group]))
            kept[group, :, : alpha.shape[2]] = alpha
        return Attended(inner, Lengths(plain, other), kept)

    def _attended(
        self, regions: Floats32, mask: Floats32, words: CaptionWords, images: Ints, captions: Ints
    ) -> Iterator[tuple[Ints, Floats32, Floats32, Floats32]]:
        for group in by_length(words.lengths()[captions], _CHUNK):
            h = words.stacked(captions[group])
            similarity = regions[images[group]] @ h.transpose(0, 2, 1)
            yield group, weights(similarity, mask[images[group]], self.attention, there(h)), h, similarity

    def pairs(self, regions: Floats32, mask: Floats32, words: CaptionWords, images: Ints, captions: Ints) -> Floats32:
        """Scores of pairs (images[p], captions[p])."""
        if self.attention.direction == "t2i":
            return self._attending_words(regions, mask, words, images, captions)
        grounding = self.grounding(regions, mask, words, images, captions)
        return pooled(grounding, mask[images], self.attention)

    def matrix(self, regions: Floats32, mask: Floats32, words: CaptionWords) -> Floats32:
        """Scores of every image with every caption: one matrix product, then Gram matrices per caption."""
        images, count, width = regions.shape
        if self.attention.direction == "t2i":
            every = np.divmod(np.arange(images * len(words)), max(len(words), 1))
            return self._attending_words(regions, mask, words, *every).reshape(images, len(words))
        scores = np.zeros((images, len(words)), dtype=np.float32)
        flat = regions.reshape(images * count, width)
        limit = max(1, _CELLS // (images * count * max(int(words.lengths().max(initial=1)), 1)))
        for group in by_length(words.lengths(), limit):
            h = words.stacked(group)
            captions, length, _ = h.shape
            similarity = (flat @ h.reshape(captions * length, width).T).reshape(images, count, captions, length)
            alpha = self._unscaled(similarity, mask) * there(h)
            top = np.einsum("ircj,ircj->irc", alpha, similarity)
            rows = alpha.reshape(images * count, captions, length).transpose(1, 0, 2)
            inner = rows @ (h @ h.transpose(0, 2, 1))
            square = np.einsum("crj,crj->rc", inner, rows).reshape(images, count, captions)
            grounding = top / np.sqrt(np.maximum(square, _TINY))
            scores[:, group] = pooled(grounding.transpose(0, 2, 1), mask[:, None], self.attention)
        return scores

    def _attending_words(
        self, regions: Floats32, mask: Floats32, words: CaptionWords, images: Ints, captions: Ints
    ) -> Floats32:
        """Scores of pairs where every word attends to the regions: similarities are normalised over the words of each
        region, weights over the regions."""
        found = np.zeros(len(images), dtype=np.float32)
        for group in by_length(words.lengths()[captions], _CHUNK):
            h, v, inside = words.stacked(captions[group]), regions[images[group]], mask[images[group]]
            words_there = there(h)
            alpha = weights(h @ v.transpose(0, 2, 1), words_there, self.attention, inside)
            found[group] = pooled((unit(alpha @ v) * h).sum(axis=-1), words_there, self.attention)
        return found

    def _unscaled(self, similarity: Floats32, mask: Floats32) -> Floats32:
        """alpha of (images, regions, captions, words) up to a factor per region, which no cosine sees.

        Normalised similarities are at most 1, so their exponentials need no shift.
        """
        clipped = np.maximum(similarity, self.attention.slope * similarity)
        if not mask.all():
            clipped *= mask[:, :, None, None]
        length = np.sqrt(np.einsum("ircj,ircj->icj", clipped, clipped))
        clipped *= (self.attention.sharpness / np.maximum(length, _TINY))[:, None]
        return np.exp(clipped, out=clipped)


def _quadratic(alpha: Floats32, h: Floats32) -> Floats32:
    """|sum_j alpha_ij h_j| of (pairs, regions, words) and (pairs, words, D)."""
    gram = h @ h.transpose(0, 2, 1)
    return np.sqrt(np.maximum(np.einsum("prw,prw->pr", alpha @ gram, alpha), 0.0))


def context_products(words: CaptionWords, captions: tuple[Ints, Ints], alphas: tuple[Floats32, Floats32]) -> Floats32:
    """a_i . b_i of the contexts that two captions make of the same regions, (pairs, regions): alpha (H K') beta'.

    Contexts are a hundred times as long as the weights (`Attended.weights`) they are made with: none is built.
    """
    found = np.empty(alphas[0].shape[:2], dtype=np.float32)
    if (kernel := able("attention")) is not None:
        given = map(np.ascontiguousarray, (words.vectors, words.offsets, *captions, *alphas))
        longest = (alphas[0].shape[-1], alphas[1].shape[-1])
        kernel.products(*given, found, alphas[0].shape[1], words.vectors.shape[-1], *longest)
        return found
    order = np.argsort(words.lengths()[captions[1]], kind="stable")  # captions of one length are not padded
    for start in range(0, len(order), _PAIRS):
        some = order[start : start + _PAIRS]
        h, k = (words.padded(own[some]) for own in captions)
        a, b = (own[some, :, : vectors.shape[1]] for own, vectors in zip(alphas, (h, k)))
        found[some] = np.einsum("prw,prw->pr", a @ (h @ k.transpose(0, 2, 1)), b)
    return found


Described = tuple[dict[str, Any], dict[str, Any]]  # weights and meta file


def joined(models: Sequence[Described], shares: Sequence[float]) -> Described:
    """Two trained models as one: their weights under the names of their ways of reading, and a common meta file."""
    first = models[0][1]
    found = BESIDE.join(str(meta["words"]) for _, meta in models)
    ways = found.split(BESIDE)
    if len(set(ways)) < len(ways) or not set(ways) <= {STATES, ALONE}:
        raise InputError(f"models side by side read words in two ways ({STATES}, {ALONE}), not in '{found}'")
    for _, meta in models:
        for key in ("fingerprint", "text_encoder_version", "encoder", "cells", "marks", "standardise", "attention"):
            if meta.get(key) != first.get(key):
                raise InputError(f"{first['name']} and {meta['name']} cannot stand side by side: their '{key}' differs")
    weights = {f"{meta['words']}.{name}": value for given, meta in models for name, value in given.items()}
    trained = {str(meta["words"]): meta.get("trained", {}) for _, meta in models}
    return weights, {**first, "words": found, "shares": [float(share) for share in shares], "trained": trained}


def halves(model: str = "default") -> list[tuple[float, str]]:
    """The models of a folder with their shares: itself, or the two that stand side by side."""
    meta = describe(model)
    ways = str(meta["words"]).split(BESIDE)
    return (
        [(1.0, model)] if len(ways) == 1 else [(share, model + HALF + way) for share, way in zip(meta["shares"], ways)]
    )


def describe(model: str = "default") -> dict[str, Any]:
    """The meta file of a model; of one of two it is as if it stood alone."""
    folder, way = named(model)
    return _half_meta(shipped.describe(folder, "scan"), way)


def described(model: str = "default") -> Described:
    """Weights and meta file of a model, or of one of two."""
    folder, way = named(model)
    weights, meta = shipped.weights(folder, "scan")
    if way and BESIDE in meta["words"]:
        weights = {name.removeprefix(f"{way}."): v for name, v in weights.items() if name.startswith(f"{way}.")}
    return weights, _half_meta(meta, way)


def load(model: str = "default") -> ScanModel:
    """The shipped model (default), or one in a folder (`scan.safetensors`, `meta.json`); of two the one that is named,
    or the first."""
    return ScanModel(*checked(*described(halves(model)[0][1])))


def named(model: str) -> tuple[str, str]:
    """The folder of a model, and which of its models is named (empty: none)."""
    folder, mark, way = model.rpartition(HALF)
    return (folder, way) if mark and way in (STATES, ALONE) else (model, "")


def _half_meta(meta: Mapping[str, Any], way: str) -> dict[str, Any]:
    if not way or meta["words"] == way:
        return dict(meta)
    if way not in str(meta["words"]).split(BESIDE):
        raise InputError(f"the model {meta['name']} reads words as '{meta['words']}', not as '{way}'")
    return {**meta, "words": way, "trained": meta["trained"][way]}
