"""Write a trained backbone (ONNX, 8-bit arithmetic) and its image-sentence encoder with what describes them."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vericap.models.store import write_meta
from vericap.train import lite

if TYPE_CHECKING:
    from vericap.train.backbone import Head, Model, Source

Array = NDArray[Any]
_EXAMPLES = 50  # photos of every source whose activations set the ranges of the 8-bit upper blocks


def examples(*sources: Source | None) -> list[Array]:
    """Lower outputs of some photos of every source, as the exported upper blocks take them."""
    chosen = [source.maps[row : row + 1] for source in sources if source is not None for row in range(_EXAMPLES)]
    return [np.ascontiguousarray(np.asarray(one, dtype=np.float32).transpose(0, 3, 1, 2)) for one in chosen if len(one)]


def export(
    model: Model,
    network: lite.Network,
    folder: Path,
    *,
    size: int,
    name: str,
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
        lite.quantised(model.upper.write(network), upper, examples, first=lite.CUT, last=None)
        lite.join(lower, upper, backbone / "backbone.onnx")
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
    save_encoder(model.head, encoder, extractor.fingerprint, name=name, trained=trained)


def save_encoder(head: Head, folder: Path, features: str, *, name: str, trained: dict[str, Any]) -> None:
    """Write `vse.safetensors` (float16) and its meta.json; `features` is the extractor's fingerprint."""
    from safetensors.numpy import save_file

    folder.mkdir(parents=True, exist_ok=True)
    weights = {
        "linear": head.linear.weight,
        "linear_bias": head.linear.bias,
        "hidden": head.hidden.weight,
        "hidden_bias": head.hidden.bias,
        "output": head.output.weight,
        "output_bias": head.output.bias,
        "sharpness": head.sharpness.exp(),
    }
    halved = {key: value.detach().numpy().astype(np.float16) for key, value in weights.items()}
    save_file(halved, folder / "vse.safetensors")
    describe = {
        "name": name,
        "fingerprint": features,
        "licence": "Apache-2.0",
        "source": "trained by `vericap train backbone`, `vericap train vse`; text side: the shipped sentence encoder",
        "trained": trained,
    }
    write_meta(folder, describe)
