"""Weights stored in one byte a number."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from vericap.core import shipped
from vericap.core.errors import VericapError
from vericap.core.packed import pack, widen

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("shape", [(96, 96), (64, 128), (200, 50)])
def test_a_map_near_the_identity_keeps_its_small_values(shape: tuple[int, int]) -> None:
    small = 0.01 * RNG.normal(size=shape).astype(np.float32)
    value = small + np.eye(*shape, dtype=np.float32)
    found = widen(pack({"map": value}))["map"]
    assert found.dtype == np.float32
    off = ~np.eye(*shape, dtype=bool)
    step = (np.abs(small) * off).max(axis=1, keepdims=True) / 127
    assert (np.abs(found - value) * off <= 0.51 * step).all()
    np.testing.assert_allclose(found.diagonal(), value.diagonal(), rtol=1e-3)


def test_what_is_small_or_no_matrix_is_stored_as_half_floats() -> None:
    weights = {
        "bias": RNG.normal(size=5000),
        "few": np.eye(8),
        "sharpness": np.float32(3.5),
        "grid": np.ones((3, 3, 2)),
    }
    stored = pack(weights)
    assert {name: (value.dtype.name, value.shape) for name, value in stored.items()} == {
        name: ("float16", np.shape(value)) for name, value in weights.items()
    }


def test_packing_again_changes_nothing() -> None:
    """The claims of FAIEr-plus are fitted after its weights were written, which are then written anew."""
    first = pack({"map": RNG.normal(size=(80, 80)).astype(np.float32), "bias": np.ones(3)})
    again = pack(widen(first))
    assert list(again) == list(first)
    for name, value in first.items():
        np.testing.assert_allclose(again[name].astype(float), value.astype(float), rtol=1e-6, err_msg=name)


def test_earlier_folders_are_read(tmp_path: Path) -> None:
    value = RNG.normal(size=(70, 70)).astype(np.float32)
    scale = np.abs(value).max(axis=1) / 127
    eight = {"map": np.rint(value / scale[:, None]).astype(np.int8), "map:scale": scale}  # the diagonal within
    for name, arrays in {"half": {"map": value.astype(np.float16)}, "eight": eight}.items():
        (tmp_path / name).mkdir()
        save_file(arrays, tmp_path / name / "vse.safetensors")
        shipped.write_meta(tmp_path / name, {"name": name})
        found, _ = shipped.weights(str(tmp_path / name), "vse")
        assert list(found) == ["map"]
        np.testing.assert_allclose(found["map"], value, atol=0.51 * scale.max())


def test_storages(tmp_path: Path) -> None:
    value = RNG.normal(size=(64, 64)).astype(np.float32)
    for storage in ("int8", "float16", "float32"):
        shipped.save_weights({"map": value}, tmp_path / storage, "vse", storage)
        file = tmp_path / storage / "vse.safetensors"
        assert load_file(file)["map"].dtype.name == storage
        assert file.stat().st_mode & 0o044  # others may read it
    with pytest.raises(VericapError, match="int8, float16, float32, not as 'int4'"):
        pack({"map": value}, "int4")
