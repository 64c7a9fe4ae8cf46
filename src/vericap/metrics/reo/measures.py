"""The three measures of REO: of single vectors, and of all samples of a batch.

The distance of a vector to its orthogonal part is the Mahalanobis length of the projection, so that
    d(a, a - p) = |a . g| / |g|^2 |W g|,   d(g, g - q) = |a . g| / |a|^2 |W a|,   S^-1 = W'W:
every vector is whitened once, however many others it is compared with.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from vericap.core.analysis import Analysis, Index, Key
from vericap.core.batch import Batch
from vericap.core.settings import Settings
from vericap.core.typing import Array, Floats, Floats32
from vericap.metrics.reo.groups import groups, mean_over_regions, problems
from vericap.metrics.toolbox import judged
from vericap.models.scan import Lengths, context_products
from vericap.run.analyses import Grounding

NAMES = ("reo-relevance", "reo-extraness", "reo-omission")
_TINY = 1e-8


def cosine(a: Array, b: Array) -> Array:
    """Cosine of the last axis; 0 where a vector is zero."""
    return np.asarray(inner(a, b) / np.maximum(np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1), _TINY))


def inner(a: Array, b: Array) -> Array:
    """Inner products of the last axis."""
    return np.asarray(np.einsum("...d,...d->...", a, b))


def projection(a: Array, on: Array) -> Array:
    """The part of a along `on`; zero where `on` is zero."""
    top = (a * on).sum(axis=-1, keepdims=True)
    return np.asarray(top / np.maximum((on * on).sum(axis=-1, keepdims=True), _TINY) * on)


def residual(vector: Array, truth: Array) -> Array:
    """The part of a vector orthogonal to the truth: extra content; the other way round: missing content."""
    return np.asarray(vector - projection(vector, truth))


def lengths(vectors: Array, whitened: Array) -> Lengths:
    """|x| and |W x| of (..., D) vectors and of the same as the whitening maps them."""
    return Lengths(np.linalg.norm(vectors, axis=-1), np.linalg.norm(whitened, axis=-1))


def measures(inner: Array, candidate: Lengths, truth: Lengths) -> dict[str, Array]:
    """All three measures from inner products a . g; 0 where a vector is zero."""
    return {
        "reo-relevance": inner / np.maximum(candidate.plain * truth.plain, _TINY),
        "reo-extraness": np.abs(inner) / np.maximum(truth.plain**2, _TINY) * truth.whitened,
        "reo-omission": np.abs(inner) / np.maximum(candidate.plain**2, _TINY) * candidate.whitened,
    }


def weighted(parts: Iterable[tuple[float, Array]]) -> Array:
    """The mean of what several models say, by their shares."""
    shares, values = zip(*parts)
    return np.asarray(np.tensordot(shares, np.stack(values), axes=1))


# --- of a batch -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ImageMeasures:
    """Measures against the image by name, (samples,) each; NaN where `problems` says why."""

    columns: dict[str, Floats]
    problems: dict[int, str]
    lengths: Lengths  # (samples, regions): of the candidates' contexts
    weights: Floats32  # (samples, regions, words): what they are made with


@dataclass(frozen=True)
class ReoImage(Analysis[ImageMeasures]):
    """All three measures against the image, from one pass over the samples; no reference is looked at."""

    model: str = "default"
    index: ClassVar[Index] = "sample"
    cost: ClassVar[int] = 3 * 8 + (2 + 20) * 36 * 4

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        return (Grounding(self.model),)

    def compute(self, batch: Batch, runtime: Any) -> ImageMeasures:
        grounding = batch[Grounding(self.model)]
        bad = problems(batch, grounding)
        columns = {name: np.full(len(batch), np.nan) for name in NAMES}
        shape = (len(batch), grounding.regions.shape[1])
        plain, whitened = (np.zeros(shape, np.float32) for _ in range(2))
        weights = np.zeros((*shape, grounding.words.lengths()[batch.candidates].max(initial=0)), np.float32)
        truth = lengths(grounding.regions, grounding.model.whitened(grounding.regions))
        for group in groups(batch, grounding, judged(batch, bad), references=False):
            found = grounding.measured(group.images, group.candidates)
            plain[group.rows], whitened[group.rows] = found.lengths.plain, found.lengths.whitened
            weights[group.rows, :, : found.weights.shape[2]] = found.weights
            for name, values in measures(found.inner, found.lengths, truth[group.images]).items():
                columns[name][group.rows] = mean_over_regions(values, group.mask)
        return ImageMeasures(columns, bad, Lengths(plain, whitened), weights)


@dataclass(frozen=True)
class ReoReferences(Analysis[dict[str, Floats]]):
    """All three measures against the references, averaged over them; NaN without any."""

    model: str = "default"
    index: ClassVar[Index] = "sample"
    cost: ClassVar[int] = 3 * 8

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        return (Grounding(self.model), ReoImage(self.model))

    def compute(self, batch: Batch, runtime: Any) -> dict[str, Floats]:
        grounding, image = batch[Grounding(self.model)], batch[ReoImage(self.model)]
        columns = {name: np.full(len(batch), np.nan) for name in NAMES}
        for group in groups(batch, grounding, judged(batch, image.problems), references=True):
            if not len(group.owner):
                continue
            said, rows = grounding.measured(*group.pairs), group.rows[group.owner]
            captions = batch.candidates[rows], group.pairs[1][group.which]
            products = context_products(grounding.words, captions, (image.weights[rows], said.weights[group.which]))
            for name, values in measures(products, image.lengths[rows], said.lengths[group.which]).items():
                columns[name][group.rows] = group.over_references(mean_over_regions(values, group.mask[group.owner]))
        return columns
