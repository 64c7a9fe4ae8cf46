"""ONNX files read without the `onnx` package, which is the witness."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from vericap.core import onnx as sessions
from vericap.core import shipped
from vericap.core.onnx_file import OnnxFile

onnx = pytest.importorskip("onnx", reason="the package onnx (group train) reads the same files")


@pytest.mark.parametrize("part", ["backbone", "detector"])
def test_constants_and_nodes_are_those_of_the_onnx_package(part: str) -> None:
    file = shipped.folder(part) / f"{part}.onnx"
    found, graph = OnnxFile.read(file), onnx.load(file).graph
    assert list(found.constants) == [item.name for item in graph.initializer]
    for item in graph.initializer:
        expected = onnx.numpy_helper.to_array(item)
        assert found.constants[item.name].dtype == expected.dtype
        np.testing.assert_array_equal(found.constants[item.name], expected)
    for node, expected in zip(found.nodes, graph.node, strict=True):
        assert (node.kind, node.inputs, node.outputs) == (expected.op_type, (*expected.input,), (*expected.output,))
        lists = {item.name: list(item.ints) for item in expected.attribute}
        assert node.numbers == lists


def test_negative_numbers_in_a_list_of_their_own(tmp_path: Path) -> None:
    helper, kinds = onnx.helper, onnx.TensorProto
    constants = [helper.make_tensor("w", kinds.INT32, [3], [-5, 0, 7]), helper.make_tensor("s", kinds.FLOAT, [], [0.5])]
    value = helper.make_tensor_value_info("w", kinds.INT32, [3])
    onnx.save(helper.make_model(helper.make_graph([], "g", [], [value], constants)), tmp_path / "a.onnx")
    found = OnnxFile.read(tmp_path / "a.onnx").constants
    assert found["w"].tolist() == [-5, 0, 7]
    assert found["s"].shape == ()
    assert found["s"] == 0.5


def test_inner_values_as_outputs() -> None:
    file = shipped.path("backbone", "backbone.onnx")
    session = sessions.session(file, outputs=["upper/x_DequantizeLinear_Output"])
    assert [item.name for item in session.get_outputs()] == ["upper/head.active", "upper/x_DequantizeLinear_Output"]


@pytest.mark.parametrize("content", [b"", b"no model", b"\x3a\xff\xff\xff"])
def test_what_is_no_onnx_file_is_told(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.onnx").write_bytes(content)
    with pytest.raises(ValueError, match="not an ONNX file"):
        OnnxFile.read(tmp_path / "a.onnx")
