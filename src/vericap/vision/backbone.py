"""The image backbone: pixels -> feature maps, by a kernel of ours or by ONNX Runtime.

Both read the same ONNX file, an EfficientNet-lite in 8-bit arithmetic as `vericap train backbone` writes it. The kernel
(`native/backbone.c`) makes the same sums in less time and opens at once; ONNX Runtime serves where it was not built,
where the processor has no AVX2, for other networks, and where VERICAP_PROVIDERS names a device.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from threading import local
from types import ModuleType
from typing import Any, Protocol

import numpy as np

from vericap.core import onnx
from vericap.core.onnx_file import OnnxFile
from vericap.core.typing import Array, Floats32
from vericap.native import load
from vericap.vision.backbone_weights import BackboneWeights, OtherNetworkError, packed, sizes

STRIDE = 32  # of the last map; the side of the input is a multiple of it
SMALLEST = 128  # side for the kernel, which takes a dozen pixels of a map together
INNER = {  # maps that are read out on the way, and their names in the ONNX file
    "middle": "upper/x_DequantizeLinear_Output",  # after the frozen blocks: stride 16, 120 channels
    "last": "upper/block20.project_DequantizeLinear_Output",  # before the head: stride 32, 352 channels
}


class Backbone(Protocol):
    """Feature maps of photos."""

    def maps(self, pixels: Array, inner: Sequence[str] = ()) -> list[Floats32]:
        """The last map, then the `inner` ones asked for ("middle", "last"), each (height, width, channels).

        `pixels` are (side, side, 3), 8 bits each; the side is a multiple of 32.
        """


def open_backbone(file: Path, *, side: int) -> Backbone:
    """The backbone in an ONNX file for inputs of this side, by the kernel where it can run."""
    kernel = load("backbone")
    if side >= SMALLEST and kernel is not None and kernel.lanes() and "VERICAP_PROVIDERS" not in os.environ:
        try:
            return KernelBackbone(file, kernel)
        except (OtherNetworkError, ValueError):
            pass  # ONNX Runtime knows it, or says what is wrong with it
    return OnnxBackbone(file)


class KernelBackbone:
    """The compiled kernel. Threads may share it."""

    def __init__(self, file: Path, kernel: ModuleType, *, lanes: int | None = None) -> None:
        onnx.opened.append(file)
        self._kernel = kernel
        self._lanes: int = lanes or kernel.lanes()
        self.network: BackboneWeights = packed(OnnxFile.read(file), self._lanes)
        self._room = local()  # each thread has its own

    def maps(self, pixels: Array, inner: Sequence[str] = ()) -> list[Floats32]:
        side = len(pixels)
        found = self._made(side)
        none = np.empty(0, dtype=np.float32)
        wanted = [found[name] if name in inner else none for name in INNER]
        self._kernel.run(
            self._lanes, self.network.plan, self.network.weights, self.network.numbers,
            np.ascontiguousarray(pixels), side, *self._space(side), found[""], *wanted,
        )  # fmt: skip
        return [found[name] for name in ("", *inner)]

    def _made(self, side: int) -> dict[str, Floats32]:
        """Empty maps of the sizes the network gives."""
        blocks, seam = self.network.blocks, self.network.seam
        shapes = {"": (side // STRIDE, self.network.head), "last": (side // STRIDE, blocks[-1].out)}
        shapes["middle"] = (side // 2 // int(np.prod([block.stride for block in blocks[:seam]])), blocks[seam - 1].out)
        return {name: np.empty((here, here, width), dtype=np.float32) for name, (here, width) in shapes.items()}

    def _space(self, side: int) -> tuple[Array, Sequence[int]]:
        """Room for the maps between layers, kept from photo to photo: fresh memory would cost as much as a layer."""
        if getattr(self._room, "side", None) != side:
            parts = tuple(sizes(self.network, side))
            self._room.held = np.zeros(64 + sum(parts) + parts[-1], dtype=np.uint8), parts
            self._room.side = side
        held: tuple[Array, Sequence[int]] = self._room.held
        return held


class OnnxBackbone:
    """ONNX Runtime: any network whose input `x` is (n, 3, side, side), `normalised`. Threads may share it."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._sessions: dict[tuple[str, ...], Any] = {}

    def maps(self, pixels: Array, inner: Sequence[str] = ()) -> list[Floats32]:
        names = tuple(INNER[name] for name in inner)
        if names not in self._sessions:
            self._sessions[names] = onnx.session(self._file, outputs=names)
        found = self._sessions[names].run(None, {"x": normalised(pixels)})
        return [np.asarray(one[0].transpose(1, 2, 0), dtype=np.float32) for one in found]


def normalised(pixels: Array) -> Floats32:
    """Pixels (side, side, 3) in the range the backbone was trained with: (1, 3, side, side)."""
    found = np.empty((1, 3, *pixels.shape[:2]), dtype=np.float32)
    np.subtract(pixels.transpose(2, 0, 1), np.float32(127.0), out=found[0])  # no copy in between
    found *= 1 / 128
    return found
