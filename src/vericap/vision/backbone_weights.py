"""The backbone's weights as its kernel (`native/backbone.c`) takes them: packed by vectors, with a plan of layers."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vericap.core.onnx_file import OnnxFile
from vericap.core.typing import Array, Floats32, Ints32

_UPPER = "upper/"  # before the names of the trained blocks, which `vericap train backbone` joins to the frozen ones
_LARGEST = 64  # of a weight: two products must fit into 16 bits together
_FOUR = 4  # products that one instruction adds up


class OtherNetworkError(Exception):
    """The file holds a network that the kernel does not know."""


@dataclass(frozen=True)
class BlockShape:
    """Channels of one block, and its depthwise convolution."""

    hidden: int
    out: int
    kernel: int
    stride: int


@dataclass(frozen=True)
class BackboneWeights:
    """What the kernel is given, and what decides the sizes of its maps."""

    plan: Ints32
    weights: Array
    numbers: Array
    stem: int
    blocks: list[BlockShape]
    seam: int  # blocks below the seam of the frozen and the trained ones
    head: int


def packed(file: OnnxFile, lanes: int) -> BackboneWeights:
    """The weights of a backbone that `vericap train backbone` wrote, for vectors of so many outputs."""
    try:
        return _Packer(file, lanes).network()
    except (KeyError, ValueError) as error:
        raise OtherNetworkError(str(error)) from error


def pointwise(weights: Array, lanes: int) -> Array:
    """(outputs, inputs): groups of up to four vectors of outputs; in a group, four inputs of each of its outputs."""
    outputs, inputs = weights.shape
    vectors, most = -(-outputs // lanes), 4 if lanes == 16 else 2
    groups = -(-vectors // most)
    rows = np.zeros((vectors * lanes, -(-inputs // _FOUR) * _FOUR), dtype=np.int8)
    rows[:outputs, :inputs] = weights
    sizes = [vectors // groups + (group < vectors % groups) for group in range(groups)]
    parts = np.split(rows.reshape(vectors, lanes, -1, _FOUR), np.cumsum(sizes)[:-1])
    return np.concatenate([part.transpose(2, 0, 1, 3).ravel() for part in parts])


def depthwise(weights: Array) -> Array:
    """(channels, k, k): 32 channels together, in the order in which the kernel interleaves four neighbours."""
    channels, kernel, _ = weights.shape
    fours = -(-kernel // _FOUR)
    rows = np.zeros((-(-channels // 32) * 32, kernel, fours * _FOUR), dtype=np.int8)
    rows[:channels, :, :kernel] = weights
    return rows.reshape(-1, 2, 4, 4, kernel, fours, _FOUR).transpose(0, 2, 4, 5, 1, 3, 6).ravel()


def interleaved(values: Array) -> Array:
    """Values of channels in the order of `depthwise`."""
    rows = np.zeros(-(-len(values) // 32) * 32, dtype=values.dtype)
    rows[: len(values)] = values
    return rows.reshape(-1, 2, 4, 4).transpose(0, 2, 1, 3).ravel()


def _padded(values: Array, lanes: int) -> Array:
    return np.concatenate([values, np.zeros(-len(values) % lanes, dtype=values.dtype)])


@dataclass(frozen=True)
class _Activation:
    """Bytes stand for (byte - zero) * scale."""

    scale: np.float32
    zero: int


class _Packer:
    """Reads layers by their names and lays their constants one behind the other."""

    def __init__(self, file: OnnxFile, lanes: int) -> None:
        self.constants: Mapping[str, Any] = file.constants
        self.lanes = lanes
        self.convolutions = {node.outputs[0].split("_")[0]: node.numbers for node in file.nodes if node.kind == "Conv"}
        self.weights: list[Array] = []
        self.numbers: list[Array] = []

    def network(self) -> BackboneWeights:
        names = self._blocks()
        x = self._activation("x")
        if x != _Activation(np.float32(1 / 128), 127):
            raise ValueError("its input is not rounded to pixels")
        stem, value = self._pointwise("stem", x, "stem.active")
        self._join(names)
        seam = sum(not name.startswith(_UPPER) for name in names)
        shapes, plan, values = [], [], []
        for name in names:
            shape, row, value = self._block(name, value)
            shapes.append(shape)
            plan.append(row)
            values.append(value)
        head, value = self._pointwise(f"{_UPPER}head", value, f"{_UPPER}head.active")
        maps = value, values[seam - 1], values[-1]
        ends = [number for one in maps for number in (one.scale, np.float32(one.zero))]
        start = [len(names), seam, x.zero, self._keep(self.numbers, np.array(ends, np.float32), np.int32), *stem, *head]
        rows = np.array(start + [number for row in plan for number in row], dtype=np.int32)
        weights, numbers = _aligned(np.concatenate(self.weights)), _aligned(np.concatenate(self.numbers))
        return BackboneWeights(rows, weights, numbers, stem[1], shapes, seam, head[1])

    def _blocks(self) -> list[str]:
        """Names of the blocks in order."""
        found = {name.split(".")[0]: None for name in self.convolutions if "block" in name}
        return sorted(found, key=lambda name: int(name.removeprefix(_UPPER).removeprefix("block")))

    def _join(self, names: list[str]) -> None:
        """One scale at the seam of the frozen and the trained blocks, rounded apart: ONNX Runtime joins both too."""
        below = next(name for name in reversed(names) if not name.startswith(_UPPER))
        value = f"{below}.sum" if f"{below}.sum_scale" in self.constants else f"{below}.project"
        joined = _joined(self._activation(value), self._activation(f"{_UPPER}x"))
        own: dict[str, Any] = {f"{value}_scale": joined.scale, f"{value}_zero_point": joined.zero}
        self.constants = ChainMap(own, self.constants)  # type: ignore[arg-type]  # read only

    def _block(self, name: str, given: _Activation) -> tuple[BlockShape, list[int], _Activation]:
        """A block's row of the plan; `given` is what it reads."""
        expand, value = [0] * 6, given
        if expands := f"{name}.expand.active" in self.convolutions:
            expand, value = self._pointwise(f"{name}.expand", value, f"{name}.expand.active")
        spread, value = self._depthwise(f"{name}.depthwise", value, f"{name}.depthwise.active")
        project, value = self._pointwise(f"{name}.project", value, f"{name}.project")
        skips, sums = f"{name}.sum_scale" in self.constants, 0
        if skips:
            own, value = value, self._activation(f"{name}.sum")
            sums = self._keep(self.numbers, _sum(given, own, value), np.int32)
        shape = self.constants[f"{name}.depthwise.weight_quantized"].shape
        numbers = self.convolutions[f"{name}.depthwise.active"]
        kernel, stride, pad = shape[2], numbers["strides"][0], numbers["pads"][0]
        row = [*expand, *spread, *project, kernel, stride, pad, int(expands), int(skips), sums]
        return BlockShape(spread[1], project[1], kernel, stride), row, value

    def _pointwise(self, name: str, given: _Activation, output: str) -> tuple[list[int], _Activation]:
        values = self._rounded(name)
        weights = values.transpose(0, 2, 3, 1).reshape(len(values), -1)  # the stem's in the order of its patches
        made = self._activation(output)
        bias, scale = self._bias(name, weights, given), self._scale(name, given, made)
        row = [
            -(-weights.shape[1] // _FOUR) * _FOUR,
            len(weights),
            made.zero,
            self._keep(self.weights, pointwise(weights, self.lanes), np.uint8),
            self._keep(self.numbers, _padded(bias, self.lanes), np.int32),
            self._keep(self.numbers, _padded(scale, self.lanes), np.int32),
        ]
        return row, made

    def _depthwise(self, name: str, given: _Activation, output: str) -> tuple[list[int], _Activation]:
        weights = self._rounded(name)[:, 0]
        made = self._activation(output)
        if given.zero or weights.shape[1] not in (3, 5):
            raise ValueError(f"{name} is another kind of convolution")
        row = [
            1,
            len(weights),
            made.zero,
            self._keep(self.weights, depthwise(weights), np.uint8),
            self._keep(self.numbers, interleaved(self._bias(name, weights, given)), np.int32),
            self._keep(self.numbers, interleaved(self._scale(name, given, made)), np.int32),
        ]
        return row, made

    def _activation(self, name: str) -> _Activation:
        return _Activation(np.float32(self.constants[f"{name}_scale"]), int(self.constants[f"{name}_zero_point"]))

    def _rounded(self, name: str) -> Array:
        values = self.constants[f"{name}.weight_quantized"]
        if values.dtype != np.int8 or np.abs(values.astype(np.int16)).max() > _LARGEST:
            raise ValueError(f"{name} has weights of more than 7 bits")
        return values

    def _bias(self, name: str, weights: Array, given: _Activation) -> Array:
        """The bias, less what the zero point of the input adds to every sum; sums may wrap, as in ONNX Runtime."""
        shift = given.zero * weights.reshape(len(weights), -1).sum(axis=1, dtype=np.int64)
        return np.asarray(self.constants[f"{name}.bias_quantized"] - shift).astype(np.int32)

    def _scale(self, name: str, given: _Activation, made: _Activation) -> Floats32:
        scale: Floats32 = given.scale * self.constants[f"{name}.weight_scale"] / made.scale
        return scale

    def _keep(self, where: list[Array], values: Array, kind: type) -> int:
        """Keep constants; where they begin."""
        place = sum(item.size for item in where)
        where.append(np.ascontiguousarray(values).view(kind).ravel())
        return place


def _aligned(values: Array) -> Array:
    """The values from the beginning of a cache line: vectors that lie across two lines are loaded at half the speed."""
    room = np.empty(values.nbytes + 64, dtype=np.uint8)
    start = -room.ctypes.data % 64
    found = room[start : start + values.nbytes].view(values.dtype)
    found[:] = values
    return found


def _sum(skipped: _Activation, own: _Activation, made: _Activation) -> Floats32:
    """Factors of both terms of a sum, and what is added."""
    first, second = skipped.scale / made.scale, own.scale / made.scale
    fixed = np.float32(made.zero) - (first * np.float32(skipped.zero) + second * np.float32(own.zero))
    return np.array([first, second, fixed], dtype=np.float32)


def _joined(first: _Activation, second: _Activation) -> _Activation:
    """One rounding in place of two, of the range that both can write, as DoubleQDQPairsRemover of ONNX Runtime does."""
    if first == second:
        return first
    low = max(np.float32(0 - one.zero) * one.scale for one in (first, second))
    high = min(np.float32(255 - one.zero) * one.scale for one in (first, second))
    scale = np.float32((high - low) / np.float32(255))
    return _Activation(scale, int(np.floor(-low / scale + np.float32(0.5))))


def sizes(network: BackboneWeights, side: int) -> Sequence[int]:
    """Bytes of the kernel's room: maps before and after a depthwise convolution, scratch, maps between blocks."""
    here = side // 2
    before, after, scratch, between = 0, 0, 28 * here, here * here * _up(network.stem, 16)
    for block in network.blocks:
        there, hidden = here // block.stride, _up(block.hidden, 32)
        row = 128 * (there + 4)
        before, after = max(before, here * here * hidden), max(after, there * there * hidden)
        scratch = max(scratch, 128 * there + row * (block.kernel + 1))
        between = max(between, there * there * _up(block.out, 16))
        here = there
    before = max(before, here * here * _up(network.head, 16))
    return [_up(size, 64) for size in (before, after, scratch, between)]


def _up(count: int, to: int) -> int:
    return -(-count // to) * to
