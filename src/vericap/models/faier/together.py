"""FAIEr over many images and captions: union nodes of several images in a few products, captions matched in one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from vericap.core.typing import Floats, Floats32
from vericap.models.arrays import softmax
from vericap.models.faier.network import FaierModel, Sides
from vericap.models.recurrent import linear, step

_ROWS = 2048  # regions that go through the GRU at once


def all_sides(model: FaierModel, level: str, visual: Floats32, references: Sequence[Sequence[Floats32]]) -> list[Sides]:
    """`FaierModel.sides` of several images (images, regions, d), each with the nodes of its references."""
    if not model.config.fuses:
        return [model.sides(level, own, nodes) for own, nodes in zip(visual, references)]
    unions = unite(model, level, visual, references)
    return [[(1.0, union)] for union in unions]


def unite(model: FaierModel, level: str, visual: Floats32, references: Sequence[Sequence[Floats32]]) -> Floats32:
    """Union nodes (images, regions, d); images with equally many references go through the GRU together."""
    usable = [[nodes for nodes in own if len(nodes)] for own in references]
    counts = np.array([len(own) for own in usable], dtype=np.int64)
    found = np.empty_like(visual)
    for count in np.unique(counts):
        members = np.flatnonzero(counts == count)
        if count == 0:
            found[members] = model.joined(level, visual[members], model.blank(level))
            continue
        size = max(1, _ROWS // visual.shape[1])
        for start in range(0, len(members), size):
            part = members[start : start + size]
            memory = _memory(model, level, visual[part], [usable[image] for image in part])
            found[part] = model.joined(level, visual[part], memory)
    return found


def _memory(model: FaierModel, level: str, visual: Floats32, references: list[list[Floats32]]) -> Floats32:
    """Last states of the GRU over references (images, regions, d) of images that all have the same number.

    A context is a mean of nodes, so the input half of the GRU is computed of the nodes, which are fewer than regions.
    """
    images, regions, d = visual.shape
    weights = model.memory(level)
    recurrent = np.ascontiguousarray(weights["weight_hh"].T)
    weighted = visual * model.weights[f"attention.{level}.weight"][0]
    given = np.empty((images, regions, 3 * d), dtype=np.float32)
    state = None
    for said in zip(*references):  # the first reference of every image, then the second, ...
        ends = np.cumsum([len(nodes) for nodes in said])
        read = np.split(linear(np.concatenate(said), weights["weight_ih"], weights["bias_ih"]), ends[:-1])
        for image, (nodes, gates) in enumerate(zip(said, read)):
            np.matmul(softmax(weighted[image] @ nodes.T), gates, out=given[image])
        state = step(state, given.reshape(images * regions, -1), recurrent, weights["bias_hh"])
    if state is None:
        raise ValueError("an image without references has no memory of them")
    return state.reshape(images, regions, d)


def mean_matches(model: FaierModel, sides: Sides, captions: Sequence[Floats32]) -> Floats:
    """Level scores of captions matched with one image's graphs; 0 for a caption without nodes."""
    counts = np.array([len(nodes) for nodes in captions], dtype=np.int64)
    scores = np.zeros(len(captions))
    there = counts > 0
    if there.any():
        best = model.matched(sides, np.concatenate([nodes for nodes in captions if len(nodes)]))
        sums = np.add.reduceat(best, np.cumsum(counts[there]) - counts[there])
        scores[there] = sums / counts[there]
    return scores


class Encodings:
    """Textual nodes by text number: encoded when first asked for, all forgotten when they take too much room."""

    def __init__(self, model: FaierModel, *, room: int = 200 << 20) -> None:
        self._model, self._room, self._used = model, room, 0
        self._kept: dict[int, dict[str, Floats32]] = {}

    def read(
        self, texts: Iterable[int], words: dict[int, tuple[list[str], list[list[str]]]]
    ) -> dict[int, dict[str, Floats32]]:
        """Nodes of texts by level; `words` are those of the texts that `missing` named."""
        wanted = set(texts)
        new = sorted(wanted - self._kept.keys())
        if new:
            nodes = self._model.captions(*map(list, zip(*(words[text] for text in new))))
            for place, text in enumerate(new):
                own = {level: nodes.level(level)[place] for level in self._model.levels}
                self._kept[text] = own
                self._used += sum(value.nbytes for value in own.values())
        found = {text: self._kept[text] for text in wanted}
        if self._used > self._room:
            self._kept, self._used = {}, 0
        return found

    def missing(self, texts: Iterable[int]) -> list[int]:
        return sorted(set(texts) - self._kept.keys())
