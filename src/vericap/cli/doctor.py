"""What is installed, which models are found, what is missing and the command that brings it."""

from __future__ import annotations

import argparse
import json
import platform
from importlib import metadata

from vericap import __version__, native
from vericap.core import shipped
from vericap.core.errors import install
from vericap.core.table import Table
from vericap.run.cache import open_cache

# package -> (group that brings it, what for); the empty group is the plain install
PACKAGES = {
    "numpy": ("", "everything"),
    "scipy": ("", "statistics"),
    "pyarrow": ("", "Parquet"),
    "tqdm": ("", "progress"),
    "pillow": ("", "images"),
    "onnxruntime": ("", "the shipped networks"),
    "tokenizers": ("", "sentence encoder"),
    "safetensors": ("", "weights"),
    "spacy": ("", "English scene graphs"),
    "matplotlib": ("figures", "figures"),
    "pandas": ("pandas", "result.to_pandas()"),
    "openpyxl": ("xlsx", "Excel tables"),
    "ginza": ("ja", "Japanese scene graphs"),
    "ja_ginza": ("ja", "Japanese scene graphs"),
    "torch": ("train", "training, models of your own"),
    "transformers": ("hub", "models of your own"),
    "ray": ("ray", "many machines"),
    "fastapi": ("serve", "web page"),
}
_TOLD = ("title", "licence", "made_by", "name")  # what a meta file says of its part, the first that it has


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print as JSON")


def run(args: argparse.Namespace) -> int:
    table = Table(
        ["part", "state", "what for / what to do"],
        title=f"vericap {__version__}, Python {platform.python_version()}",
    )
    broken = [*_packages(table), *_models(table)]
    for name in native.KERNELS:
        built = native.load(name) is not None
        hint = "compiled" if built else "Python twin serves, slower; install a C compiler and reinstall vericap"
        table.add(f"kernel {name}", "found" if built else "not built", hint)
    table.add("cache", str(open_cache(None).folder), "VERICAP_CACHE moves it; `vericap cache` shows what is in it")
    table.notes = [f"missing: {', '.join(broken)}" if broken else "Everything the plain install needs is here."]
    print(json.dumps(table.records(), indent=2) if args.json else table.text(), end="")
    return 1 if broken else 0


def _packages(table: Table) -> list[str]:
    missing = []
    for name, (group, purpose) in PACKAGES.items():
        try:
            table.add(name, metadata.version(name), purpose)
        except metadata.PackageNotFoundError:
            advice = install(group) if group else f"pip install {name}"
            table.add(name, "not installed" if group else "missing", f"{purpose}: {advice}")
            if not group:
                missing.append(name)
    return missing


def _models(table: Table) -> list[str]:
    """Every shipped part with a meta file, its files checked by SHA-256."""
    broken = []
    for file in sorted(shipped.ROOT.glob("*/meta.json")):
        name = file.parent.name
        meta = shipped.meta(name)
        bad = [
            part
            for part, digest in meta.get("files", {}).items()
            if not (file.parent / part).is_file() or shipped.sha256(file.parent / part) != digest
        ]
        if bad:
            broken.append(name)
        state = f"damaged: {', '.join(bad)}" if bad else "found"
        table.add(
            f"data {name}",
            state,
            "reinstall vericap" if bad else str(next((meta[key] for key in _TOLD if key in meta), "")),
        )
    return broken
