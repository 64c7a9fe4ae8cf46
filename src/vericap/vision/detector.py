"""Object detection by ONNX Runtime: the shipped network, or any ONNX file with a description beside it.

`model.onnx` is described by `model.json` (see `DetectorLayout`; docs/objects.md lists every key) or at the least by
`model.txt`, one label a line. The shipped detector is described in the same way.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vericap.core import keys, onnx, shipped
from vericap.core.errors import InputError, VericapError
from vericap.core.typing import Array, Floats32
from vericap.vision.objects import Box, ImageObjects
from vericap.vision.resize import BILINEAR, resized
from vericap.vision.stamp import Stamp, stamp

if TYPE_CHECKING:
    from PIL.Image import Image

SHIPPED = "detector"
FLOOR = 0.05  # detections less sure than this are never kept
LIMIT = 100  # detections kept per image


@dataclass(frozen=True)
class DetectorLayout:
    """What a detector file expects and gives."""

    labels: tuple[str, ...]
    size: tuple[int, int] | None = None  # width, height of the input; by default what the file declares
    layout: str = "auto"  # nhwc, nchw; auto: where the 3 channels are
    channels: str = "rgb"  # or bgr
    resize: str = "letterbox"  # keep the aspect and pad to the right and below; or stretch
    pad: int = 127
    scale: float = 1.0  # pixels are multiplied by this, then normalised; uint8 inputs get plain pixels
    mean: tuple[float, ...] = (0.0, 0.0, 0.0)
    std: tuple[float, ...] = (1.0, 1.0, 1.0)
    scores: str = "scores"  # output (batch, n, classes); with `classes`, (batch, n)
    boxes: str = "boxes"  # output (batch, n, 4)
    classes: str = ""  # output (batch, n) of class numbers, for models that name one class per box
    rows: str = ""  # a single output (batch, n, 4 [+ 1] + classes) or its transpose, as YOLO models give
    objectness: bool = False  # `rows` hold a fifth value that multiplies the class scores
    activation: str = "none"  # of the scores: none, sigmoid, softmax
    background: int | None = None  # class number that means "nothing"; -1 is the last
    box: str = "yxyx"  # corners; or xyxy, or cxcywh (centre and size)
    relative: bool = True  # boxes are shares of the input's size, not its pixels
    overlap: float | None = 0.5  # boxes of one label that overlap more are one object; null: the model did it
    threshold: float = 0.35

    @classmethod
    def read(cls, given: dict[str, Any], where: str) -> DetectorLayout:
        """From a description; unknown keys and impossible values are named."""
        known = {field.name for field in fields(cls)}
        unknown = [key for key in given if key not in known]
        if unknown:
            raise InputError(f"{where}: unknown key(s) {', '.join(unknown)}; there are: {', '.join(sorted(known))}")
        values: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in given.items()
        }
        if isinstance(values.get("size"), int):
            values["size"] = (values["size"], values["size"])
        choices = {
            "layout": ("auto", "nhwc", "nchw"),
            "channels": ("rgb", "bgr"),
            "resize": ("letterbox", "stretch"),
            "activation": ("none", "sigmoid", "softmax"),
            "box": ("yxyx", "xyxy", "cxcywh"),
        }
        for key, allowed in choices.items():
            if values.get(key, allowed[0]) not in allowed:
                raise InputError(f"{where}: {key} is {values[key]!r}, not one of {', '.join(allowed)}")
        if not values.get("labels"):
            raise InputError(f"{where}: no labels")
        return cls(**values)


class Detector:
    """A detector network with its labels. `name` and `version` identify it in signatures and caches."""

    def __init__(self, model: Path, layout: DetectorLayout, *, name: str, version: str, threads: int = 1) -> None:
        self.name, self.version, self.layout = name, version, layout
        self.labels, self.threshold = layout.labels, layout.threshold
        # One image per run and one thread per run: several images at once use several cores best.
        self._workers = threads
        self._session = onnx.session(model, threads=1)
        inputs = self._session.get_inputs()
        if len(inputs) != 1:
            raise InputError(f"{model}: a detector takes one input, this file has {len(inputs)}")
        self._input = inputs[0]
        self._first, self._size = _geometry(self._input.shape, layout, str(model))
        wanted = [layout.rows] if layout.rows else [layout.scores, layout.boxes, layout.classes]
        self._outputs = [name for name in wanted if name]
        there = [output.name for output in self._session.get_outputs()]
        missing = [name for name in self._outputs if name not in there]
        if missing:
            raise InputError(f"{model}: no output named {', '.join(missing)}; its outputs: {', '.join(there)}")

    @classmethod
    def shipped(cls, *, threads: int = 1) -> Detector:
        """The detector inside the package."""
        meta = shipped.meta(SHIPPED)
        layout = DetectorLayout.read({key: meta[key] for key in ("labels", "size", "threshold")}, SHIPPED)
        model = shipped.path(SHIPPED, "detector.onnx")
        return cls(model, layout, name=meta["name"], version=meta["version"], threads=threads)

    @classmethod
    def open(cls, model: str | Path, *, threads: int = 1) -> Detector:
        """An ONNX file with its description (`.json`) or label list (`.txt`) beside it."""
        model = Path(model)
        layout = description(model)
        return cls(model, layout, name=model.stem, version=version(model), threads=threads)

    def detect(self, images: Sequence[Image], *, threshold: float | None = None) -> list[ImageObjects]:
        """The objects of each image, surest first."""
        level = self.threshold if threshold is None else threshold
        if self._workers == 1 or len(images) < 2:
            return [self._one(image, level) for image in images]
        with ThreadPoolExecutor(self._workers) as pool:
            return list(pool.map(lambda image: self._one(image, level), images))

    def _one(self, image: Image, threshold: float) -> ImageObjects:
        pixels, ratio = self._pixels(image)
        try:
            outputs = self._session.run(self._outputs, {self._input.name: pixels})
        except Exception as error:  # onnxruntime raises its own, unexported types
            raise VericapError(f"the detector {self.name} failed on an image ({error})") from error
        scores, boxes = self._decode([output[0] for output in outputs])
        width, height = image.size
        boxes /= np.array([*ratio, *ratio], dtype=np.float32)
        np.clip(boxes, 0, np.array([width, height] * 2), out=boxes)
        kept = select(scores, boxes, threshold=max(threshold, FLOOR), overlap=self.layout.overlap)
        found = [(self.labels[label], round(float(score), 4), _rounded(box)) for label, score, box in kept]
        return ImageObjects.of(found, (width, height))

    def _pixels(self, image: Image) -> tuple[Array, tuple[float, float]]:
        """The network's input, and input pixels per image pixel along x and y."""
        layout, (wide, high) = self.layout, self._size
        if layout.resize == "stretch":
            width, height = wide, high
        else:
            ratio = min(wide / image.width, high / image.height)
            width = min(wide, max(1, round(image.width * ratio)))
            height = min(high, max(1, round(image.height * ratio)))
        canvas = np.full((high, wide, 3), layout.pad, dtype=np.uint8)
        canvas[:height, :width] = resized(image, (width, height), BILINEAR)
        pixels: Array = canvas[..., ::-1] if layout.channels == "bgr" else canvas
        if self._input.type != "tensor(uint8)":
            mean, std = np.array(layout.mean, np.float32), np.array(layout.std, np.float32)
            pixels = (pixels.astype(np.float32) * np.float32(layout.scale) - mean) / std
            if self._input.type == "tensor(float16)":
                pixels = pixels.astype(np.float16)
        if self._first:
            pixels = pixels.transpose(2, 0, 1)
        return np.ascontiguousarray(pixels[None]), (width / image.width, height / image.height)

    def _decode(self, outputs: list[Any]) -> tuple[Floats32, Floats32]:
        """Outputs of one image -> scores (n, classes) and corner boxes x0 y0 x1 y1 in input pixels."""
        layout, count = self.layout, len(self.labels)
        if layout.rows:
            scores, boxes = _split_rows(outputs[0].astype(np.float32), count, layout)
        elif layout.classes:
            scores, boxes = _one_hot(outputs[0], outputs[2], count), outputs[1]
        else:
            scores, boxes = _activate(outputs[0].astype(np.float32), layout), outputs[1]
        if layout.background is not None and not layout.classes:
            scores = np.delete(scores, layout.background, axis=1)
        if scores.shape[1] != count:
            raise VericapError(f"the detector {self.name} scores {scores.shape[1]} classes, its labels are {count}")
        return scores, _corners(boxes.astype(np.float32), layout, self._size)


