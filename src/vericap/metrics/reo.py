"""REO (Jiang et al. 2019): relevance, extraness and omission over context vectors.

For ground truth g_i (region v_i of the image, or a reference's context a_i^R) and the candidate's context a_i:
    relevance = mean_i cos(a_i, g_i)
    extraness = mean_i d(a_i, a_i - p),  p the projection of a_i on g_i: what is not extra
    omission  = mean_i d(g_i, g_i - q),  q the projection of g_i on a_i: what is not missing
with the Mahalanobis distance d of a covariance estimated when the model was trained. Larger is better for all three.
The distance of a vector to its orthogonal part is the Mahalanobis length of the projection, so that
    d(a, a - p) = |a . g| / |g|^2 |W g|,   d(g, g - q) = |a . g| / |a|^2 |W a|,   S^-1 = W'W:
every vector is whitened once, however many others it is compared with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from vericap.metrics.base import Metric, Option, Statistics
from vericap.metrics.grounding import ANALYSES, Grounding, Group, mean_over_regions
from vericap.models import scan, store
from vericap.models.scan import Lengths
from vericap.run.batch import Batch

Array = NDArray[Any]
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


def lengths(vectors: Array, whitening: Array) -> Lengths:
    """|x| and |W x| of (..., D) vectors."""
    flat = vectors.reshape(-1, vectors.shape[-1])
    shape = vectors.shape[:-1]
    return Lengths(
        np.linalg.norm(flat, axis=1).reshape(shape), np.linalg.norm(flat @ whitening.T, axis=1).reshape(shape)
    )


def measures(inner: Array, candidate: Lengths, truth: Lengths) -> dict[str, Array]:
    """All three measures from inner products a . g; 0 where a vector is zero."""
    return {
        "reo-relevance": inner / np.maximum(candidate.plain * truth.plain, _TINY),
        "reo-extraness": np.abs(inner) / np.maximum(truth.plain**2, _TINY) * truth.whitened,
        "reo-omission": np.abs(inner) / np.maximum(candidate.plain**2, _TINY) * candidate.whitened,
    }


NAMES = ("reo-relevance", "reo-extraness", "reo-omission")


@dataclass
class Measured:
    """All three measures against image and references, from one pass over the samples."""

    columns: dict[str, tuple[Array, Array]]
    problems: dict[int, str]
    explanations: list[dict[str, Any] | None] | None


def measured(batch: Batch, model: str, *, references: bool) -> Measured:
    """Computed once per batch and kept there: context vectors are the costly part."""
    names = [f"reo {model} references", *([] if references else [f"reo {model}"])]
    for name in names:
        if name in batch._analyses:
            return batch.analysis(name)
    found = _measure(batch, model, references)
    batch.provide(names[-1], found)
    return found


def _measure(batch: Batch, model: str, references: bool) -> Measured:
    grounding = Grounding(batch, model)
    columns = {name: (np.full(len(batch), np.nan), np.full(len(batch), np.nan)) for name in NAMES}
    explanations: list[dict[str, Any] | None] | None = [None] * len(batch) if batch.settings.explain else None
    whitening = grounding.model.whitening
    regions = lengths(grounding.regions, whitening)
    for group in grounding.groups(references=references):
        with_image, own = group.measured
        image = measures(with_image, own, regions[batch.images[group.rows]])
        for name, (first, _) in columns.items():
            first[group.rows] = mean_over_regions(image[name], group.mask)
        if len(group.owner):
            said = group.told[1][group.which]
            with_references = inner(group.candidate[group.owner], group.reference)
            reference = measures(with_references, own[group.owner], said)
            for name, (_, second) in columns.items():
                found = mean_over_regions(reference[name], group.mask[group.owner])
                second[group.rows] = group.over_references(found)
        if explanations is not None:
            _explain(grounding, group, explanations)
    return Measured(columns, dict(grounding.problems), explanations)


def _explain(grounding: Grounding, group: Group, explanations: list[dict[str, Any] | None]) -> None:
    from vericap.metrics.reo_reasons import reasons

    for place, row in enumerate(group.rows):
        explanations[int(row)] = reasons(grounding, group, place)


class Reo(Metric):
    """One of the three; the ground truth is an option."""

    needs = ("image",)
    analyses = ANALYSES
    range = (0.0, float("inf"))
    options: ClassVar = {
        "truth": Option(
            "auto",
            "ground truth; auto: both with references, else image",
            ("auto", "image", "reference", "both"),
        ),
        "model": Option("default", "the shipped model (default) or a folder of a trained one"),
    }

    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        found = measured(batch, self.opt.model, references=self.opt.truth != "image")
        image, reference = found.columns[self.name]
        problems = dict(found.problems)
        score = self._chosen(batch, image, reference, problems)
        columns = {"image": image, "reference": reference} if self.opt.truth in ("auto", "both") else {}
        return Statistics(score, problems, columns, found.explanations)

    def _chosen(self, batch: Batch, image: Array, reference: Array, problems: dict[int, str]) -> Array:
        if self.opt.truth == "image":
            return image
        if self.opt.truth == "auto":
            return np.where(np.isnan(reference), image, (image + reference) / 2)
        for row in np.flatnonzero(np.isnan(reference)):
            problems.setdefault(int(row), "no references to take as ground truth")
        return reference if self.opt.truth == "reference" else (image + reference) / 2

    def signature_parts(self, batch: Batch) -> dict[str, str]:
        model = scan.load(self.opt.model)
        return {"scan": store.version(model.meta), "features": model.fingerprint}


class Relevance(Reo):
    name, title = "reo-relevance", "REO relevance"
    range = (-1.0, 1.0)


class Extraness(Reo):
    name, title = "reo-extraness", "REO extraness"


class Omission(Reo):
    name, title = "reo-omission", "REO omission"
