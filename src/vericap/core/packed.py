"""Weights in little room: matrices as int8 with one float32 scale per output row, the rest as float16.

Many maps begin as the identity and stay near it, so the diagonal stays float16: it would widen the steps of its row.
`widen` makes float32 of such matrices once, when a model is opened.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from vericap.core.errors import VericapError
from vericap.core.typing import Array

STORAGES = ("int8", "float16", "float32")
_SCALE, _DIAGONAL = ":scale", ":diagonal"
_SMALLEST = 4096  # elements a matrix needs before halving it again is worth its rounding


def pack(weights: Mapping[str, Array], storage: str = "int8") -> dict[str, Array]:
    """Arrays as they are stored."""
    if storage not in STORAGES:
        raise VericapError(f"weights are stored as one of {', '.join(STORAGES)}, not as '{storage}'")
    stored: dict[str, Array] = {}
    for name, value in weights.items():
        if storage == "int8" and value.ndim == 2 and value.size >= _SMALLEST:
            rest = value.astype(np.float32)
            stored[name + _DIAGONAL] = rest.diagonal().astype(np.float16)
            np.fill_diagonal(rest, 0.0)
            scale = np.maximum(np.abs(rest).max(axis=1), 1e-12).astype(np.float32) / 127.0
            stored[name] = np.rint(rest / scale[:, None]).astype(np.int8)
            stored[name + _SCALE] = scale
        else:
            stored[name] = value.astype(np.float32 if storage == "float32" else np.float16, order="C")
    return stored


def widen(stored: Mapping[str, Array]) -> dict[str, Array]:
    """Arrays with the matrices that `pack` made small as float32; all others as they are."""
    weights = {name: value for name, value in stored.items() if not name.endswith((_SCALE, _DIAGONAL))}
    for name, value in weights.items():
        if name + _SCALE in stored:
            weights[name] = wide = value.astype(np.float32) * stored[name + _SCALE][:, None]
            if name + _DIAGONAL in stored:  # files of earlier versions keep it within
                np.fill_diagonal(wide, stored[name + _DIAGONAL])
    return weights