def _geometry(shape: Sequence[Any], layout: DetectorLayout, where: str) -> tuple[bool, tuple[int, int]]:
    """Whether channels come first, and the input's width and height."""
    if len(shape) != 4:
        raise InputError(f"{where}: the input has {len(shape)} dimensions, a detector takes images (4)")
    first = layout.layout == "nchw" or (layout.layout == "auto" and shape[1] == 3)
    high, wide = (shape[2], shape[3]) if first else (shape[1], shape[2])
    if layout.size is not None:
        return first, (int(layout.size[0]), int(layout.size[1]))
    if not isinstance(high, int) or not isinstance(wide, int):
        raise InputError(f"{where}: the input size is free; give 'size' in its description")
    return first, (wide, high)


def version(model: Path) -> str:
    """An ONNX detector by its content and its description: either moves what it finds."""
    return keys.content_key(repr(description(model)), _digest(model, stamp(model)))[:12]


@lru_cache(maxsize=8)
def _digest(model: Path, _: Stamp) -> str:
    return shipped.sha256(model)


def description(model: Path) -> DetectorLayout:
    """How to drive an ONNX detector, from the file beside it."""
    if not model.is_file():
        raise InputError(f"{model}: no such detector file")
    described, listed = model.with_suffix(".json"), model.with_suffix(".txt")
    try:
        if described.is_file():
            given = json.loads(described.read_text("utf-8-sig"))
            if not isinstance(given, dict):
                raise InputError(f"{described}: expected an object with 'labels'")
            return DetectorLayout.read(given, str(described))
        if listed.is_file():
            labels = [line.strip() for line in listed.read_text("utf-8-sig").splitlines() if line.strip()]
            return DetectorLayout.read({"labels": labels}, str(listed))
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"{model}: its description cannot be read ({error})") from error
    raise InputError(f"{model}: needs {described.name} (description) or {listed.name} (labels) beside it")


