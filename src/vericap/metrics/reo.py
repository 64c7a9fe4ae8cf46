"""REO (Jiang et al. 2019): relevance, extraness and omission over context vectors.

For ground truth g_i (region v_i of the image, or a reference's context a_i^R) and the candidate's context
a_i:
    relevance = mean_i cos(a_i, g_i)
    extraness = mean_i d(a_i, a_i - p),  p the projection of a_i on g_i: what is not extra
    omission  = mean_i d(g_i, g_i - q),  q the projection of g_i on a_i: what is not missing
with the Mahalanobis distance d of a covariance estimated when the model was trained. Larger is better for
all three.
The distance of a vector to its orthogonal part is the Mahalanobis length of the projection.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from vericap.metrics.base import Metric, Option, Statistics
from vericap.metrics.grounding import ANALYSES, Grounding, Group, mean_over_regions
from vericap.models import scan
from vericap.run.batch import Batch

Array = NDArray[Any]
_TINY = 1e-8


def cosine(a: Array, b: Array) -> Array:
    """Cosine of the last axis; 0 where a vector is zero."""
    top = (a * b).sum(axis=-1)
    return np.asarray(top / np.maximum(np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1), _TINY))


def projection(a: Array, on: Array) -> Array:
    """The part of a along `on`; zero where `on` is zero."""
    top = (a * on).sum(axis=-1, keepdims=True)
    return np.asarray(top / np.maximum((on * on).sum(axis=-1, keepdims=True), _TINY) * on)


def mahalanobis(a: Array, b: Array, whitening: Array) -> Array:
    """sqrt((a - b)' S^-1 (a - b)), S^-1 = W'W with the given W."""
    return np.asarray(np.linalg.norm((a - b) @ whitening.T, axis=-1))


def relevance(candidate: Array, truth: Array, whitening: Array) -> Array:
    return cosine(candidate, truth)


def extraness(candidate: Array, truth: Array, whitening: Array) -> Array:
    return mahalanobis(candidate, candidate - projection(candidate, truth), whitening)


def omission(candidate: Array, truth: Array, whitening: Array) -> Array:
    return mahalanobis(truth, truth - projection(truth, candidate), whitening)


@dataclass
class Measured:
    """All three measures against image and references, from one pass over the samples."""

    columns: dict[str, tuple[Array, Array]]
    problems: dict[int, str]
    explanations: list[dict[str, Any] | None] | None


MEASURES = {"reo-relevance": relevance, "reo-extraness": extraness, "reo-omission": omission}


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
    columns = {name: (np.full(len(batch), np.nan), np.full(len(batch), np.nan)) for name in MEASURES}
    explanations: list[dict[str, Any] | None] | None = [None] * len(batch) if batch.settings.explain else None
    whitening = grounding.model.whitening
    for group in grounding.groups(references=references):
        inside, own = group.mask[group.owner], group.candidate[group.owner]
        for name, measure in MEASURES.items():
            image, reference = columns[name]
            image[group.rows] = mean_over_regions(measure(group.candidate, group.regions, whitening), group.mask)
            values = mean_over_regions(measure(own, group.reference, whitening), inside)
            reference[group.rows] = group.over_references(values)
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
        return {"scan": model.name, "features": model.fingerprint}


class Relevance(Reo):
    name, title = "reo-relevance", "REO relevance"
    range = (-1.0, 1.0)


class Extraness(Reo):
    name, title = "reo-extraness", "REO extraness"


class Omission(Reo):
    name, title = "reo-omission", "REO omission"
