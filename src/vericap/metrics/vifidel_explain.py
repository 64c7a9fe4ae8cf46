"""Why VIFIDEL scored a caption as it did: which object moved to which word, what found no partner."""

from __future__ import annotations

from typing import Any

from vericap.text.bags import Bags
from vericap.text.transport import costs, solve
from vericap.text.word_space import WordSpace

MATCH = 0.5  # cosine of word vectors, mean removed, from which an object counts as mentioned


def explain(
    space: WordSpace,
    images: Bags,
    captions: Bags,
    row: int,
    *,
    p: float,
    unknown_labels: list[str],
    unknown_words: list[str],
) -> dict[str, Any]:
    """One sample's transport plan and what it leaves open, JSON-able."""
    left, right = images.span(row), captions.span(row)
    objects = [space.words[i] for i in images.ids[left]]
    words = [space.words[i] for i in captions.ids[right]]
    found: dict[str, Any] = {
        "objects": objects,
        "words": words,
        "rho": {
            **dict(zip(words, map(_short, captions.scales[right]))),
            **dict(zip(objects, map(_short, images.scales[left]))),
        },
        "unknown_labels": unknown_labels,
        "unknown_words": unknown_words,
        "plan": [],
        "unmatched_objects": objects,
        "words_without_object": words,
    }
    if not objects or not words:
        return found
    matrix = costs(space.vectors, images, captions, row, p=p)
    _, plan = solve(matrix, images.weights[left], captions.weights[right])
    moves = [
        {
            "object": objects[i],
            "word": words[j],
            "mass": _short(plan[i, j]),
            "cost": _short(matrix[i, j]),
            "part": _short(plan[i, j] * matrix[i, j]),
        }
        for i, j in zip(*plan.nonzero())
    ]
    unit = space.unit_vectors()
    cosine = unit[images.ids[left]] @ unit[captions.ids[right]].T
    found["plan"] = sorted(moves, key=lambda move: -float(move["part"]))
    found["unmatched_objects"] = [o for o, best in zip(objects, cosine.max(axis=1)) if best < MATCH]
    found["words_without_object"] = [w for w, best in zip(words, cosine.max(axis=0)) if best < MATCH]
    return found


def _short(value: float) -> float:
    return round(float(value), 6)
