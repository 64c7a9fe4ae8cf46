"""Write a trained backbone (ONNX, 8-bit arithmetic) and its image-sentence encoder with what describes them."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from vericap.core.shipped import write_meta
from vericap.core.typing import Array
from vericap.models.described import text_side
from vericap.train.backbone.lite import CUT, LiteNetwork
from vericap.train.backbone.network import BackboneModule
from vericap.train.backbone.onnx_files import join, quantised
from vericap.train.vse.network import save_encoder
from vericap.train.vse.training import VseSource

_EXAMPLES = 50  # photos of every source whose activations set the ranges of the 8-bit upper blocks


def examples(*sources: VseSource | None) -> list[Array]:
    """Lower outputs of some photos of every source, as the exported upper blocks take them."""
    chosen = [source.maps[row : row + 1] for source in sources if source is not None for row in range(_EXAMPLES)]
    return [
        np.ascontiguousarray(np.asarray(batch, dtype=np.float32).transpose(0, 3, 1, 2))
        for batch in chosen
        if len(batch)
    ]


def export(
    model: BackboneModule,
    network: LiteNetwork,
    folder: Path,
    *,
    size: int,
    name: str,
    text_encoder: str,
    trained: dict[str, Any],
    lower: Path,
    examples: list[Array],
) -> None:
    """Write `backbone/` and `vse/` below the folder, each with a meta.json that names its files' SHA-256.

    `examples` are lower outputs that set the ranges of the upper blocks' 8-bit arithmetic.
    """
    from vericap.vision.regions import Extractor

    backbone, encoder = folder / "backbone", folder / "vse"
    for part in (backbone, encoder):
        part.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as scratch:
        upper = Path(scratch) / "upper.onnx"
        quantised(model.upper.write(network), upper, examples, first=CUT, last=None)
        join(lower, upper, backbone / "backbone.onnx")
    source = f"EfficientNet-lite2 ({network.source}, Apache-2.0), upper blocks trained by `vericap train backbone`"
    describe = {
        "name": f"{name}-backbone",
        "model": "backbone.onnx",
        "size": size,
        "licence": "Apache-2.0",
        "source": source,
        "trained": trained,
    }
    write_meta(backbone, describe)
    extractor = Extractor(backbone / "backbone.onnx", size=size)
    about = {"name": name, "fingerprint": extractor.fingerprint, **text_side(text_encoder), "trained": trained}
    save_encoder(model.head, encoder, about)
