"""Cosine between sentence vectors of the candidate and its references."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from vericap.errors import MissingPart, VericapError
from vericap.metrics.base import Metric, Option, Statistics
from vericap.run.batch import Batch


class Sentence(Metric):
    name, title = "sentence", "Sentence cosine"
    range = (-1.0, 1.0)
    needs = ("references",)
    analyses = ("sentences",)
    options: ClassVar[Mapping[str, Option]] = {
        "pool": Option("mean", "over references: their mean cosine, or the best one", choices=("mean", "best")),
    }

    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        vectors = sentence_vectors(batch)
        offsets = batch.reference_offsets
        counts = np.diff(offsets)
        own = np.repeat(batch.candidates, counts)
        cosines = np.einsum("ij,ij->i", vectors[own], vectors[batch.reference_index], dtype=np.float64)
        cosines = np.clip(cosines, -1.0, 1.0)
        score = np.full(len(batch), np.nan)
        filled = counts > 0
        if filled.any():
            pool = np.maximum if self.opt.pool == "best" else np.add
            score[filled] = pool.reduceat(cosines, offsets[:-1][filled])
        if self.opt.pool == "mean":
            score /= np.maximum(counts, 1)
        problems = {int(row): "no reference to compare with" for row in np.flatnonzero(~filled)}
        for row, text in enumerate(batch.candidates):
            if not batch.texts[text].strip() and row not in problems:
                score[row] = 0.0
                problems[row] = "the caption is empty and scores 0"
        return Statistics(score, problems)

    def signature_parts(self, batch: Batch) -> dict[str, str]:
        if batch.settings.lang == "ja":
            return {"model": str(getattr(_japanese(), "ENCODER", "japanese"))}
        from vericap.text import encoder

        return {"model": encoder.name()}


def sentence_vectors(batch: Batch) -> NDArray[np.float32]:
    """Unit vectors of the batch's texts in the run's language."""
    if batch.settings.lang == "en":
        vectors: NDArray[np.float32] = batch.analysis("sentences")
        return vectors
    if batch.settings.lang == "ja":
        vectors = np.asarray(_japanese().encode(batch.texts), dtype=np.float32)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / np.maximum(lengths, 1e-12), dtype=np.float32)
    raise VericapError(
        f"metric 'sentence' knows English (en) and Japanese (ja), not '{batch.settings.lang}'; choose it with --lang"
    )


def _japanese() -> Any:
    try:
        module = import_module("vericap.text.japanese")
    except ImportError as error:
        raise MissingPart(
            f"metric 'sentence' in Japanese needs the group ja: pip install 'vericap[ja]' ({error})"
        ) from error
    if not hasattr(module, "encode"):
        raise MissingPart("metric 'sentence' has no Japanese encoder in this installation; use --lang en")
    return module