def _activate(scores: Floats32, layout: DetectorLayout) -> Floats32:
    if layout.activation == "sigmoid":
        return (1 / (1 + np.exp(-np.clip(scores, -60, 60)))).astype(np.float32)
    if layout.activation == "softmax":
        powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=-1, keepdims=True), dtype=np.float32)
    return scores


def _one_hot(scores: Any, classes: Any, count: int) -> Floats32:
    """One class number per box -> a row of scores; numbers outside the label list are dropped."""
    table = np.zeros((len(scores), count), dtype=np.float32)
    numbers = np.asarray(classes).astype(np.int64)
    rows = np.flatnonzero((numbers >= 0) & (numbers < count))
    table[rows, numbers[rows]] = np.asarray(scores)[rows]
    return table


def _split_rows(rows: Floats32, count: int, layout: DetectorLayout) -> tuple[Floats32, Floats32]:
    start = 5 if layout.objectness else 4
    extra = 0 if layout.background is None else 1
    if rows.shape[1] != start + count + extra and rows.shape[0] == start + count + extra:
        rows = rows.T
    scores = _activate(rows[:, start:], layout)
    return (scores * rows[:, 4:5] if layout.objectness else scores), rows[:, :4]


def _corners(boxes: Floats32, layout: DetectorLayout, size: tuple[int, int]) -> Floats32:
    if layout.box == "yxyx":
        boxes = boxes[:, [1, 0, 3, 2]]
    elif layout.box == "cxcywh":
        half = boxes[:, 2:] / 2
        boxes = np.concatenate([boxes[:, :2] - half, boxes[:, :2] + half], axis=1)
    unit = [*size, *size] if layout.relative else [1, 1, 1, 1]
    return np.multiply(boxes, np.array(unit, dtype=np.float32))


def select(
    scores: Floats32, boxes: Floats32, *, threshold: float, overlap: float | None, limit: int = LIMIT
) -> list[tuple[int, float, Floats32]]:
    """Boxes of each class that are sure enough and not a weaker view of a surer one: (class, score, box)."""
    rows, classes = np.nonzero(scores >= threshold)
    values = scores[rows, classes]
    order = np.argsort(-values, kind="stable")
    rows, classes, values = rows[order], classes[order], values[order]
    kept: list[tuple[int, float, Floats32]] = []
    gone = np.zeros(len(rows), dtype=bool)
    for place, (row, label) in enumerate(zip(rows, classes)):
        if gone[place]:
            continue
        kept.append((int(label), float(values[place]), boxes[row]))
        if len(kept) == limit:
            break
        if overlap is not None:
            same = classes == label
            gone[same] |= intersection_over_union(boxes[row], boxes[rows[same]]) > overlap
    return kept


def intersection_over_union(box: Floats32, others: Floats32) -> Floats32:
    """Share of the union of two boxes that both cover; 0 for boxes without area."""
    low, high = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:])
    common = np.prod(np.clip(high - low, 0, None), axis=1)
    area = np.prod(np.clip(others[:, 2:] - others[:, :2], 0, None), axis=1)
    total = float(np.prod(np.clip(box[2:] - box[:2], 0, None))) + area - common
    return np.asarray(np.divide(common, total, out=np.zeros_like(common), where=total > 0))


def _rounded(box: Floats32) -> Box:
    x0, y0, x1, y1 = (round(float(value), 1) for value in box)
    return x0, y0, x1, y1
