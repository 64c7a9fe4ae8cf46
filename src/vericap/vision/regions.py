"""Regions of an image: windows of a pyramid and boxes of objects, pooled from the backbone's maps.

The shipped backbone (EfficientNet-lite2, its upper blocks trained on image-caption pairs by `vericap train backbone`)
runs once per image (see `vericap.vision.backbone`); every region is the area-weighted mean of its last map inside the
region's box, followed by the mean of the finer cells there (`vericap.vision.cells`), which tell neighbours apart and
propose the boxes. Another backbone, an ONNX file or `hub:NAME` of transformers, has windows of its last map alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from vericap.core import shipped
from vericap.core.errors import InputError, VericapError
from vericap.core.typing import Floats32
from vericap.vision.backbone import INNER, Backbone, normalised, open_backbone
from vericap.vision.cells import PART as CELLS_PART
from vericap.vision.cells import PhotoCells, shipped_head
from vericap.vision.hub_backbone import PREFIX, HubBackbone
from vericap.vision.identity import fingerprint
from vericap.vision.pooling import pool, pool_own
from vericap.vision.resize import BICUBIC, resized
from vericap.vision.store import RegionTable

if TYPE_CHECKING:
    from PIL.Image import Image

LEVELS = (1, 2, 3)  # the whole image, 2 x 2 and 3 x 3 windows
CELL_WIDTH = 128  # values of a cell
WIDTH = 1280 + CELL_WIDTH  # of the shipped extractor's features: channels of the last map, and of a cell
MOST = 36  # regions per image; boxes of objects fill what the windows leave
CELLS, DETECTOR, NONE = "cells", "detector", "none"  # where boxes come from
_CELL_SCALE = np.float32(0.25)  # brings the cells' values to the spread of the last map's
Boxes = Callable[["Image"], Floats32]  # image -> (n, 4) boxes in pixels, best first
T = TypeVar("T")
_RECENT = 8  # photos whose maps are held
_NO_BOX = np.zeros((0, 4), dtype=np.float32)


def pyramid(levels: Sequence[int] = LEVELS) -> Floats32:
    """Boxes (x0, y0, x1, y1) of g x g windows for every level g, as shares of the image's sides, row by
    row."""
    boxes = [
        (column / grid, row / grid, (column + 1) / grid, (row + 1) / grid)
        for grid in levels
        for row in range(grid)
        for column in range(grid)
    ]
    return np.array(boxes, dtype=np.float32).reshape(-1, 4)


class Extractor:
    """Images -> regions by the shipped backbone, any ONNX file of the same kind, or `hub:NAME_OR_FOLDER`.

    Parameters
    ----------
    model : str or Path, optional
        Another backbone than the shipped one.
    size : int, optional
        Side of the square an image is brought to.
    levels : sequence of int
        Windows g x g for each g, which come first.
    boxes : str
        What follows them, up to `most` regions in all: "cells" (objects' boxes of the shipped backbone's own cells;
        nothing for another backbone), "detector" (those of the embedded detector) or "none".
    most : int
        Regions of an image.
    threads : int
        Images looked at together.
    """

    def __init__(
        self,
        model: str | Path | None = None,
        *,
        size: int | None = None,
        levels: Sequence[int] = LEVELS,
        boxes: str = CELLS,
        most: int = MOST,
        threads: int = 1,
    ) -> None:
        self._hub: Any = None
        self._shipped = model is None  # whose inner maps and cells are known
        if model is not None and str(model).startswith(PREFIX):
            self._hub = HubBackbone(str(model).removeprefix(PREFIX), size=size, threads=threads)
            self.name, digest, default = self._hub.name, self._hub.version, self._hub.size
        elif model is None:
            meta = shipped.meta("backbone")
            self.file = shipped.path("backbone", meta["model"])
            self.name, digest, default = meta["name"], meta["files"][meta["model"]], int(meta["size"])
        else:
            self.file = Path(model)
            if not self.file.is_file():
                raise InputError(f"the backbone {model} does not exist; name an ONNX file")
            meta = _beside(self.file)
            self.name, default = meta.get("name", self.file.stem), int(meta.get("size", 256))
            digest = shipped.sha256(self.file)
        self.size = size or default
        if self._hub is None and self.size % 32:
            raise VericapError(f"the input size {self.size} is not a multiple of 32")
        self.windows = pyramid(levels)
        if len(self.windows) > most:
            raise VericapError(f"{len(self.windows)} windows are more than the {most} regions asked for")
        self.most = most
        self.boxes = NONE if boxes == CELLS and not self._shipped else boxes
        self._threads = threads
        self.description = _described(self.name, digest, self.size, levels, self.boxes, most, cells=self._shipped)
        self.fingerprint = fingerprint(self.description)
        self._recent = _Recent(max(_RECENT, 2 * threads))

    @cached_property
    def _backbone(self) -> Backbone:
        return open_backbone(self.file, side=self.size)

    def map(self, image: Image) -> Floats32:
        """The feature map (height, width, d) of one image, squeezed to a square as in training."""
        return self.maps(image)[0]

    def maps(self, image: Image, inner: Sequence[str] = ()) -> list[Floats32]:
        """The feature map of one image, then maps that the shipped backbone makes on the way to it.

        Parameters
        ----------
        image : PIL.Image.Image
            An RGB image; it is squeezed to a square as in training.
        inner : sequence of str
            "middle" (1/16 of the side, 120 channels: after the frozen blocks), "last" (1/32 of the side, 352 channels:
            before the head). They cost nothing but their copies.

        Returns
        -------
        list of ndarray
            (height, width, channels) each.

        Examples
        --------
        >>> from PIL import Image
        >>> [found.shape for found in Extractor().maps(Image.new("RGB", (640, 480)), ("middle", "last"))]
        [(9, 9, 1280), (18, 18, 120), (9, 9, 352)]
        """
        if self._hub is not None:
            if inner:
                raise VericapError(f"{self.name} gives its last map alone")
            return [self._hub.map(image)]
        # All are kept for a moment: whoever looks at the same photo next finds them.
        found = self._recent.get(image)
        if found is None:
            names = tuple(INNER) if self._shipped else tuple(inner)
            made = self._backbone.maps(resized(image, (self.size, self.size), BICUBIC), names)
            found = self._recent.put(image, dict(zip(("", *names), made)))
        return [found[name] for name in ("", *inner)]

    def cells(self, image: Image) -> PhotoCells:
        """The cells of one image and the boxes they propose, by the shipped backbone."""
        if not self._shipped:
            raise VericapError(f"{self.name} has no cells: they belong to the shipped backbone")
        middle, last = self.maps(image, ("middle", "last"))[1:]
        return self._recent.cells(image, lambda: shipped_head()(middle[None], last[None])[0])

    def regions(self, image: Image) -> tuple[Floats32, Floats32]:
        """(features, boxes) of one image."""
        cells = self.cells(image) if self._shipped else None
        return pooled_regions(self.map(image), cells, self.windows, self._found(image, cells))

    def _found(self, image: Image, cells: PhotoCells | None) -> Floats32:
        """Boxes of objects, as many as the windows leave room for."""
        room = self.most - len(self.windows)
        if self.boxes == DETECTOR:
            return shares(self._detector(image), image.size)[:room]
        return cells.boxes[:room] if self.boxes == CELLS and cells is not None else _NO_BOX

    @cached_property
    def _detector(self) -> Boxes:
        return detector_boxes()

    def all_regions(self, images: Sequence[Image]) -> list[tuple[Floats32, Floats32]]:
        """(features, boxes) of images."""
        return self._each(self.regions, images)

    def all_maps(self, images: Sequence[Image], inner: Sequence[str]) -> list[list[Floats32]]:
        """`maps` of images."""
        return self._each(lambda image: self.maps(image, inner), images)

    def _each(self, work: Callable[[Image], T], images: Sequence[Image]) -> list[T]:
        """One image in each thread: a second core helps another photo more than half a layer."""
        if self._threads == 1 or len(images) < 2 or self._hub is not None:
            return [work(image) for image in images]
        _ = self._backbone  # opened once, not in every thread
        with ThreadPoolExecutor(self._threads) as crew:
            return list(crew.map(work, images))

    @property
    def width(self) -> int:
        """Of the features."""
        if self._shipped:
            return WIDTH
        from PIL import Image

        return int(self.map(Image.new("RGB", (32, 32))).shape[2])


def pooled_regions(
    last: Floats32, cells: PhotoCells | None, windows: Floats32, found: Floats32
) -> tuple[Floats32, Floats32]:
    """(features, boxes) of windows and an image's own boxes, from its last map and, where there are, its cells."""
    depth, more = last.shape[2], 0 if cells is None else cells.vectors.shape[1]
    features = np.empty((len(windows) + len(found), depth + more), dtype=np.float32)
    _pool_into(features[:, :depth], last, windows, found)
    if cells is not None:
        own = features[:, depth:]
        _pool_into(own, cells.map, windows, found)
        own *= _CELL_SCALE
    return features, np.concatenate([windows, found])


