"""Backbones from a model hub or a local folder, through transformers (group `hub`): ViT, DINO, CLIP, ResNet, ..."""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vericap.core.errors import VericapError, require
from vericap.core.typing import Floats32
from vericap.vision.hub_detector import weights_version

if TYPE_CHECKING:
    from PIL.Image import Image

PREFIX = "hub:"
_EXTRA = 16  # class and register tokens before the patches, at most


class HubBackbone:
    """The feature map of any image model transformers opens: its patches, or its last convolution's output."""

    def __init__(self, model: str, *, size: int | None = None, threads: int = 1) -> None:
        self._torch = require("torch", "hub", "a hub backbone")
        transformers = require("transformers", "hub", "a hub backbone")
        try:
            processor = transformers.AutoImageProcessor.from_pretrained(model, local_files_only=True)
            # Weights are read from safetensors alone: other formats may carry code.
            whole = transformers.AutoModel.from_pretrained(model, use_safetensors=True, local_files_only=True).eval()
        except (OSError, ValueError, ImportError, KeyError) as error:
            raise VericapError(
                f"'{model}' cannot be opened as a hub backbone ({str(error).splitlines()[0]}); give a folder with "
                f"config, weights and preprocessor, or fetch a model of the hub first: hf download {model}"
            ) from error
        self._torch.set_num_threads(threads)
        self._model = getattr(whole, "vision_model", whole)  # the image half of CLIP and its kin
        self.name = Path(model).name
        config = whole.config
        self.version = str(getattr(config, "_commit_hash", None) or "") or weights_version(Path(model), config)
        self._config = getattr(config, "vision_config", config)
        own = getattr(self._config, "image_size", None) or _side(processor.size)
        self.size = size or int(own)
        self._mean = np.array(processor.image_mean, dtype=np.float32)
        self._deviation = np.array(processor.image_std, dtype=np.float32)
        # Positions of another number of patches are interpolated, where the model can.
        accepts = signature(self._model.forward).parameters
        resized = self.size != getattr(self._config, "image_size", self.size)
        self._given = {"interpolate_pos_encoding": True} if resized and "interpolate_pos_encoding" in accepts else {}

    def map(self, image: Image) -> Floats32:
        """(height, width, d) of one image, squeezed to a square so that windows cover all of it."""
        from PIL import Image as pil

        square = image.convert("RGB").resize((self.size, self.size), pil.Resampling.BICUBIC)
        values = (np.asarray(square, dtype=np.float32) / 255.0 - self._mean) / self._deviation
        pixels = self._torch.from_numpy(np.ascontiguousarray(values.transpose(2, 0, 1)[None]))
        with self._torch.inference_mode():
            found = self._model(pixel_values=pixels, **self._given).last_hidden_state
        return self._grid(np.asarray(found[0].float().numpy(), dtype=np.float32))

    def _grid(self, found: Floats32) -> Floats32:
        if found.ndim == 3:  # (d, height, width) of a convolution
            return np.ascontiguousarray(found.transpose(1, 2, 0))
        tokens = len(found)
        patch = getattr(self._config, "patch_size", None)
        side = self.size // int(patch) if isinstance(patch, int) else 0
        if not side or not 0 <= tokens - side * side <= _EXTRA:
            side = int(tokens**0.5)  # stages that join patches, as in Swin
        if side < 1 or tokens - side * side > _EXTRA:
            raise VericapError(f"the {tokens} tokens of '{self.name}' are not a square of patches")
        return found[tokens - side * side :].reshape(side, side, -1)


def _side(size: Any) -> int:
    """The side a preprocessor brings images to."""
    if isinstance(size, int):
        return size
    found = dict(size)
    return int(found.get("height") or found.get("shortest_edge") or 224)
