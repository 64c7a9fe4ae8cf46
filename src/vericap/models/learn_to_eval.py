"""LearnToEval (Cui et al. 2018) for scoring, without torch: did a person write this caption of this image?

With unit vectors in the space of one sentence encoder, c of the caption, v of the whole image (models.vse) and r the
mean of the references' (0 where there are none), and b the mean vector of the caption's pairs of neighbouring words:
    x = [P c, Q v, R r, P c * Q v, P c * R r, b, c . v, c . r, whether there are references]
    score = sigmoid(w . relu(H x + h) + k).
Pairs of words stand for the recurrent network of the paper, which reads the caption in order: each pair has one of some
thousand vectors, by a hash.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any
from zlib import crc32

import numpy as np

from vericap.core import shipped
from vericap.core.errors import InputError
from vericap.core.typing import Bools, Floats, Floats32
from vericap.models.described import checked
from vericap.models.vse import regions_version
from vericap.models.words import tokens

PART = "learn_to_eval"
START, END = "<", ">"  # no word is called so


def word_pairs(text: str, buckets: int) -> list[int]:
    """Numbers of the pairs of neighbouring words of a caption, with its beginning and its end.

    >>> len(word_pairs("a dog runs", 8192))
    4
    """
    words = [START, *tokens(text), END]
    return [crc32(f"{first} {second}".encode()) % buckets for first, second in pairwise(words)]


class LearnToEvalModel:
    """The discriminator's weights and its score."""

    def __init__(self, weights: dict[str, Floats32], meta: dict[str, Any]) -> None:
        self.weights = {name: np.asarray(value, dtype=np.float32) for name, value in weights.items()}
        self.meta = meta
        self.name: str = meta["name"]
        self.encoder: str = meta["encoder"]

    def pairs(self, texts: Sequence[str]) -> Floats32:
        """(texts, d): mean vectors of word pairs."""
        vectors = self.weights["pairs"]
        numbers = [word_pairs(text, len(vectors)) for text in texts]
        found = [vectors[own].mean(axis=0) for own in numbers]
        return np.stack(found) if found else np.zeros((0, vectors.shape[1]), np.float32)

    def score(
        self, captions: Floats32, images: Floats32, references: Floats32, known: Bools, pairs: Floats32
    ) -> Floats:
        """(n,) probability that a person wrote each caption; `known` says where there are references."""
        w = self.weights
        c, v, r = captions @ w["caption"].T, images @ w["image"].T, references @ w["reference"].T
        cosines = [np.einsum("nd,nd->n", captions, other) for other in (images, references)]
        x = np.concatenate([c, v, r, c * v, c * r, pairs, np.stack([*cosines, known], axis=1)], axis=1)
        hidden = np.maximum(x @ w["hidden"].T + w["hidden_bias"], 0.0)
        logit = np.asarray(hidden @ w["output"] + w["output_bias"], dtype=np.float64)
        return np.asarray(1.0 / (1.0 + np.exp(-logit)))


def load(model: str = "default") -> LearnToEvalModel:
    """The shipped model (default), or one in a folder that `vericap train learn-to-eval` wrote."""
    weights, meta = checked(*shipped.weights(model, PART))
    now = regions_version(shipped.describe(meta["encoder"], "vse"))
    if now != meta["encoder_version"]:
        raise InputError(
            f"the model {meta['name']} was trained over the image-sentence encoder {meta['encoder_version']}, but "
            f"'{meta['encoder']}' is {now} now; train it again (`vericap train learn-to-eval`)"
        )
    return LearnToEvalModel(weights, meta)
