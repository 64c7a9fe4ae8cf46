"""Detectors by the text that names them: `detector`, `model.onnx`, `hub/NAME`, each with `@threshold`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from vericap.core import shipped
from vericap.core.errors import VericapError
from vericap.vision import hub_detector
from vericap.vision.detector import SHIPPED, Detector, description, version
from vericap.vision.objects import ImageObjects

if TYPE_CHECKING:
    from PIL.Image import Image

_HUB = "hub/"


class Detects(Protocol):
    """What a detector must offer to be a source."""

    name: str
    version: str
    threshold: float

    def detect(self, images: Sequence[Image], *, threshold: float | None = None) -> list[ImageObjects]: ...


def detector_spec(spec: str) -> tuple[str, float | None] | None:
    """`model@threshold` -> model and threshold; None when the text names no detector."""
    model, sign, level = spec.rpartition("@")
    if not sign or not re.fullmatch(r"[0-9.]+", level):
        model, level = spec, ""
    if model != SHIPPED and not model.lower().endswith(".onnx") and not model.startswith(_HUB):
        return None
    if not level:
        return model, None
    try:
        threshold = float(level)
    except ValueError:
        threshold = -1.0
    if not 0 <= threshold <= 1:
        raise VericapError(f"the detector's threshold '{level}' is not between 0 and 1")
    return model, threshold


def open_detector(model: str, *, threads: int = 1) -> Detects:
    """`detector`, `path.onnx`, or `hub/NAME` (a hub name or a local folder)."""
    if model == SHIPPED:
        return Detector.shipped(threads=threads)
    if model.startswith(_HUB):
        return hub_detector.HubDetector(model.removeprefix(_HUB))
    return Detector.open(model, threads=threads)


def detector_name(model: str) -> str:
    """Name and version, from the files beside the network."""
    if model == SHIPPED:
        meta = shipped.meta(SHIPPED)
        return f"{meta['name']}/{meta['version']}"
    if model.startswith(_HUB):
        name = model.removeprefix(_HUB)
        return f"{Path(name).name}/{hub_detector.version(name)}"
    return f"{Path(model).stem}/{version(Path(model))}"


def detector_threshold(model: str) -> float:
    """The detector's own threshold."""
    if model == SHIPPED:
        return float(shipped.meta(SHIPPED)["threshold"])
    return hub_detector.THRESHOLD if model.startswith(_HUB) else description(Path(model)).threshold
