"""CLIP-like dual encoders a user has on disk, as an ONNX pair or a transformers folder.

ONNX pair: `image.onnx` (pixels (n, 3, s, s) -> vectors), `text.onnx` (input_ids, attention_mask -> vectors),
`tokenizer.json`, and `preprocessor_config.json` (size or crop_size, image_mean, image_std) as published with CLIP.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from vericap.core import onnx, shipped
from vericap.core.errors import InputError, require
from vericap.core.keys import content_key
from vericap.core.typing import Floats32

if TYPE_CHECKING:
    from PIL.Image import Image

LENGTH = 77  # word pieces CLIP reads


class DualEncoder(Protocol):
    """Images and texts into one space, unit vectors."""

    def image(self, image: Image) -> Floats32: ...

    def texts(self, texts: list[str]) -> Floats32: ...


def unit(vectors: Any) -> Floats32:
    values = np.asarray(vectors, dtype=np.float32)
    return np.asarray(values / np.maximum(np.linalg.norm(values, axis=-1, keepdims=True), 1e-12), dtype=np.float32)


def load(folder: str, *, threads: int = 1) -> DualEncoder:
    """The dual encoder in a folder."""
    root = _checked(folder)
    return OnnxPair(root, threads) if _is_pair(root) else TransformersPair(root)


def name(folder: str) -> str:
    """Name of a dual encoder, for signatures: that of its folder. Nothing is opened."""
    return Path(folder).resolve().name if folder else ""


def digest(folder: str) -> str:
    """A name of everything a folder's files hold: other weights have another one."""
    files = [file for file in sorted(_checked(folder).iterdir()) if file.is_file()]
    return content_key(*(part for file in files for part in (file.name, shipped.sha256(file))))


def stamp(folder: str) -> tuple[tuple[str, int, int], ...]:
    """Name, size and time of a folder's files: while they stay, so does the digest."""
    files = [file for file in sorted(_checked(folder).iterdir()) if file.is_file()]
    return tuple((file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files)


def _checked(folder: str) -> Path:
    if not folder:
        raise InputError(
            "clipscore needs a CLIP-like model: clipscore:model=FOLDER (an ONNX pair or a transformers folder); "
            "`vse` is the shipped encoder that needs none"
        )
    root = Path(folder)
    if not _is_pair(root) and not (root / "config.json").is_file():
        raise InputError(f"{folder} holds neither image.onnx + text.onnx nor a transformers model (config.json)")
    return root


def _is_pair(root: Path) -> bool:
    return (root / "image.onnx").is_file() and (root / "text.onnx").is_file()


class OnnxPair:
    """Two ONNX files and a tokenizer."""

    def __init__(self, folder: Path, threads: int = 1) -> None:
        from tokenizers import Tokenizer

        try:
            config = json.loads((folder / "preprocessor_config.json").read_text("utf-8"))
            self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        except Exception as error:  # tokenizers raises plain Exception
            raise InputError(f"{folder}: {error}; an ONNX pair needs both JSON files of the model") from error
        self._tokenizer.enable_truncation(LENGTH)
        self._tokenizer.enable_padding()
        self._size, self._mean, self._deviation = preprocessing(config)
        self._image = onnx.session(folder / "image.onnx", threads=threads)
        self._text = onnx.session(folder / "text.onnx", threads=threads)

    def image(self, image: Image) -> Floats32:
        values = prepared(image, self._size, self._mean, self._deviation)
        return unit(self._image.run(None, {self._image.get_inputs()[0].name: values})[0])[0]

    def texts(self, texts: list[str]) -> Floats32:
        names = {item.name for item in self._text.get_inputs()}
        rows = []
        for start in range(0, len(texts), 64):
            batch = self._tokenizer.encode_batch(texts[start : start + 64])
            given = {
                "input_ids": np.array([item.ids for item in batch], dtype=np.int64),
                "attention_mask": np.array([item.attention_mask for item in batch], dtype=np.int64),
            }
            rows.append(self._text.run(None, {k: v for k, v in given.items() if k in names})[0])
        return unit(np.concatenate(rows))


class TransformersPair:
    """A CLIP-like model saved by transformers; needs the group `hub`."""

    def __init__(self, folder: Path) -> None:
        transformers = require("transformers", "hub", "a CLIP model in a transformers folder")
        self._torch = require("torch", "hub", "a CLIP model in a transformers folder")
        try:
            self._model = transformers.AutoModel.from_pretrained(
                folder, use_safetensors=True, local_files_only=True
            ).eval()
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        except (OSError, ValueError) as error:
            raise InputError(f"{folder} is not a model transformers can open ({error})") from error
        config = json.loads((folder / "preprocessor_config.json").read_text("utf-8"))
        self._size, self._mean, self._deviation = preprocessing(config)

    def image(self, image: Image) -> Floats32:
        values = prepared(image, self._size, self._mean, self._deviation)
        with self._torch.no_grad():
            found = self._model.get_image_features(pixel_values=self._torch.from_numpy(values))
        return unit(_vectors(found))[0]

    def texts(self, texts: list[str]) -> Floats32:
        rows = []
        for start in range(0, len(texts), 64):
            given = self._tokenizer(
                texts[start : start + 64],
                padding=True,
                truncation=True,
                max_length=LENGTH,
                return_tensors="pt",
            )
            with self._torch.no_grad():
                rows.append(_vectors(self._model.get_text_features(**given)))
        return unit(np.concatenate(rows))


def _vectors(found: Any) -> Floats32:
    """Projected vectors of either form transformers returns."""
    found = getattr(found, "pooler_output", found)
    return np.asarray(found.numpy(), dtype=np.float32)


def preprocessing(config: dict[str, Any]) -> tuple[int, Floats32, Floats32]:
    """Side of the square, mean and deviation of a preprocessor_config.json."""
    size = config.get("crop_size") or config.get("size") or 224
    if isinstance(size, dict):
        size = size.get("height") or size.get("shortest_edge") or 224
    mean = config.get("image_mean", [0.48145466, 0.4578275, 0.40821073])
    deviation = config.get("image_std", [0.26862954, 0.26130258, 0.27577711])
    return int(size), np.array(mean, dtype=np.float32), np.array(deviation, dtype=np.float32)


def prepared(image: Image, size: int, mean: Floats32, deviation: Floats32) -> Floats32:
    """Shorter side to `size`, centre square, standardised: (1, 3, size, size)."""
    from PIL import Image as pil

    width, height = image.size
    scale = size / min(width, height)
    image = image.resize((max(size, round(width * scale)), max(size, round(height * scale))), pil.Resampling.BICUBIC)
    left, top = (image.width - size) // 2, (image.height - size) // 2
    values = np.asarray(image.crop((left, top, left + size, top + size)), dtype=np.float32) / 255.0
    return np.ascontiguousarray(((values - mean) / deviation).transpose(2, 0, 1)[None], dtype=np.float32)
