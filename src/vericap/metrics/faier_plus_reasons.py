"""Why FAIEr-plus scored a caption so: region x word heat maps, the region behind each word, each claim's score."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vericap.models.faier_plus import CLAIMS

if TYPE_CHECKING:
    from vericap.metrics.faier_plus import Case, Group, Scorer

Array = NDArray[Any]
Words = list[tuple[str, int]]  # words of a text with the number of their pieces


def reasons(scorer: Scorer, group: Group, case: Case, place: int) -> dict[str, Any]:
    """Explanation of one sample, ready for JSON.

    `matrix` (regions x words) holds similarities of union regions with the candidate's words; `references` the
    regions' attention over the words of each reference; `told` how well each word is backed by the references.
    """
    text = int(group.candidates[place])
    words = _words(scorer, group, text)
    objects = group.nodes["object"].rows(np.array([text]))
    matrix = _means(scorer.union("object", group, case) @ objects.vectors.T, words)
    boxes = scorer.found.boxes[scorer.batch.images[group.rows[place]]][group.inside[case.image]]
    found: dict[str, Any] = {
        "words": [word for word, _ in words],
        "matrix": matrix.round(4).tolist(),
        "boxes": boxes.round(4).tolist(),
        "word_scores": matrix.max(axis=0).round(4).tolist(),
        "word_weights": _rounded(_sums(objects.weights, words)),
        "word_regions": matrix.argmax(axis=0).tolist(),
        "claims": _claims(scorer, group, case, text),
    }
    if len(case.references):
        others = group.nodes["object"].rows(case.references)
        found["told"] = _rounded(_means((others.vectors @ objects.vectors.T).max(axis=0), words))
        found["references"] = [_attention(scorer, group, case, int(other)) for other in case.references]
    if not group.nodes["relation"].there[text]:
        found["note"] = "the caption has no attribute and no relation: that level is left out of its mean"
    return found


def _words(scorer: Scorer, group: Group, text: int) -> Words:
    return [(word, len(pieces)) for word, pieces in scorer.words(int(group.numbers[text]))]


def _sums(values: Array, words: Words) -> Array:
    """Columns of word pieces -> columns of words."""
    sizes = np.array([size for _, size in words])
    return np.add.reduceat(values, np.cumsum(sizes) - sizes, axis=-1)


def _means(values: Array, words: Words) -> Array:
    return _sums(values, words) / np.array([size for _, size in words], dtype=np.float32)


def _rounded(values: Array) -> list[float]:
    return [round(float(value), 4) for value in values]


def _claims(scorer: Scorer, group: Group, case: Case, text: int) -> list[dict[str, Any]]:
    """Claims of the scene graph with their best region and their best backing by references, least seen first."""
    claims = group.nodes[CLAIMS]
    own, told = claims.rows(np.array([text])).vectors, claims.rows(case.references).vectors
    seen = scorer.union(CLAIMS, group, case) @ own.T
    found = [
        {"claim": phrase, "seen": round(float(seen[:, i].max()), 4), "region": int(seen[:, i].argmax())}
        for i, phrase in enumerate(scorer.graphs[int(group.numbers[text])].phrases(full=True))
    ]
    if len(told):
        for item, backed in zip(found, _rounded((told @ own.T).max(axis=0))):
            item["told"] = backed
    return sorted(found, key=lambda item: float(item["seen"]))


def _attention(scorer: Scorer, group: Group, case: Case, text: int) -> dict[str, Any]:
    regions = group.regions("object", case.image)
    alpha = scorer.model.attend("object", regions, group.nodes["object"].rows(np.array([text])))
    words = _words(scorer, group, text)
    return {"words": [word for word, _ in words], "attention": _sums(alpha, words).round(4).tolist()}
