"""Weights in little room: matrices as int8 with one float32 scale per output row, the rest as float16.

`widen` makes float32 of them once, when a model is opened.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from vericap.core.errors import VericapError
from vericap.core.typing import Array, Floats32

STORAGES = ("int8", "float16", "float32")
_SCALE = ":scale"
_SMALLEST = 4096  # elements a matrix needs before halving it again is worth its rounding


def pack(weights: Mapping[str, Floats32], kind: str = "int8") -> dict[str, Array]:
    """Arrays as they are stored."""
    if kind not in STORAGES:
        raise VericapError(f"weights are stored as one of {', '.join(STORAGES)}, not as '{kind}'")
    stored: dict[str, Array] = {}
    for name, value in weights.items():
        if kind == "int8" and value.ndim == 2 and value.size >= _SMALLEST:
            scale = np.maximum(np.abs(value).max(axis=1), 1e-12).astype(np.float32) / 127.0
            stored[name] = np.rint(value / scale[:, None]).astype(np.int8)
            stored[name + _SCALE] = scale
        else:
            stored[name] = np.ascontiguousarray(value, dtype=np.float32 if kind == "float32" else np.float16)
    return stored


def widen(stored: Mapping[str, Array]) -> dict[str, Floats32]:
    """float32 arrays from what `pack` made."""
    weights: dict[str, Floats32] = {}
    for name, value in stored.items():
        if name.endswith(_SCALE):
            continue
        wide = value.astype(np.float32)
        if value.dtype == np.int8:
            if name + _SCALE not in stored:
                raise VericapError(f"the weights lack '{name + _SCALE}'; the file is damaged")
            wide *= stored[name + _SCALE].astype(np.float32)[:, None]
        weights[name] = wide
    return weights
