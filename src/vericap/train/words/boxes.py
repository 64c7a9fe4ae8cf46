"""Object boxes of COCO's photos, and what a cell of the map learns from them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vericap.core.errors import InputError
from vericap.core.typing import Array, Bools, Floats32, Ints

_NEAR = 1.5  # cells from the middle of a box that answer for it


@dataclass(frozen=True)
class PhotoBoxes:
    """Boxes (x0, y0, x1, y1 as shares) of a photo and the class of each."""

    boxes: Floats32
    classes: Ints


NONE = PhotoBoxes(np.zeros((0, 4), np.float32), np.zeros(0, np.int64))


def read(files: Sequence[str | Path]) -> dict[int, PhotoBoxes]:
    """Boxes of photos by image number, from lines `image_id <tab> class,x,y,width,height ...` (middle and size)."""
    found: dict[int, PhotoBoxes] = {}
    for file in files:
        with gzip.open(file, "rt", encoding="utf-8") as stream:
            for number, line in enumerate(stream, 1):
                try:
                    image, _, rest = line.rstrip("\n").partition("\t")
                    rows = np.array([item.split(",") for item in rest.split()], dtype=np.float64).reshape(-1, 5)
                    found[int(image)] = PhotoBoxes(_corners(rows[:, 1:]), rows[:, 0].astype(np.int64))
                except ValueError as error:
                    said = f"{file}, line {number}: not `image_id<tab>class,x,y,w,h ...` ({error})"
                    raise InputError(said) from error
    return found


def read_classes(file: str | Path) -> list[str]:
    """Names of the classes by number."""
    found: list[str] = json.loads(Path(file).read_text("utf-8"))
    return found


def _corners(middles: Array) -> Floats32:
    half = middles[:, 2:] / 2
    return np.clip(np.concatenate([middles[:, :2] - half, middles[:, :2] + half], axis=1), 0, 1).astype(np.float32)


def centres(grid: int) -> Floats32:
    """Middles (cells, 2) of the cells of a square map, x and y as shares."""
    steps = (np.arange(grid, dtype=np.float32) + 0.5) / grid
    y, x = np.meshgrid(steps, steps, indexing="ij")
    return np.stack([x.ravel(), y.ravel()], axis=1)


def inside(boxes: Floats32, points: Floats32) -> Bools:
    """(boxes, points): whether a point lies in a box."""
    x, y = points[None, :, 0], points[None, :, 1]
    return np.asarray((x >= boxes[:, :1]) & (x <= boxes[:, 2:3]) & (y >= boxes[:, 1:2]) & (y <= boxes[:, 3:]))


def answering(boxes: Floats32, grid: int) -> Ints:
    """For every cell the box it answers for, -1 where there is none: the smallest of those whose middle is near."""
    found = np.full(grid * grid, -1, dtype=np.int64)
    points = centres(grid)
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    for box in np.argsort(-areas).tolist():  # the smaller ones later, over the larger ones
        middle = (boxes[box, :2] + boxes[box, 2:]) / 2
        near = np.abs(points - middle).max(axis=1) <= _NEAR / grid
        own = near & inside(boxes[box : box + 1], points)[0]
        if not own.any():  # a box between the middles of cells: the nearest one answers
            own[np.abs(points - middle).sum(axis=1).argmin()] = True
        found[own] = box
    return found


def class_cells(photo: PhotoBoxes, classes: Ints, grid: int) -> Bools:
    """(classes, cells): whether the middle of a cell lies in a box of the class; a box between them has the nearest."""
    points = centres(grid)
    within = inside(photo.boxes, points)
    for box in np.flatnonzero(~within.any(axis=1)).tolist():
        middle = (photo.boxes[box, :2] + photo.boxes[box, 2:]) / 2
        within[box, np.abs(points - middle).sum(axis=1).argmin()] = True
    found = np.zeros((len(classes), grid * grid), dtype=bool)
    for place, kind in enumerate(classes.tolist()):
        found[place] = within[photo.classes == kind].any(axis=0)
    return found
