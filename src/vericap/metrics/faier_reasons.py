"""Why FAIEr scored a caption so: heat maps of regions and words, scores of words and triplets, their regions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vericap.models.faier import EMPTY, reading

if TYPE_CHECKING:
    from vericap.metrics.faier import Block, Judge

Array = NDArray[Any]
NO_TRIPLETS = "no triplets in the candidate: its relation score is 0"


def reasons(judge: Judge, block: Block, place: int) -> dict[str, Any]:
    """Explanation of one sample, ready for JSON.

    `words` x `matrix`: similarity of every union region with every word of the candidate; `references`: which words of
    each reference a region attended to (the two pictures of the paper's Figure 6).
    """
    row, pair = int(block.rows[place]), int(block.place[place])
    text = int(judge.batch.candidates[row])
    words, triplets = reading(judge.batch.texts[text], judge.graphs[text])
    inside = block.mask[pair]
    boxes = judge.regions.boxes[block.images[pair]][inside]
    found: dict[str, Any] = {"words": words or [EMPTY], "boxes": _rounded(boxes)}
    found.update(_level(judge, block, place, "object", "word"))
    if "relation" in judge.model.levels:
        found["triplets"] = [" ".join(triplet) for triplet in triplets]
        found.update(_level(judge, block, place, "relation", "triplet"))
        if not triplets:
            found["note"] = NO_TRIPLETS
    if judge.model.config.fuses:
        found["references"] = [_attention(judge, block, pair, int(text)) for text in block.references[pair]]
    return found


def _level(judge: Judge, block: Block, place: int, level: str, kind: str) -> dict[str, Any]:
    """Similarities (regions x nodes), each node's score and the region it was best matched with."""
    pair = int(block.place[place])
    nodes = block.nodes[int(judge.batch.candidates[block.rows[place]])][level]
    sides = block.levels[level].with_references[pair]
    found: dict[str, Any] = {f"{kind}_scores": _rounded(judge.model.matched(sides, nodes))}
    if judge.model.config.looks:
        regions = sides[0][1][block.mask[pair]]  # the graph that stands on the image comes first
        similarity = regions @ nodes.T
        found["matrix" if kind == "word" else "triplet_matrix"] = _rounded(similarity)
        found[f"{kind}_regions"] = similarity.argmax(axis=0).tolist() if len(nodes) else []
    return found


def _attention(judge: Judge, block: Block, pair: int, text: int) -> dict[str, Any]:
    """What the regions attended to in one reference (eq. 4)."""
    words, triplets = reading(judge.batch.texts[text], judge.graphs[text])
    inside = block.mask[pair]
    weight, _ = judge.model.attend("object", block.visual["object"][pair][inside], block.nodes[text]["object"])
    found: dict[str, Any] = {"words": words or [EMPTY], "attention": _rounded(weight)}
    if "relation" in judge.model.levels and triplets:
        weight, _ = judge.model.attend(
            "relation", block.visual["relation"][pair][inside], block.nodes[text]["relation"]
        )
        found.update({"triplets": [" ".join(triplet) for triplet in triplets], "triplet_attention": _rounded(weight)})
    return found


def _rounded(values: Array) -> list[Any]:
    return np.asarray(values, dtype=np.float64).round(4).tolist()
