"""Why FAIEr-plus scored a caption so: region x word heat maps, the region behind each word, each claim's score."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vericap.models.faier_text import words_of

if TYPE_CHECKING:
    from vericap.metrics.faier_plus import Group, Scorer

Array = NDArray[Any]


def reasons(scorer: Scorer, group: Group, place: int) -> dict[str, Any]:
    """Explanation of one sample, ready for JSON.

    `matrix` (regions x words) holds similarities of union regions with the candidate's words; `references` the
    regions' attention over the words of each reference; `told` how well each word is backed by the references.
    """
    union, image = int(group.unions[place]), int(group.images[place])
    inside = group.inside[image]
    counts = np.array([len(refs) for refs in group.references])
    text = int(group.candidates[place])
    words = _words(scorer, group, text)
    objects = scorer.union("object", group, counts)[union][inside]
    matrix = _by_word(objects @ group.nodes["object"].vectors[text].T, words)
    boxes = scorer.found.boxes[scorer.batch.images[group.rows[place]]][inside]
    best = matrix.argmax(axis=0)
    found: dict[str, Any] = {
        "words": [word for word, _ in words],
        "matrix": matrix.round(4).tolist(),
        "boxes": boxes.round(4).tolist(),
        "word_scores": matrix.max(axis=0).round(4).tolist(),
        "word_weights": [round(float(group.nodes["object"].weights[text][pieces].sum()), 4) for _, pieces in words],
        "word_regions": best.tolist(),
        "claims": _claims(scorer, group, text, union, inside, counts),
    }
    references = group.references[union]
    if len(references):
        found["told"] = _told(group, text, references, words)
        found["references"] = [_attention(scorer, group, image, int(other), inside) for other in references]
    if not group.nodes["relation"].mask[text].any():
        found["note"] = "the caption has no attribute and no relation: that level is left out of its mean"
    return found


def _words(scorer: Scorer, group: Group, text: int) -> list[tuple[str, list[int]]]:
    number = int(group.numbers[text])
    spans = scorer.states.spans[scorer.states.offsets[number] : scorer.states.offsets[number + 1]]
    return list(words_of(scorer.batch.texts[number], spans))


def _by_word(values: Array, words: list[tuple[str, list[int]]]) -> Array:
    """Columns of word pieces -> columns of words (the mean of their pieces)."""
    return np.stack([values[:, pieces].mean(axis=1) for _, pieces in words], axis=1)


def _claims(scorer: Scorer, group: Group, text: int, union: int, inside: Array, counts: Array) -> list[dict[str, Any]]:
    """Claims of the scene graph with their best region and their best backing by references, least seen first."""
    regions = scorer.union("sentence", group, counts)[union][inside]
    graph = scorer.graphs[int(group.numbers[text])]
    others = [group.claims.vectors[other][group.claims.mask[other]] for other in group.references[union]]
    told = np.concatenate(others) if others else np.zeros((0, regions.shape[1]), dtype=np.float32)
    found = []
    for place, phrase in enumerate(graph.phrases(full=True)):
        vector = group.claims.vectors[text, place]
        similar = regions @ vector
        item = {"claim": phrase, "seen": round(float(similar.max()), 4), "region": int(similar.argmax())}
        if len(told):
            item["told"] = round(float((told @ vector).max()), 4)
        found.append(item)
    return sorted(found, key=lambda item: float(item["seen"]))


def _told(group: Group, text: int, references: Array, words: list[tuple[str, list[int]]]) -> list[float]:
    nodes = group.nodes["object"]
    others = np.concatenate([nodes.vectors[other][nodes.mask[other]] for other in references])
    backed = (nodes.vectors[text] @ others.T).max(axis=1)
    return [round(float(backed[pieces].mean()), 4) for _, pieces in words]


def _attention(scorer: Scorer, group: Group, image: int, text: int, inside: Array) -> dict[str, Any]:
    visual = group.visual["object"][image][inside]
    alpha = scorer.model.attend("object", visual[None], group.nodes["object"].rows([text]))[0]
    words = _words(scorer, group, text)
    summed = np.stack([alpha[:, pieces].sum(axis=1) for _, pieces in words], axis=1)
    return {"words": [word for word, _ in words], "attention": summed.round(4).tolist()}
