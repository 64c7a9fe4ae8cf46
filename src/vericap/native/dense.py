"""Fully connected layers of the models: by the kernel where it can run, else by NumPy.

NumPy's library takes the newest processors for old ones and then uses half of each vector. The kernel (`dense.c`) uses
all of it, and makes every sum in one order: a row has the same outcome alone and among others.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from vericap.core.typing import Array, Floats32
from vericap.native import able

_LANES = 16  # outputs of a vector
_PANEL = 64  # outputs whose weights lie together, input after input


class Layer:
    """Rows (..., inputs) -> rows W' + bias (..., outputs), for weights W (outputs, inputs)."""

    def __init__(self, weights: Array, bias: Array | None = None) -> None:
        self.weights = np.asarray(weights, dtype=np.float32)
        self.bias = None if bias is None else np.asarray(bias, dtype=np.float32)

    def __call__(self, rows: Array, *, rectify: bool = False, add: Floats32 | None = None) -> Floats32:
        """What the layer makes of rows; `rectify` sets what is negative to 0.

        Where `add` is given, a whole array of the outcome's shape, the outcome is added to it, there.
        """
        outputs, inputs = self.weights.shape
        kernel = able("dense")
        if kernel is None:
            return self._plain(rows, rectify, add)
        found = np.empty((*rows.shape[:-1], outputs), dtype=np.float32) if add is None else add
        if found.size:
            given = np.ascontiguousarray(rows, dtype=np.float32)
            kernel.product(given, *self._packed, found, inputs, outputs, add is not None, rectify)
        return found

    def _plain(self, rows: Array, rectify: bool, add: Floats32 | None) -> Floats32:
        """The kernel's twin."""
        made = np.asarray(rows @ self.weights.T, dtype=np.float32)
        if self.bias is not None:
            made += self.bias
        if add is not None:
            made = np.add(made, add, out=add)
        return np.maximum(made, 0, out=made) if rectify else made

    @cached_property
    def _packed(self) -> tuple[Floats32, Floats32]:
        """Weights and bias as the kernel reads them, whole vectors of outputs."""
        outputs, inputs = self.weights.shape
        wide = -(-outputs // _LANES) * _LANES
        rows, bias = np.zeros((wide, inputs), dtype=np.float32), np.zeros(wide, dtype=np.float32)
        rows[:outputs] = self.weights
        if self.bias is not None:
            bias[:outputs] = self.bias
        panels = [rows[first : first + _PANEL].T.ravel() for first in range(0, wide, _PANEL)]
        return np.concatenate(panels), bias


class Layers:
    """The layers of a model, by the names of their weights and biases; each is packed once."""

    def __init__(self, weights: Mapping[str, Array]) -> None:
        self._weights = weights
        self._made: dict[str, Layer] = {}

    def __call__(self, name: str, bias: str | None = None) -> Layer:
        found = self._made.get(name)
        if found is None or found.weights is not self._weights[name]:  # an experiment may put other weights there
            found = Layer(self._weights[name], None if bias is None else self._weights[bias])
            self._made[name] = found
        return found