def _pool_into(features: Floats32, values: Floats32, windows: Floats32, found: Floats32) -> None:
    features[: len(windows)] = pool(values, windows)
    features[len(windows) :] = pool_own(values, found)


class _Recent:
    """Maps and cells of the photos seen last, which several analyses look at one after the other."""

    def __init__(self, most: int) -> None:
        self._most, self._lock = most, Lock()
        self._kept: dict[int, tuple[Image, dict[str, Floats32]]] = {}
        self._cells: dict[int, tuple[Image, PhotoCells]] = {}

    def get(self, image: Image) -> dict[str, Floats32] | None:
        held = self._kept.get(id(image))
        return held[1] if held is not None and held[0] is image else None

    def put(self, image: Image, maps: dict[str, Floats32]) -> dict[str, Floats32]:
        with self._lock:
            while len(self._kept) >= self._most:
                del self._kept[next(iter(self._kept))]
            self._kept[id(image)] = image, maps  # the photo is held too, so that no other one gets its number
        return maps

    def cells(self, image: Image, make: Callable[[], PhotoCells]) -> PhotoCells:
        """Cells of a photo; as many photos' are held as maps."""
        held = self._cells.get(id(image))
        if held is not None and held[0] is image:
            return held[1]
        made = make()
        with self._lock:
            while len(self._cells) >= self._most:
                del self._cells[next(iter(self._cells))]
            self._cells[id(image)] = image, made
        return made


