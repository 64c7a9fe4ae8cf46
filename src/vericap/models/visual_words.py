"""Visual words: what people see and say of a photo, and where, without torch.

Two heads over the maps of the backbone. Of the whole photo, with m the mean of the final map and n the standardisation
of channels:
    whole = W relu(H n(m) + h) + w.
Of its cells z_c (vision.cells):
    cell(v, c) = e_v . z_c + b_v,   cells(v) = log mean_c exp cell(v, c).
An entry v (a word or a short phrase) of kind k is expected with the log odds
    prior_v + a_k (whole_v - prior_v) + b_k (cells_v - prior_v) + c_k;
what this is beyond the prior is the evidence of the photo for the entry.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from vericap.core import shipped
from vericap.core.explanation import Box
from vericap.core.typing import Array, Floats32, Ints
from vericap.vision.cells import PART, CellHead, PhotoCells, whole_numbers

_LARGEST = 127  # of an 8-bit number
_WHOLE, _CELLS, _CONSTANT = range(3)


@dataclass(frozen=True)
class PhotoWords:
    """What is kept of one photo."""

    whole: Floats32  # (hidden,): what the head of the whole photo sees
    cells: Array  # (cells, space) in 8 bits
    scale: float  # of the cells
    boxes: Floats32  # (n, 4) of objects, shares of the sides, most certain first
    certain: Floats32  # (n,) how certain an object is there

    @classmethod
    def of(cls, whole: Floats32, cells: PhotoCells) -> PhotoWords:
        scale = float(np.float16(max(float(np.abs(cells.vectors).max()), 1e-6) / _LARGEST))
        small = np.clip(np.rint(cells.vectors / scale), -_LARGEST, _LARGEST).astype(np.int8)
        return cls(_halved(whole), small, scale, _halved(cells.boxes), _halved(cells.certain))

    def pack(self) -> bytes:
        """As bytes, for the cache."""
        counts = np.array([len(self.whole), *self.cells.shape, len(self.boxes)], dtype=np.uint16)
        numbers = np.concatenate([[self.scale], self.whole, self.boxes.ravel(), self.certain]).astype(np.float16)
        return counts.tobytes() + numbers.tobytes() + self.cells.tobytes()

    @classmethod
    def unpack(cls, data: bytes) -> PhotoWords:
        hidden, cells, space, boxes = np.frombuffer(data, np.uint16, 4).astype(int).tolist()
        numbers = np.frombuffer(data, np.float16, 1 + hidden + 5 * boxes, 8).astype(np.float32)
        kept = np.frombuffer(data, np.int8, cells * space, 8 + 2 * len(numbers)).reshape(cells, space)
        whole, corners, certain = np.split(numbers[1:], [hidden, hidden + 4 * boxes])
        return cls(whole, kept, float(numbers[0]), corners.reshape(-1, 4), certain)


class VisualWords:
    """The two heads and their vocabulary."""

    def __init__(self, weights: dict[str, Array], entries: Sequence[str], kinds: Sequence[str], name: str) -> None:
        self.name = name
        self.entries = list(entries)
        self.kinds = [kinds[number] for number in weights["kinds"].tolist()]
        self.prior: Floats32 = weights["prior"]
        self.bias: Floats32 = weights["words_bias"]
        self._fusion: Floats32 = weights["fusion"][weights["kinds"]].T
        self._w = whole_numbers(weights)

    @cached_property
    def head(self) -> CellHead:
        """What makes cells of the backbone's maps."""
        return CellHead(self._w)

    @cached_property
    def places(self) -> dict[tuple[str, str], int]:
        """The number of an entry by its kind and text."""
        return {entry: place for place, entry in enumerate(zip(self.kinds, self.entries))}

    def look(self, means: Floats32, cells: Sequence[PhotoCells]) -> list[PhotoWords]:
        """Photos from the means (photos, 1280) of their final maps, and their cells."""
        w = self._w
        standard = (means - w["whole_mean"]) / w["whole_deviation"]
        whole = np.maximum(standard @ w["whole_hidden"].T + w["whole_hidden_bias"], 0)
        return [PhotoWords.of(*photo) for photo in zip(whole, cells)]

    def whole(self, photo: PhotoWords) -> Floats32:
        """Log odds of every entry for the whole photo, by the first head."""
        return np.asarray(photo.whole @ self._w["whole_words"].T + self._w["whole_words_bias"], dtype=np.float32)

    def at_cells(self, photo: PhotoWords, entries: Ints) -> Floats32:
        """(cells, entries): log odds at every cell."""
        words = self._w["words"][entries] * np.float32(photo.scale)
        return np.asarray(photo.cells.astype(np.float32) @ words.T + self.bias[entries], dtype=np.float32)

    def whole_of(self, photo: PhotoWords, entries: Ints) -> Floats32:
        """`whole` of some entries."""
        found = photo.whole @ self._w["whole_words"][entries].T + self._w["whole_words_bias"][entries]
        return np.asarray(found, dtype=np.float32)

    def alike(self) -> Callable[[int], Floats32]:
        """A function from an entry to its cosines with all entries, by what the head of whole photos looks for."""
        table = self._w["whole_words"] - self._w["whole_words"].mean(axis=0)
        table = table / np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-9)
        return lambda entry: np.asarray(table @ table[entry], dtype=np.float32)

    def evidence(self, whole: Floats32, cells: Floats32, entries: Ints) -> Floats32:
        """What a photo says of entries beyond their prior, from `whole_of` and `pooled(at_cells)` of these entries."""
        prior, fusion = self.prior[entries], self._fusion[:, entries]
        return np.asarray(
            fusion[_WHOLE] * (whole - prior) + fusion[_CELLS] * (cells - prior) + fusion[_CONSTANT], dtype=np.float32
        )


