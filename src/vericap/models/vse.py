"""The shipped image-sentence encoder: regions into the space of the sentence encoder, without torch.

Every region u (mean of the backbone's map) becomes a unit vector
    z = unit(A n(u) + b + C relu(D n(u) + e) + f),   n = subtract the mean, divide by the deviation;
the score of a caption t (centred unit sentence vector) is half the whole image, half the windows that fit best:
    s = 1/2 z_0 . t' + 1/2 sum_r w_r z_r . t',   w = softmax_r(tau z_r . t'), r > 0,
with t' = unit(t + P t), which weighs what a caption says as people do who rate captions (train.vse.people).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from vericap.core import shipped
from vericap.core.typing import Bools, Floats32, Ints
from vericap.models.described import check_width, checked
from vericap.native.dense import Layers

_CHUNK = 256  # caption-image pairs scored together: their regions stay near the processor
_ROWS = 288  # regions embedded together: what is made of them stays near the processor


class VseModel:
    """The encoder's weights and its two functions."""

    def __init__(self, weights: dict[str, Floats32], meta: dict[str, Any]) -> None:
        self.weights = {name: value.astype(np.float32) for name, value in weights.items()}
        self._layer = Layers(self.weights)
        self.meta = meta
        self.fingerprint: str = meta["fingerprint"]
        self.name: str = meta["name"]
        self.sharpness = float(self.weights["sharpness"])
        self.space, self.width = self.weights["linear"].shape  # of the sentence space, of the features

    def embed(self, features: Floats32) -> Floats32:
        """(..., width) region features -> (..., space) unit vectors."""
        check_width(features.shape[-1], self.width, self.name)
        rows = features.reshape(-1, features.shape[-1])
        found = np.empty((len(rows), self.space), dtype=np.float32)
        for start in range(0, len(rows), _ROWS):
            found[start : start + _ROWS] = self._embed(rows[start : start + _ROWS].astype(np.float32))
        return found.reshape(*features.shape[:-1], self.space)  # there may be no photo at all

    def _embed(self, rows: Floats32) -> Floats32:
        x = standardise(rows)
        z = self._layer("linear", "linear_bias")(x)
        hidden = self._layer("hidden", "hidden_bias")(x, rectify=True)
        self._layer("output", "output_bias")(hidden, add=z)
        z /= np.maximum(np.linalg.norm(z, axis=-1, keepdims=True), 1e-12)
        return z

    def weighed(self, texts: Floats32) -> Floats32:
        """Caption vectors (n, d) with what they say weighed as people weigh it; as they are where nothing was learned
        of that."""
        if "people" not in self.weights:
            return texts
        found = self._layer("people")(np.ascontiguousarray(texts))
        found += texts
        found /= np.maximum(np.linalg.norm(found, axis=-1, keepdims=True), 1e-12)
        return found

    def score(self, regions: Floats32, mask: Bools, texts: Floats32) -> Floats32:
        """Scores of pairs: (n, regions, d) with mask (n, regions) against (n, d) captions as `weighed` gives them."""
        cosines = np.einsum("nrd,nd->nr", regions, texts)
        whole, windows, inside = cosines[:, 0], cosines[:, 1:], mask[:, 1:]
        if not inside.any():
            return np.asarray(whole, dtype=np.float32)
        logits = np.where(inside, self.sharpness * windows, -np.inf)
        top = logits.max(axis=1, keepdims=True)
        weights = np.exp(logits - np.where(np.isfinite(top), top, 0.0))
        total = weights.sum(axis=1)
        parts = (weights * windows).sum(axis=1) / np.maximum(total, 1e-12)
        parts = np.where(total > 0, parts, whole)  # an image with no window besides itself
        return np.asarray(0.5 * whole + 0.5 * parts, dtype=np.float32)

    def matrix(self, regions: Floats32, mask: Bools, texts: Floats32) -> Floats32:
        """Scores of every image with every caption (images, captions)."""
        scores, texts = np.empty((len(regions), len(texts)), dtype=np.float32), self.weighed(texts)
        for image, (z, inside) in enumerate(zip(regions, mask)):
            cosines = z @ texts.T
            logits = np.where(inside[1:, None], self.sharpness * cosines[1:], -np.inf)
            if inside[1:].any():
                weights = np.exp(logits - logits.max(axis=0))
                parts = (weights * cosines[1:]).sum(axis=0) / weights.sum(axis=0)
            else:
                parts = cosines[0]
            scores[image] = 0.5 * cosines[0] + 0.5 * parts
        return scores

    def pairs(self, regions: Floats32, mask: Bools, images: Ints, texts: Floats32) -> Floats32:
        """Scores of caption i against image images[i]; memory does not grow with the number of pairs."""
        scores, texts = np.empty(len(images), dtype=np.float32), self.weighed(texts)
        for start in range(0, len(images), _CHUNK):
            part = slice(start, start + _CHUNK)
            scores[part] = self.score(regions[images[part]], mask[images[part]], texts[part])
        return scores


def standardise(values: Floats32) -> Floats32:
    """Layer normalisation without weights."""
    centred = values - values.mean(axis=-1, keepdims=True)
    deviation = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)
    return np.asarray(centred / deviation, dtype=np.float32)


def load(model: str = "default") -> VseModel:
    """The shipped encoder (default), or one in a folder (`vse.safetensors`, `meta.json`)."""
    return VseModel(*checked(*shipped.weights(model, "vse")))


def regions_version(meta: Mapping[str, Any]) -> str:
    """Name and version of what embeds regions; an encoder that was taught how captions are weighed keeps it."""
    return str(meta.get("regions") or shipped.version(meta))