def _described(
    name: str, digest: str, size: int, levels: Sequence[int], boxes: str, most: int, *, cells: bool
) -> dict[str, Any]:
    """Everything that decides the features' values."""
    known = {"backbone": name, "sha256": digest, "size": size, "levels": list(levels), "boxes": boxes, "most": most}
    return {**known, "cells": cells_digest()} if cells else known


def cells_digest() -> str:
    """What the cells are: the digest of the file they came with first, for heads that were taught further since."""
    meta = shipped.meta(CELLS_PART)
    if "cells" in meta:
        return str(meta["cells"])
    (digest,) = (value for file, value in meta["files"].items() if file.endswith(".safetensors"))
    return str(digest)


def shipped_fingerprint() -> str:
    """The fingerprint of the shipped extractor, from meta files alone."""
    return fingerprint(_described(*_backbone(), LEVELS, CELLS, MOST, cells=True))


def windows_fingerprint() -> str:
    """That of windows of the shipped backbone's last map alone, as earlier versions extracted them."""
    return fingerprint(_described(*_backbone(), LEVELS, NONE, MOST, cells=False))


def _backbone() -> tuple[str, str, int]:
    """Name, digest and input size of the shipped backbone."""
    meta = shipped.meta("backbone")
    return meta["name"], meta["files"][meta["model"]], int(meta["size"])


def regions_for(table: RegionTable, meta: Mapping[str, Any]) -> RegionTable:
    """What the model with this meta file reads of regions: all, or, where it was trained on these, the windows of the
    shipped backbone's last map alone."""
    windows = windows_fingerprint()
    if meta["fingerprint"] == windows and table.fingerprint == shipped_fingerprint():
        return table.part(len(pyramid()), WIDTH - CELL_WIDTH, windows)
    table.check_fits(meta)
    return table


def _beside(model: Path) -> dict[str, Any]:
    """What `vericap train backbone` wrote beside the model, if it did."""
    file = model.with_name("meta.json")
    if not file.is_file():
        return {}
    found: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return found if found.get("model") == model.name else {}


def pixels(image: Image, size: int) -> Floats32:
    """(1, 3, size, size) in the range the backbone was trained with."""
    return normalised(resized(image, (size, size), BICUBIC))


def shares(boxes: Floats32, size: tuple[int, int]) -> Floats32:
    """Pixel boxes as shares of the image's sides, cut at its edges; boxes without area are left out."""
    boxes = np.asarray(boxes, dtype=np.float32).reshape(-1, 4)
    found = np.clip(boxes / np.array([size[0], size[1], size[0], size[1]], dtype=np.float32), 0.0, 1.0)
    keep = (found[:, 2] - found[:, 0] > 1e-3) & (found[:, 3] - found[:, 1] > 1e-3)
    return np.asarray(found[keep], dtype=np.float32)


def detector_boxes(threads: int = 1) -> Boxes:
    """Boxes of the embedded detector, most certain first."""
    from vericap.vision.detector import Detector

    detector = Detector.shipped(threads=threads)

    def boxes(image: Image) -> Floats32:
        (found,) = detector.detect([image])
        rows = [(score or 0.0, box) for _, score, box in found.instances() if box is not None]
        rows.sort(key=lambda row: -row[0])
        return np.array([box for _, box in rows], dtype=np.float32).reshape(-1, 4)

    return boxes
