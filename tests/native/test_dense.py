"""The kernel of fully connected layers against sums in double precision, and against itself."""

from __future__ import annotations

import numpy as np
import pytest

from vericap.native import load
from vericap.native.dense import Layer, Layers

kernel = load("dense")
SHAPES = [(1, 1, 1), (7, 33, 5), (13, 1030, 70), (150, 512, 64), (36, 1408, 384), (324, 256, 133)]  # rows, in, out


@pytest.fixture(params=["kernel", "twin"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "twin":
        monkeypatch.setenv("VERICAP_PURE_PYTHON", "1")
    return str(request.param)


def made(rows: int, inputs: int, outputs: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(rows + inputs + outputs)
    sizes = (rows, inputs), (outputs, inputs), (outputs,)
    x, weights, bias = (rng.normal(size=size).astype(np.float32) for size in sizes)
    return x, weights, bias


@pytest.mark.parametrize("shape", SHAPES)
def test_layers_make_the_sums(shape: tuple[int, int, int], way: str) -> None:
    x, weights, bias = made(*shape)
    expected = x.astype(np.float64) @ weights.T.astype(np.float64)
    error = 1e-6 * shape[1]
    np.testing.assert_allclose(Layer(weights)(x), expected, atol=error)
    np.testing.assert_allclose(Layer(weights, bias)(x, rectify=True), np.maximum(expected + bias, 0), atol=error)
    there = np.ones(expected.shape, dtype=np.float32)
    found = Layer(weights, bias)(x, add=there, rectify=True)
    assert found is there
    np.testing.assert_allclose(found, np.maximum(expected + bias + 1, 0), atol=error)


@pytest.mark.skipif(not (kernel and kernel.able()), reason="the kernel was not built, or the processor has no AVX-512")
@pytest.mark.parametrize("shape", SHAPES)
def test_a_row_has_the_same_outcome_alone_and_among_others(shape: tuple[int, int, int]) -> None:
    x, weights, bias = made(*shape)
    layer = Layer(weights, bias)
    together = layer(x)
    for row in {0, len(x) // 2, len(x) - 1}:
        np.testing.assert_array_equal(layer(x[row]), together[row])
    np.testing.assert_array_equal(layer(x[::-1]), together[::-1])


def test_any_shape_of_rows_and_none(way: str) -> None:
    x, weights, _ = made(12, 6, 4)
    layer = Layer(weights)
    np.testing.assert_allclose(layer(x.reshape(3, 4, 6)), layer(x).reshape(3, 4, 4), rtol=1e-6)
    assert layer(x[:0]).shape == (0, 4)
    np.testing.assert_allclose(
        layer(x.astype(np.float16)), x.astype(np.float16).astype(np.float32) @ weights.T, rtol=1e-4
    )


def test_layers_follow_the_weights_of_their_model() -> None:
    _, weights, bias = made(1, 6, 4)
    held = {"linear": weights, "bias": bias}
    layers = Layers(held)
    assert layers("linear", "bias") is layers("linear", "bias")
    held["linear"] = np.zeros_like(weights)
    np.testing.assert_array_equal(layers("linear", "bias")(np.ones((1, 6), dtype=np.float32)), bias[None])
