"""Values of half the length (float16), in which regions are kept: NumPy converts them one by one."""

from __future__ import annotations

from typing import Any

import numpy as np

from vericap.core.typing import Floats16, Floats32
from vericap.native import load


def narrowed(values: Floats32) -> Floats16:
    """float32 values as float16, each the nearest one."""
    kernel = _kernel()
    if kernel is None:
        return values.astype(np.float16)
    found = np.empty(values.shape, dtype=np.float16)
    kernel.narrow(np.ascontiguousarray(values, dtype=np.float32), found)
    return found


def widened(values: Floats16) -> Floats32:
    """float16 values as float32."""
    kernel = _kernel()
    if kernel is None:
        return values.astype(np.float32)
    found = np.empty(values.shape, dtype=np.float32)
    kernel.widen(np.ascontiguousarray(values), found)
    return found


def _kernel() -> Any:
    kernel = load("regions")
    return kernel if kernel is not None and kernel.halves() else None
