"""Why VIFIDEL scored a caption as it did: which object moved to which word, what found no partner."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vericap.core.explanation import Box, Explanation, MissingContent, Move, WordEvidence
from vericap.metrics.evidence import places
from vericap.metrics.toolbox import words_of
from vericap.metrics.vifidel.pairs import ObjectWordPairs
from vericap.text.transport import costs, solve
from vericap.vision.objects import ImageObjects

MATCH = 0.5  # cosine of word vectors, mean removed, from which an object counts as mentioned
IMAGE = "image"  # what support comes from

Judged = Mapping[str, tuple[float, Box | None]]  # word -> support, and where the object is that gives it


@dataclass(frozen=True)
class SpokenWord:
    """A word of a caption as written, and the tokens it holds, in the form that has a vector."""

    text: str
    start: int
    end: int
    tokens: tuple[str, ...]


def spoken(text: str, tokens: Sequence[str]) -> list[SpokenWord]:
    """The words of a caption with the run's tokens in each."""
    found = [(*span, token) for span, token in zip(places(text, tokens), tokens) if span]
    return [
        SpokenWord(word, start, end, tuple(token for s, e, token in found if s < end and e > start))
        for word, start, end in words_of(text)
    ]


def spoken_japanese(text: str) -> list[SpokenWord]:
    """The words of a Japanese caption with their normal forms."""
    from vericap.text.japanese_content import morphemes

    return [SpokenWord(text[w.start : w.end], w.start, w.end, (w.normal,)) for w in morphemes(text, "C")]


def explained(label: str, pairs: ObjectWordPairs, place: int, said: Sequence[SpokenWord], *, p: float) -> Explanation:
    """One sample's transport plan and what it leaves open.

    The support of a word is its cosine to the nearest object of the image: 0 where that is negative or there is no
    object. Words without content or without a vector are not judged. An object is missing where no word comes as near
    as .5; its weight is its share of the image's objects.
    """
    words, objects = pairs.captions.ids[pairs.captions.span(place)], pairs.images.ids[pairs.images.span(place)]
    near = pairs.unit_vectors[objects] @ pairs.unit_vectors[words].T
    regions = _regions(pairs.objects[place], pairs.space.rows)
    judged: dict[str, tuple[float, Box | None]] = {}
    for row, cosines in zip(words, near.T):
        support = float(np.clip(cosines.max(initial=0.0), 0.0, 1.0))
        judged[pairs.word(row)] = support, regions[objects[cosines.argmax()]] if support >= MATCH else None
    unsaid = [
        MissingContent(pairs.word(row), float(weight), IMAGE, regions[row])
        for row, weight, cosines in zip(objects, pairs.images.weights[pairs.images.span(place)], near)
        if cosines.max(initial=-1.0) < MATCH
    ]
    return Explanation(
        label,
        words=tuple(_evidence(said, judged)),
        missing=tuple(unsaid),
        transport=tuple(sorted(_moves(pairs, place, p=p), key=lambda move: -move.mass * move.cost)),
        facts=_facts(pairs, place),
    )


def _regions(found: Any, rows: Mapping[str, tuple[int, ...]]) -> dict[int, Box | None]:
    """Where the objects of each row are; labels that share a row are one object, the surest first."""
    assert isinstance(found, ImageObjects)
    return {row: found.region(label) for label in reversed(found.labels) for row in rows[label]}


def _evidence(said: Sequence[SpokenWord], judged: Judged) -> Iterator[WordEvidence]:
    """Every word of a caption; one that was cut into several tokens has the support of its best."""
    for word in said:
        own = [judged[token] for token in word.tokens if token in judged]
        if own:
            support, region = max(own, key=lambda value: value[0])
            yield WordEvidence(word.text, word.start, word.end, support, IMAGE, region)
        else:
            yield WordEvidence(word.text, word.start, word.end)


def _moves(pairs: ObjectWordPairs, place: int, *, p: float) -> Iterator[Move]:
    left, right = pairs.images.span(place), pairs.captions.span(place)
    if left.start == left.stop or right.start == right.stop:
        return
    matrix = costs(pairs.space.table.vectors, pairs.images, pairs.captions, place, p=p)
    _, plan = solve(matrix, pairs.images.weights[left], pairs.captions.weights[right])
    for i, j in zip(*plan.nonzero()):
        label, word = pairs.word(pairs.images.ids[left][i]), pairs.word(pairs.captions.ids[right][j])
        yield Move(label, word, float(plan[i, j]), float(matrix[i, j]))


def _facts(pairs: ObjectWordPairs, place: int) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "unknown_labels": pairs.unknown_labels[place],
        "unknown_words": pairs.unknown_words[place],
    }
    return {**facts, "rho": pairs.rho(place)} if pairs.penalised[place] else facts
