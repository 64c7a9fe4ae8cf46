"""Files of a feature store: written whole or not at all, read without copying, checked by size and SHA-256."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from vericap.core.errors import InputError
from vericap.core.typing import Array

_HEADER = 128  # bytes NumPy writes before the values of a small plain array
PLACE = np.dtype([("key", "<u8"), ("shard", "<i4"), ("count", "<i4"), ("start", "<i8"), ("name", "<i8")])


def key_of(name: str) -> int:
    """64 bits of an image id, for the sorted index."""
    return int.from_bytes(hashlib.blake2b(name.encode("utf-8"), digest_size=8).digest(), "little")


def check_shard(folder: Path, shard: Mapping[str, Any], width: int) -> None:
    """Truncated files are found by their sizes alone."""
    for kind, columns in (("features", width), ("boxes", 4)):
        file = folder / f"{kind}-{shard['file']}.npy"
        wanted = shard["regions"] * columns * 2 + _HEADER
        size = file.stat().st_size if file.is_file() else -1
        if size < wanted:
            state = "is missing" if size < 0 else f"is truncated ({size} bytes, {wanted} expected)"
            raise InputError(f"{file} {state}; delete {folder} and run `vericap features` again")


def digest(*arrays: Array) -> str:
    """SHA-256 over the values of arrays."""
    found = hashlib.sha256()
    for array in arrays:
        found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()


def open_array(file: Path) -> Array:
    try:
        found: Array = np.load(file, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise InputError(f"{file} cannot be read ({error}); make the store again with `vericap features`") from error
    return found


def save(file: Path, array: Array) -> None:
    """Write an array whole or not at all."""
    part = file.with_suffix(".part")
    with part.open("wb") as stream:
        np.save(stream, array, allow_pickle=False)
    os.replace(part, file)


def write_json(file: Path, value: Mapping[str, Any]) -> None:
    part = file.with_suffix(".part")
    part.write_text(json.dumps(value), "utf-8")
    os.replace(part, file)


def read_json(file: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{file} cannot be read ({error})") from error
    return found
