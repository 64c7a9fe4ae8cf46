"""Weights in little room: matrices as int8 with one float32 scale per output row, the rest as float16.

`widen` makes float32 of them once, when a model is opened.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from vericap.errors import VericapError

Array = NDArray[np.float32]
KINDS = ("int8", "float16", "float32")
_SCALE = ":scale"
_SMALLEST = 4096  # elements a matrix needs before halving it again is worth its rounding


def pack(weights: Mapping[str, Array], kind: str = "int8") -> dict[str, NDArray[np.generic]]:
    """Arrays as they are stored."""
    if kind not in KINDS:
        raise VericapError(f"weights are stored as one of {', '.join(KINDS)}, not as '{kind}'")
    stored: dict[str, NDArray[np.generic]] = {}
    for name, value in weights.items():
        if kind == "int8" and value.ndim == 2 and value.size >= _SMALLEST:
            scale = np.maximum(np.abs(value).max(axis=1), 1e-12).astype(np.float32) / 127.0
            stored[name] = np.rint(value / scale[:, None]).astype(np.int8)
            stored[name + _SCALE] = scale
        else:
            stored[name] = np.ascontiguousarray(value, dtype=np.float32 if kind == "float32" else np.float16)
    return stored


def widen(stored: Mapping[str, NDArray[np.generic]]) -> dict[str, Array]:
    """float32 arrays from what `pack` made."""
    weights: dict[str, Array] = {}
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
