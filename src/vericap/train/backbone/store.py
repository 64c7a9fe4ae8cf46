"""Region features of the photos a backbone was trained on, from the maps its training kept.

SCAN and FAIEr learn from these photos next; the frozen blocks have run already, so only the upper ones are left.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from vericap.core import onnx
from vericap.core.typing import Array
from vericap.run.progress import Bar
from vericap.train.backbone.onnx_files import upper_part
from vericap.vision.pooling import pool
from vericap.vision.regions import Extractor, pyramid
from vericap.vision.store import FeatureWriter

_BLOCK = 16  # photos in one run of the network


def write(backbone: Path, sources: list[tuple[list[str], Array]], folder: str | Path, *, threads: int) -> int:
    """Write windows of all photos into a store, as the exported backbone sees them; how many it holds.

    `sources` are keys with lower maps.
    """
    extractor = Extractor(backbone)
    windows = pyramid()
    with TemporaryDirectory() as scratch:
        upper = Path(scratch) / "upper.onnx"
        upper_part(backbone, upper)
        session = onnx.session(upper)
        seam = session.get_inputs()[0].name

        def features(maps: Array) -> list[Array]:
            given = np.ascontiguousarray(np.asarray(maps, dtype=np.float32).transpose(0, 3, 1, 2))
            (found,) = session.run(None, {seam: given})
            return [pool(one.transpose(1, 2, 0), windows) for one in found]

        total = sum(len(keys) for keys, _ in sources)
        with FeatureWriter(folder, extractor.description, width=1280) as writer, ThreadPoolExecutor(threads) as workers:
            done = writer.done()
            with Bar(what="region features", total=total, unit="image") as bar:
                for keys, maps in sources:
                    waiting = np.array([row for row, key in enumerate(keys) if key not in done], dtype=np.int64)
                    for start in range(0, len(waiting), _BLOCK * 16):
                        rows = waiting[start : start + _BLOCK * 16]
                        blocks = [maps[rows[i : i + _BLOCK]] for i in range(0, len(rows), _BLOCK)]
                        found = [one for block in workers.map(features, blocks) for one in block]
                        for row, one in zip(rows, found):
                            writer.add(keys[row], one, windows)
                        bar.advance(len(rows))
    return total
