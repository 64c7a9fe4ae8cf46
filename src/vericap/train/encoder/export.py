"""Write a trained caption encoder as files that need no torch: encoder.onnx, encoder.safetensors, means, meta.json.

Activations have ranges that are measured once, on training captions, and weights keep 7 of 8 bits: integer products are
exact on every processor, and a text's vector does not depend on its company. (gte-small measures the range of every
word piece as it runs; in a network this small that takes a fifth of the time.)
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import save_file
from torch import nn

from vericap.core import shipped
from vericap.core.typing import Array
from vericap.text.encoders.captions import KIND, CaptionEncoder, Pieces
from vericap.train.encoder.data import groups
from vericap.train.encoder.network import WIDTH, EncoderModule, Layer

MS = "com.microsoft"
_LIMIT = 63  # 7 bits: 16-bit sums of processors without VNNI never saturate
_TABLE_LIMIT = 127
_MEASURED = 1000  # captions on which ranges of activations are measured
_UNUSED = range(104, 999)  # pieces of the vocabulary that stand for nothing: [unused99] to [unused993]
_OUTSIDE = 20_000  # one activation in so many is cut off

Spans = dict[str, tuple[float, float]]


def write(
    model: EncoderModule,
    folder: Path,
    *,
    captions: Sequence[Sequence[str]],
    phrases: Sequence[str],
    describe: Mapping[str, Any],
) -> CaptionEncoder:
    """The model's folder. `captions` are sources of training captions that weigh the same in the caption mean."""
    folder.mkdir(parents=True, exist_ok=True)
    model.eval()
    pieces = Pieces(shipped.path("encoder", "tokenizer.json"))
    given = [text for part in captions for text in part[: _MEASURED // len(captions)]]
    onnx.save(build(model, pieces.ids(given)), str(folder / "encoder.onnx"))
    head = {"state.weight": array(model.state.weight.T), "state.bias": array(model.state.bias + model.state_mean)}
    save_file({name: value.astype(np.float16) for name, value in head.items()}, folder / "encoder.safetensors")
    (folder / "encoder.safetensors").chmod(0o644)  # the library writes it for its owner alone
    shutil.copyfile(shipped.path("encoder", "tokenizer.json"), folder / "tokenizer.json")
    shutil.copyfile(shipped.folder("encoder") / "LICENSE", folder / "LICENSE")
    described = {"kind": KIND, **describe, "version": shipped.sha256(folder / "encoder.onnx")[:8]}
    shipped.write_meta(folder, described)
    made = CaptionEncoder(folder)
    draw = random.Random(0)
    means = [mean_vector(made, draw.sample(list(part), min(len(part), 10_000))) for part in captions]
    np.save(folder / "caption_mean.npy", np.mean(means, axis=0).astype(np.float32))
    np.save(folder / "phrase_mean.npy", mean_vector(made, draw.sample(list(phrases), min(len(phrases), 12_000))))
    shipped.write_meta(folder, described)
    return CaptionEncoder(folder)


def mean_vector(encoder: CaptionEncoder, texts: Sequence[str]) -> NDArray[np.float32]:
    found: NDArray[np.float32] = encoder.encode(texts, centred=False).mean(axis=0, dtype=np.float64).astype(np.float32)
    return found


def array(tensor: torch.Tensor) -> NDArray[np.float32]:
    return np.ascontiguousarray(tensor.detach().float().numpy())


class NetworkGraph:
    """Nodes and weights of the network being written."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def add(self, op: str, inputs: Sequence[str], output: str, *, domain: str = "", **attributes: Any) -> str:
        self.nodes.append(helper.make_node(op, list(inputs), [output], name=output, domain=domain, **attributes))
        return output

    def constant(self, name: str, value: Array) -> str:
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def half(self, name: str, value: Array) -> str:
        """A constant kept with 16 bits; the runtime widens it once, when it opens the network."""
        kept = self.constant(f"{name}.half", value.astype(np.float16))
        return self.add("Cast", [kept], name, to=TensorProto.FLOAT)

    def linear(self, x: str, name: str, module: nn.Linear, span: tuple[float, float]) -> str:
        """x in bytes over its span, an integer product, a scale per column, the bias."""
        weight, (low, high) = array(module.weight.T), span
        column = np.maximum(np.abs(weight).max(axis=0), 1e-8) / _LIMIT
        scale = max(high, -low, 1e-8) / 127 if low < 0 else max(high, 1e-8) / 255
        inputs = [
            self.constant(f"{name}.weight", np.rint(weight / column).astype(np.int8)),
            self.constant(f"{name}.input", np.asarray(scale, dtype=np.float32)),
            self.constant(f"{name}.scale", column.astype(np.float32)),
            self.constant(f"{name}.zero", np.asarray(128 if low < 0 else 0, dtype=np.uint8)),
            "zero",
            self.constant(f"{name}.bias", array(module.bias)),
        ]
        rows = self.add("QuantizeLinear", [x, inputs[1], inputs[3]], f"{name}.rows")
        return self.add("MatMulIntegerToFloat", [rows, *inputs], name, domain=MS)

    def normal(self, x: str, name: str, module: nn.LayerNorm) -> str:
        parts = [
            self.constant(f"{name}.{key}", array(value))
            for key, value in (("gain", module.weight), ("bias", module.bias))
        ]
        return self.add("LayerNormalization", [x, *parts], name, axis=-1, epsilon=module.eps)


def build(model: EncoderModule, texts: Sequence[Sequence[int]]) -> onnx.ModelProto:
    """The int8 network: ids (texts, length) -> sentences (texts, 384), hidden (texts, length, width).

    `texts` are word pieces of captions on which the ranges of activations are measured.
    """
    graph, width, spans = NetworkGraph(), model.config.width, measured(model, texts)
    for name, value in {
        "zero": np.int8(0), "axis0": np.array([0], np.int64), "axis1": np.array([1], np.int64),
        "axis2": np.array([2], np.int64), "flat": np.array([-1, width], np.int64), "width": np.array([width], np.int64),
        "width3": np.array([3 * width], np.int64), "thirds": np.array([width] * 3, np.int64),
    }.items():  # fmt: skip
        graph.constant(name, np.asarray(value))
    x = embedded(graph, model)
    graph.add("Concat", ["ids.shape", "width"], "shape", axis=0)
    graph.add("Concat", ["ids.shape", "width3"], "shape3", axis=0)
    for number, layer in enumerate(model.layers):
        assert isinstance(layer, Layer)
        x = block(graph, layer, str(number), x, spans)
    pooled(graph, model, graph.normal(x, "last", model.last))
    return finished(graph, width)


def finished(graph: NetworkGraph, width: int) -> onnx.ModelProto:
    axes = ["texts", "length"]
    made = helper.make_graph(
        graph.nodes, "caption-encoder",
        [helper.make_tensor_value_info("ids", TensorProto.INT64, axes)],
        [
            helper.make_tensor_value_info("sentences", TensorProto.FLOAT, ["texts", WIDTH]),
            helper.make_tensor_value_info("hidden", TensorProto.FLOAT, [*axes, width]),
        ],
        graph.weights,
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(MS, 1)]
    return helper.make_model(made, opset_imports=opsets, ir_version=8, producer_name="vericap train encoder")


def embedded(graph: NetworkGraph, model: EncoderModule) -> str:
    """Rows of the pieces' table as int8 with a scale each, plus positions."""
    table = used(array(model.table()))
    scale = np.maximum(np.abs(table).max(axis=1, keepdims=True), 1e-8) / _TABLE_LIMIT
    graph.constant("table", np.rint(table / scale).astype(np.int8))
    graph.half("table.scale", scale)
    graph.half("places", array(model.places))
    late = graph.add("Greater", ["ids", graph.constant("unused.end", np.array(_UNUSED.stop - 1))], "ids.late")
    step = graph.constant("unused.count", np.array(len(_UNUSED)))
    jump = graph.add("Mul", [graph.add("Cast", [late], "ids.step", to=TensorProto.INT64), step], "ids.jump")
    graph.add("Sub", ["ids", jump], "row")
    rows = graph.add("Cast", [graph.add("Gather", ["table", "row"], "rows.bytes")], "rows.raw", to=TensorProto.FLOAT)
    rows = graph.add("Mul", [rows, graph.add("Gather", ["table.scale", "row"], "rows.scale")], "rows")
    graph.add("Slice", [graph.add("Shape", ["ids"], "ids.shape"), "axis1", "axis2", "axis0"], "ids.length")
    place = graph.add("Slice", ["places", "axis0", "ids.length", "axis0"], "place.rows")
    return graph.add("Reshape", [graph.add("Add", [rows, place], "embedded"), "flat"], "start")


def used(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows of pieces without those that no text has."""
    return np.delete(rows, np.array(_UNUSED), axis=0)


def measured(model: EncoderModule, texts: Sequence[Sequence[int]]) -> Spans:
    """Least and greatest input of every linear part of the layers, but for one value in _OUTSIDE at either end."""
    found: Spans = {}
    hooks = []
    for name, module in model.layers.named_modules():
        if isinstance(module, nn.Linear):

            def note(_: nn.Module, given: tuple[torch.Tensor, ...], name: str = name) -> None:
                values = np.sort(given[0].detach().float().flatten().numpy())
                left_out = len(values) // _OUTSIDE
                found[name] = (float(values[left_out]), float(values[-1 - left_out]))

            hooks.append(module.register_forward_pre_hook(note))
    with torch.no_grad():
        model(groups(texts, 50))
    for hook in hooks:
        hook.remove()
    return found


def block(graph: NetworkGraph, layer: Layer, name: str, x: str, spans: Spans) -> str:
    """One transformer block on (pieces, width)."""

    def linear(given: str, part: str) -> str:
        return graph.linear(given, f"{name}.{part}", getattr(layer, part), spans[f"{name}.{part}"])

    qkv = linear(graph.normal(x, f"{name}.normal1", layer.before_attention), "qkv")
    shaped = graph.add("Reshape", [qkv, "shape3"], f"{name}.qkv3")
    names = [f"{name}.{part}" for part in "qkv"]
    graph.nodes.append(helper.make_node("Split", [shaped, "thirds"], names, name=f"{name}.split", axis=2))
    attended = graph.add("MultiHeadAttention", names, f"{name}.attended3", domain=MS, num_heads=layer.heads)
    attended = graph.add("Reshape", [attended, "flat"], f"{name}.attended")
    x = graph.add("Add", [x, linear(attended, "out")], f"{name}.middle")
    inner = linear(graph.normal(x, f"{name}.normal2", layer.before_inner), "inner")
    outer = linear(graph.add("Relu", [inner], f"{name}.relu"), "outer")
    return graph.add("Add", [x, outer], f"{name}.end")


def pooled(graph: NetworkGraph, model: EncoderModule, x: str) -> None:
    """Outputs: states of the pieces, and the sentence from their weighted mean."""
    heads, width = model.config.heads, model.config.width
    hidden = graph.add("Reshape", [x, "shape"], "hidden")
    weight = graph.add("MatMul", [hidden, graph.constant("weight", array(model.weight.weight.T))], "weight.context")
    own = graph.add("Gather", [graph.half("piece_weight", used(array(model.piece_weight))), "row"], "weight.own")
    shares = graph.add("Softmax", [graph.add("Add", [weight, own], "weight.sum")], "shares", axis=1)
    column = graph.add("Unsqueeze", [shares, graph.constant("axis3", np.array([3], np.int64))], "shares.column")
    split = graph.constant("split", np.array([0, 0, heads, width // heads], np.int64))
    parts = graph.add("Mul", [graph.add("Reshape", [hidden, split], "hidden.parts"), column], "parts")
    mean = graph.add("Reshape", [graph.add("ReduceSum", [parts, "axis1"], "mean.parts", keepdims=0), "flat"], "mean")
    bias = array(model.sentence.bias + model.caption_mean)
    head = [graph.half("sentence.weight", array(model.sentence.weight.T)), graph.constant("sentence.bias", bias)]
    graph.add("Gemm", [mean, *head], "sentences")


def teacher_table() -> NDArray[np.float32]:
    """gte-small's input vectors of all word pieces, rows of length 1."""
    network = onnx.load(str(shipped.path("encoder", "model.onnx")))
    tensors = {item.name: item for item in network.graph.initializer if item.name in ("words", "words.scale")}
    words, scale = (numpy_helper.to_array(tensors[name]).astype(np.float32) for name in ("words", "words.scale"))
    rows = words * scale
    found: NDArray[np.float32] = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-8)
    return found
