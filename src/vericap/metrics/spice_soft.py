"""Semantic SPICE: scene-graph tuples matched by the similarity of their phrase embeddings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from vericap.graphs import analysis
from vericap.graphs.scene_graph import SceneGraph
from vericap.metrics.base import Metric, Option, Statistics
from vericap.metrics.spice import why_not
from vericap.models import store
from vericap.run.batch import Batch
from vericap.run.progress import Bar

Vectors = NDArray[np.float32]
KINDS = ("object", "attribute", "relation")
_BLOCK = 4096  # samples whose phrases are held in memory at once


class SpiceSoft(Metric):
    name, title = "spice-soft", "Semantic SPICE"
    range = (-1.0, 1.0)
    needs = ("references",)
    analyses = ("graphs", "sentences")
    languages = ("en",)
    options: ClassVar[Mapping[str, Option]] = {
        "relations": Option(3.0, "weight of a relation; objects and attributes have 1"),
        "whole": Option(0.5, "weight of the whole caption's cosine to the references beside the tuples'"),
        "parser": Option("", "an installed spaCy English pipeline instead of the shipped one"),
    }

    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        graphs = analysis.of(batch, parser=self.opt.parser)
        table = np.full((len(batch), 2 + len(KINDS)), np.nan)
        explanations: list[dict[str, Any] | None] | None = [] if batch.settings.explain else None
        problems: dict[int, str] = {}
        for row in range(len(batch)):
            reason = why_not([graphs[i] for i in batch.references(row)], graphs[batch.candidates[row]])
            if reason:
                problems[row] = reason
        with Bar(what="spice-soft", total=len(batch), show=batch.settings.progress) as bar:
            for start in range(0, len(batch), _BLOCK):
                rows = range(start, min(start + _BLOCK, len(batch)))
                self._block(batch, graphs, rows, table, explanations)
                bar.advance(len(rows))
        tuples = table[:, :2].mean(axis=1)
        scores = tuples
        if self.opt.whole:
            scores = (1 - self.opt.whole) * tuples + self.opt.whole * whole_cosine(batch)
        empty = [row for row, why in problems.items() if len(batch.references(row))]
        scores[empty] = 0.0
        precision, recall = np.maximum(table[:, 0], 0), np.maximum(table[:, 1], 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            f = np.where(precision + recall > 0, 2 * precision * recall / (precision + recall), precision + recall)
        columns: dict[str, Any] = {"precision": table[:, 0], "recall": table[:, 1], "f": f}
        columns.update({kind: table[:, 2 + place] for place, kind in enumerate(KINDS)})
        return Statistics(scores, problems, columns, explanations)

    def _block(
        self,
        batch: Batch,
        graphs: Sequence[SceneGraph],
        rows: Sequence[int],
        table: NDArray[np.float64],
        explanations: list[dict[str, Any] | None] | None,
    ) -> None:
        texts = sorted({int(i) for row in rows for i in (batch.candidates[row], *batch.references(row))})
        claims = {text: Claims(graphs[text], self.opt.relations) for text in texts}
        phrases = list(dict.fromkeys(phrase for own in claims.values() for phrase in own.phrases))
        vectors = phrase_vectors(batch, phrases)
        place = {phrase: number for number, phrase in enumerate(phrases)}
        merged: dict[bytes, tuple[Claims, Vectors]] = {}
        for row in rows:
            own = claims[int(batch.candidates[row])]
            references = batch.references(row)
            same = references.tobytes()
            if same not in merged:
                joined = Claims.joined([claims[int(i)] for i in references])
                merged[same] = joined, vectors[[place[phrase] for phrase in joined.phrases]]
            theirs, their_vectors = merged[same]
            found = None
            if own.phrases and theirs.phrases:
                similarity = vectors[[place[phrase] for phrase in own.phrases]] @ their_vectors.T
                table[row] = match(similarity, own, theirs)
                found = explain(similarity, own, theirs) if explanations is not None else None
            if explanations is not None:
                explanations.append(found)

    def signature_parts(self, batch: Batch) -> dict[str, str]:
        from vericap.text import encoder

        return {"graphs": analysis.parser_name(batch.settings, self.opt.parser), "model": encoder.name()}


class Claims:
    """The tuples of a graph as phrases, with kind and weight."""

    __slots__ = ("kinds", "phrases", "weights")

    def __init__(self, graph: SceneGraph | None, relations: float = 1.0) -> None:
        self.phrases: list[str] = graph.phrases(full=True) if graph else []
        counts = (len(graph.objects), len(graph.attributes), len(graph.relations)) if graph else (0, 0, 0)
        self.kinds = np.repeat(np.arange(3), counts)
        self.weights = np.array([1.0, 1.0, relations])[self.kinds]

    @classmethod
    def joined(cls, parts: list[Claims]) -> Claims:
        """All claims of several references; what more of them say weighs more."""
        found = cls(None)
        found.phrases = [phrase for part in parts for phrase in part.phrases]
        found.kinds = np.concatenate([part.kinds for part in parts]) if parts else found.kinds
        found.weights = np.concatenate([part.weights for part in parts]) if parts else found.weights
        return found


def match(similarity: Vectors, own: Claims, theirs: Claims) -> list[float]:
    """Precision and recall over all tuples, then the mean of both for objects, attributes, relations.

    P = sum_i w_i max_j s_ij / sum_i w_i over the candidate's tuples; R the same over the references' tuples.
    """
    found = covered(similarity, own.weights, theirs.weights)
    for kind in range(len(KINDS)):
        mine, other = own.kinds == kind, theirs.kinds == kind
        if not other.any():
            found.append(float("nan"))  # the references say nothing of this kind
        elif not mine.any():
            found.append(0.0)
        else:
            part = similarity[np.ix_(mine, other)]
            found.append(float(part.max(axis=1).mean() + part.max(axis=0).mean()) / 2)
    return found


def covered(similarity: Vectors, own: NDArray[Any], theirs: NDArray[Any]) -> list[float]:
    """Precision and recall: mean similarity of each claim to the nearest one of the other side, by weights."""
    return [
        float(np.average(similarity.max(axis=1), weights=own)),
        float(np.average(similarity.max(axis=0), weights=theirs)),
    ]


def explain(similarity: Vectors, own: Claims, theirs: Claims) -> dict[str, Any]:
    """The nearest claim of the other side for each claim, least supported first."""

    def nearest(matrix: Vectors, mine: Claims, other: Claims) -> list[dict[str, Any]]:
        best = matrix.argmax(axis=1)
        found = {
            mine.phrases[i]: {
                "kind": KINDS[mine.kinds[i]],
                "phrase": mine.phrases[i],
                "nearest": other.phrases[best[i]],
                "similarity": round(float(matrix[i, best[i]]), 4),
            }
            for i in range(len(best))
        }
        return sorted(found.values(), key=lambda item: item["similarity"])

    return {"candidate": nearest(similarity, own, theirs), "references": nearest(similarity.T, theirs, own)}


@lru_cache(maxsize=1)
def phrase_mean() -> Vectors:
    """Mean of the unit vectors of scene-graph phrases of COCO training captions."""
    mean: Vectors = np.load(store.path("phrases", "phrase_mean.npy"), allow_pickle=False).astype(np.float32)
    return mean


def phrase_vectors(batch: Batch, phrases: list[str], reader: Any = None) -> Vectors:
    """Unit vectors of phrases after what all phrases share is taken away; `reader`: an encoder that is open."""
    from vericap.text import encoder

    if not phrases:
        return np.zeros((0, len(phrase_mean())), dtype=np.float32)
    reader = reader or encoder.of(batch)
    return encoder.normalise(reader.encode(phrases, centred=False) - phrase_mean())


def whole_cosine(batch: Batch) -> NDArray[np.float64]:
    """Mean cosine of the caption to its references; NaN without any."""
    vectors: Vectors = batch.analysis("sentences")
    found = np.full(len(batch), np.nan)
    for row in range(len(batch)):
        references = batch.references(row)
        if len(references):
            found[row] = float((vectors[references] @ vectors[batch.candidates[row]]).mean())
    return found