@dataclass(frozen=True)
class Expected:
    """A word or phrase that people would say of a photo, the share of them who would, and where it is."""

    kind: str
    text: str
    share: float
    region: Box


def expected(model: VisualWords, photo: PhotoWords, *, top: int) -> list[Expected]:
    """What people would say of a photo: the most likely entries of each kind, likely ones first."""
    return [word for kind in dict.fromkeys(model.kinds) for word in most_likely(model, photo, kind, top)]


def most_likely(model: VisualWords, photo: PhotoWords, kind: str, top: int) -> list[Expected]:
    """The most likely entries of one kind."""
    own = np.flatnonzero(np.array(model.kinds) == kind)
    whole = model.whole_of(photo, own)
    likely = np.argsort(-whole)[: 4 * top]
    asked, cells = own[likely], model.at_cells(photo, own[likely])
    odds = model.prior[asked] + model.evidence(whole[likely], pooled(cells), asked)
    best = np.argsort(-odds)[:top]
    regions = regions_of(photo, cells[:, best])
    return [
        Expected(kind, model.entries[asked[place]], float(1 / (1 + np.exp(-odds[place]))), box_of(region))
        for place, region in zip(best.tolist(), regions)
    ]


def regions_of(photo: PhotoWords, heat: Floats32) -> Floats32:
    """(words, 4): the object's box that holds most of a word's heat (cells, words), else cells around the hottest."""
    side = round(len(heat) ** 0.5)
    weights = softmax(heat)
    middles = (np.arange(side, dtype=np.float32) + 0.5) / side
    rows, columns = np.divmod(weights.argmax(axis=0), side)
    middle = np.stack([middles[columns], middles[rows]] * 2, axis=1)
    found = np.clip(middle + np.array([-1, -1, 1, 1], dtype=np.float32) * 1.5 / side, 0, 1)
    boxes = photo.boxes
    if len(boxes):
        across = ((middles >= boxes[:, :1]) & (middles <= boxes[:, 2:3])).astype(np.float32)
        down = ((middles >= boxes[:, 1:2]) & (middles <= boxes[:, 3:])).astype(np.float32)
        inside = np.einsum("bxw,bx->bw", _rows(down, weights, side), across)
        cells = np.maximum(across.sum(axis=1) * down.sum(axis=1), 1)
        share = inside / np.sqrt(cells)[:, None] * down[:, rows] * across[:, columns]
        chosen, boxed = share.argmax(axis=0), share.max(axis=0) > 0
        found[boxed] = boxes[chosen[boxed]]
    return np.asarray(found, dtype=np.float32)


def _rows(down: Floats32, weights: Floats32, side: int) -> Floats32:
    """(boxes, columns, words): weights summed over the rows of each box."""
    return np.asarray((down @ weights.reshape(side, -1)).reshape(len(down), side, -1), dtype=np.float32)


def box_of(region: Floats32) -> Box:
    """A region as an explanation holds it."""
    x0, y0, x1, y1 = (round(float(side), 3) for side in region)
    return x0, y0, x1, y1


def softmax(values: Floats32) -> Floats32:
    """Over cells: (cells, words)."""
    raised = np.exp(values - values.max(axis=0))
    return np.asarray(raised / raised.sum(axis=0), dtype=np.float32)


def pooled(cells: Floats32) -> Floats32:
    """The log of the mean of the exponentials over cells: (cells, entries) -> (entries,)."""
    top = cells.max(axis=0)
    return np.asarray(top + np.log(np.exp(cells - top).mean(axis=0)), dtype=np.float32)


def _halved(values: Floats32) -> Floats32:
    """As the cache keeps them, so that a stored and a fresh value are the same number."""
    return values.astype(np.float16).astype(np.float32)


def load(model: str = "default") -> VisualWords:
    """The shipped model, or one in a folder that `vericap train words` wrote."""
    weights, meta = shipped.weights(model, PART)
    folder = shipped.folder(PART) if model == "default" else Path(model)
    listed: dict[str, Any] = json.loads((folder / "entries.json").read_text("utf-8"))
    return VisualWords(weights, listed["entries"], listed["kinds"], shipped.version(meta))
