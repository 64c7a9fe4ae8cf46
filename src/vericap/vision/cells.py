"""Cells of a photo: the backbone's finer map, read with its coarser one, and the objects' boxes they propose.

With middle_c the finer map at cell c (18 x 18 of them), u the coarser cell it lies in, and n the standardisation of
channels:
    h_c = relu(M n(middle_c) + L n(last_u) + b),   z_c = S h_c + s,   (o_c, d_c) = B h_c + t.
z_c is the cell in the space of visual words (models.visual_words), o_c the log odds of an object with its middle near,
and softplus(d_c) the distances from the cell's middle to the left, top, right and bottom of that object.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from vericap.core import shipped
from vericap.core.typing import Array, Floats32, Ints
from vericap.native import load
from vericap.native.dense import Layer

PART = "visual_words"  # the shipped weights are those of the visual words
BOXES = 35  # of objects that are kept of a photo: with the whole photo, 36 regions
_APART = 0.5  # overlap from which two boxes are one object's


@dataclass(frozen=True)
class PhotoCells:
    """The cells of one photo and the boxes of its objects."""

    vectors: Floats32  # (cells, space)
    boxes: Floats32  # (n, 4): left, top, right, bottom as shares of the sides, most certain first
    certain: Floats32  # (n,): how certain an object is there

    @property
    def side(self) -> int:
        return round(len(self.vectors) ** 0.5)

    @property
    def map(self) -> Floats32:
        """The vectors where they lie: (side, side, space)."""
        return self.vectors.reshape(self.side, self.side, -1)


class CellHead:
    """The weights, and what they make of maps."""

    def __init__(self, weights: dict[str, Array]) -> None:
        # The standardisation of channels is part of the first layer: M n(x) = (M / deviation) x - (M / deviation) mean.
        first = {kind: weights[kind] / weights[f"{kind}_deviation"] for kind in ("middle", "last")}
        shift = sum(matrix @ weights[f"{kind}_mean"] for kind, matrix in first.items())
        self._middle, self._last = Layer(first["middle"]), Layer(first["last"], weights["hidden_bias"] - shift)
        both = [np.concatenate([weights["space" + part], weights["box" + part]]) for part in ("", "_bias")]
        self._read, self._space = Layer(*both), len(weights["space"])

    def __call__(self, middle: Floats32, last: Floats32) -> list[PhotoCells]:
        """Photos from their maps (photos, side, side, channels), the finer one of twice the side."""
        count, side = middle.shape[:2]
        coarse = self._last(last).repeat(2, axis=2).repeat(2, axis=1)
        hidden = self._middle(middle, add=coarse, rectify=True)
        read = self._read(hidden.reshape(count, side * side, -1))
        vectors, box = np.ascontiguousarray(read[..., : self._space]), read[..., self._space :]
        return [self._photo(*photo, side) for photo in zip(vectors, box)]

    def _photo(self, vectors: Floats32, box: Floats32, side: int) -> PhotoCells:
        certain = np.asarray(1 / (1 + np.exp(-box[:, 0])), dtype=np.float32)
        return PhotoCells(vectors, *apart(_corners(box[:, 1:], side), certain, BOXES))


@lru_cache(maxsize=1)
def shipped_head() -> CellHead:
    """The head that ships, with the visual words."""
    weights, _ = shipped.weights("default", PART)
    return CellHead(whole_numbers(weights))


def whole_numbers(weights: dict[str, Array]) -> dict[str, Array]:
    """Weights with every matrix of 8-bit numbers and a scale for each row as it was."""
    return {name: _full(weights, name) for name in weights if not name.endswith("_scale")}


def _full(weights: dict[str, Array], name: str) -> Array:
    found = weights[name]
    return found * weights[f"{name}_scale"][:, None] if found.dtype == np.int8 else found


def apart(boxes: Floats32, certain: Floats32, most: int) -> tuple[Floats32, Floats32]:
    """The most certain boxes of which no two overlap much (`overlap` of each with the better ones below a half)."""
    order = np.argsort(-certain, kind="stable")
    ordered, kernel = boxes[order], load("regions")
    if kernel is None:
        kept = _kept(ordered, most)
    else:
        numbers = np.empty(most, dtype=np.int32)
        kept = numbers[: kernel.apart(ordered, _APART, most, numbers)].astype(np.int64)
    return ordered[kept], certain[order[kept]]


def _kept(boxes: Floats32, most: int) -> Ints:
    """Places of the boxes, the best first, that overlap no better one that is kept."""
    left, top, right, bottom = np.ascontiguousarray(boxes.T)
    areas = (right - left) * (bottom - top)
    alive = np.ones(len(boxes), dtype=bool)
    kept: list[int] = []
    for place in range(len(boxes)):
        if not alive[place]:
            continue
        kept.append(place)
        if len(kept) == most:
            break
        across = np.minimum(right, right[place]) - np.maximum(left, left[place])
        down = np.minimum(bottom, bottom[place]) - np.maximum(top, top[place])
        shared = np.maximum(across, 0) * np.maximum(down, 0)
        alive &= shared < _APART * (areas + areas[place] - shared)
    return np.array(kept, dtype=np.int64)


def overlap(box: Floats32, others: Floats32) -> Floats32:
    """Intersection over union of a box with others."""
    low, high = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:])
    shared = np.clip(high - low, 0, None).prod(axis=1)
    areas = (others[:, 2:] - others[:, :2]).prod(axis=1)
    return np.asarray(shared / np.maximum((box[2:] - box[:2]).prod() + areas - shared, 1e-9), dtype=np.float32)


def _corners(sides: Floats32, side: int) -> Floats32:
    """Boxes from what the network says of their sides."""
    steps = (np.arange(side, dtype=np.float32) + 0.5) / side
    middles = np.stack([np.tile(steps, side), np.repeat(steps, side)], axis=1)
    away = np.logaddexp(0, sides)
    found = np.concatenate([middles - away[:, :2], middles + away[:, 2:]], axis=1)
    return np.asarray(np.clip(found, 0, 1), dtype=np.float32)
