"""Halves are NumPy's, to the bit."""

from __future__ import annotations

import numpy as np
import pytest

from vericap.vision.halves import narrowed, widened


@pytest.mark.parametrize("pure", ["0", "1"])
def test_every_half_and_what_lies_between(pure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERICAP_PURE_PYTHON", pure)
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    finite = every[np.isfinite(every)]
    np.testing.assert_array_equal(widened(every), every.astype(np.float32))
    rng = np.random.default_rng(0)
    near = finite.astype(np.float32)[:-3] * (1 + rng.normal(scale=1e-3, size=len(finite) - 3)).astype(np.float32)
    values = np.clip(near, -65504, 65504).reshape(-1, 1)
    found = narrowed(values)
    assert found.shape == values.shape
    np.testing.assert_array_equal(found.view(np.uint16), values.astype(np.float16).view(np.uint16))
