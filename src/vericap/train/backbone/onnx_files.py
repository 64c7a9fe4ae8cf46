"""The backbone as ONNX files: written in float32 or with 8-bit arithmetic, joined, and taken apart again."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from vericap.core.errors import VericapError
from vericap.core.typing import Floats32
from vericap.train.backbone.lite import CUT, Layer, LiteNetwork, ResidualBlock, padding

_UPPER = "upper/"  # before the names of the upper part in a joined file


def export(network: LiteNetwork, file: str | Path, *, first: int = 0, last: int | None = None) -> None:
    """Write blocks first..last as ONNX in float32 (stem before block 0, head after the last one)."""
    import onnx

    graph = _OnnxGraph()
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


def with_upper(network: LiteNetwork, file: str | Path) -> LiteNetwork:
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
        ResidualBlock(block.stride, layer(f"block{n}.expand"), layer(f"block{n}.depthwise"), layer(f"block{n}.project"))
        for n, block in enumerate(network.blocks[CUT:], CUT)
    ]
    return LiteNetwork(network.stem, network.blocks[:CUT] + trained, layer("head"), source=network.source)


def quantised(
    network: LiteNetwork, file: str | Path, examples: Sequence[Floats32], *, first: int = 0, last: int | None = CUT
) -> None:
    """Write blocks first..last (the frozen ones) with 8-bit arithmetic, ranges taken from example inputs: about half
    the time.

    What learns from these blocks learns from what they give, so that little is lost to the rounding.
    """
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

    class Examples(CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            self._left = iter(examples)

        def get_next(self) -> dict[str, Floats32] | None:
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


class _OnnxGraph:
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

    def block(self, value: str, name: str, block: ResidualBlock) -> str:
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
