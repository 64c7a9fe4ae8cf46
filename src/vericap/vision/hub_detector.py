"""Detectors from a model hub or a local folder, through transformers (group `hub`)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vericap.core import shipped
from vericap.core.errors import VericapError, require
from vericap.vision.detector import FLOOR, LIMIT
from vericap.vision.objects import ImageObjects, Instance
from vericap.vision.stamp import Stamp, stamp

if TYPE_CHECKING:
    from PIL.Image import Image

THRESHOLD = 0.5  # objects less sure are left out where no other threshold is asked for


class HubDetector:
    """Any model transformers opens as an object detector (DETR, YOLOS, RT-DETR, ...)."""

    def __init__(self, model: str, *, threshold: float = THRESHOLD) -> None:
        self._torch = require("torch", "hub", "a hub detector")
        self._processor = _open(model, "AutoImageProcessor")
        # Weights are read from safetensors alone: other formats may carry code.
        self._model = _open(model, "AutoModelForObjectDetection", use_safetensors=True).eval()
        config = self._model.config
        self.name, self.version = Path(model).name, version(model)
        self.threshold = threshold
        self.labels = tuple(str(config.id2label[number]) for number in sorted(config.id2label))
        self._names: dict[int, str] = {int(number): str(label) for number, label in config.id2label.items()}

    def detect(self, images: Sequence[Image], *, threshold: float | None = None) -> list[ImageObjects]:
        """The objects of each image, surest first."""
        level = max(FLOOR, self.threshold if threshold is None else threshold)
        return [self._one(image, level) for image in images]

    def _one(self, image: Image, level: float) -> ImageObjects:
        inputs = self._processor(images=image, return_tensors="pt")
        with self._torch.inference_mode():
            outputs = self._model(**inputs)
        sizes = self._torch.tensor([[image.height, image.width]])
        found: dict[str, Any] = self._processor.post_process_object_detection(
            outputs, threshold=level, target_sizes=sizes
        )[0]
        rows: list[Instance] = []
        for label, score, box in zip(found["labels"].tolist(), found["scores"].tolist(), found["boxes"].tolist()):
            x0, x1 = (round(min(max(v, 0.0), float(image.width)), 1) for v in (box[0], box[2]))
            y0, y1 = (round(min(max(v, 0.0), float(image.height)), 1) for v in (box[1], box[3]))
            name = self._names.get(int(label), "")
            if name and name.upper() not in ("N/A", "NO OBJECT"):
                rows.append((name, round(score, 4), (x0, y0, x1, y1)))
        rows.sort(key=lambda row: -(row[1] or 0.0))
        return ImageObjects.of(rows[:LIMIT], image.size)


def version(model: str) -> str:
    """The commit of a hub's model; of a local folder a digest of its configuration and weights. Opens no network."""
    return _version(model, stamp(Path(model)))


@lru_cache(maxsize=8)
def _version(model: str, _: Stamp) -> str:
    config = _open(model, "AutoConfig")
    return str(getattr(config, "_commit_hash", None) or "") or weights_version(Path(model), config)


def _open(model: str, kind: str, **options: Any) -> Any:
    """What a class of transformers reads from a model, or why it cannot."""
    transformers = require("transformers", "hub", "a hub detector")
    try:
        return getattr(transformers, kind).from_pretrained(model, local_files_only=True, **options)
    except (OSError, ValueError, ImportError, KeyError) as error:
        raise VericapError(
            f"'{model}' cannot be opened as a hub detector ({str(error).splitlines()[0]}); give a folder with "
            f"config, weights and preprocessor, or fetch a detector of the hub first: hf download {model}"
        ) from error


def weights_version(folder: Path, config: Any) -> str:
    """The version of a local folder: its configuration and weight files."""
    digest = hashlib.sha256(config.to_json_string().encode())
    for file in sorted(folder.glob("*.safetensors")) if folder.is_dir() else ():
        digest.update(bytes.fromhex(shipped.sha256(file)))
    return digest.hexdigest()[:12]
