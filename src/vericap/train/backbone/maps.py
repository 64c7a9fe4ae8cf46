"""Outputs of the backbone's frozen blocks for many photos, kept on disk."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from vericap.core import onnx
from vericap.core.errors import VericapError
from vericap.core.typing import Array
from vericap.train.data import Captioned
from vericap.vision.regions import pixels

Photos = Callable[[str], Any]  # image key -> PIL image


def lower_maps(data: Captioned, photos: Photos, file: Path, lower: Path, *, size: int, threads: int = 2) -> Array:
    """Outputs of the frozen blocks (an ONNX file), computed once; an interrupted run goes on where it stopped."""
    side = size // 16
    shape = (len(data), side, side, 120)
    done_file = file.with_suffix(".done")
    fresh = not file.is_file() or not done_file.is_file()
    maps = np.lib.format.open_memmap(file, "w+" if fresh else "r+", np.float16, None if not fresh else shape)
    if maps.shape[1:] != shape[1:] or len(maps) < len(data):
        raise VericapError(f"{file} holds maps of shape {maps.shape}, not {shape}: other photos or another size")
    done = 0 if fresh else int(done_file.read_text())
    session = onnx.session(lower)

    def fill(place: int) -> None:
        (found,) = session.run(None, {"x": pixels(photos(data.keys[place]), size)})
        maps[place] = found[0].transpose(1, 2, 0)

    with ThreadPoolExecutor(threads) as pool:  # decoding and ONNX Runtime both leave the interpreter free
        for start in range(done, len(data), 512):
            end = min(start + 512, len(data))
            list(pool.map(fill, range(start, end)))
            maps.flush()
            done_file.write_text(str(end))
    return maps[: len(data)]  # the file may hold more of them
