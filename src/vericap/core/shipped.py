"""The shipped networks and tables: found by name, checked by SHA-256.

Large parts that no default needs are packages of their own (`packages/` of the repository). Such a package has an entry
point of the group `vericap.models`: the part's name -> the module whose folder holds the part's files.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from vericap.core.errors import InputError, MissingPart, VericapError, install_package

ROOT = Path(__file__).resolve().parent.parent / "data"


GROUP = "vericap.models"
PACKAGES = {"encoder": ("gte-small", "vericap-gte-small")}  # part -> what users call it, the package that brings it


def folder(name: str) -> Path:
    """The folder of a shipped model or table, or of one that a package of its own brings."""
    found = ROOT / name
    if (found / "meta.json").is_file():
        return found
    brought = _brought(name)
    if brought is not None:
        return brought
    if name in PACKAGES:
        called, package = PACKAGES[name]
        raise MissingPart(f"{called} is not installed; it is a package of its own: {install_package(package)}")
    raise MissingPart(f"the shipped part '{name}' is not at {found}; reinstall vericap")


def _brought(name: str) -> Path | None:
    """The folder that an installed package names for a part."""
    from importlib.metadata import entry_points

    for point in entry_points(group=GROUP, name=name):
        file = getattr(point.load(), "__file__", None)
        if file and (Path(file).parent / "meta.json").is_file():
            return Path(file).parent
    return None


@cache
def meta(name: str) -> dict[str, Any]:
    """What the part says of itself: files with SHA-256, licence, source, options."""
    found: dict[str, Any] = json.loads((folder(name) / "meta.json").read_text("utf-8"))
    return found


@cache
def path(name: str, file: str, *, check: bool = True) -> Path:
    """A file of a shipped part, its SHA-256 checked once per process."""
    found = folder(name) / file
    expected = meta(name)["files"].get(file)
    if expected is None or not found.is_file():
        raise MissingPart(f"the shipped part '{name}' has no file '{file}'; reinstall vericap")
    if check and sha256(found) != expected:
        raise VericapError(f"{found} is damaged (SHA-256 differs from meta.json); reinstall vericap")
    return found


def write_meta(folder: Path, describe: dict[str, Any]) -> None:
    """meta.json with the SHA-256 of every other file of the folder."""
    files = {file.name: sha256(file) for file in sorted(folder.iterdir()) if file.name != "meta.json"}
    (folder / "meta.json").write_text(json.dumps({**describe, "files": files}, indent=1), "utf-8")


def describe(model: str, part: str) -> dict[str, Any]:
    """The meta file of the shipped `part` (model "default") or of a folder that `vericap train` wrote."""
    if model == "default":
        return meta(part)
    try:
        found: dict[str, Any] = json.loads((Path(model) / "meta.json").read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise _no_model(model, part, error) from error
    return found


def weights(model: str, part: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arrays and meta file of a model, named as for `describe`; matrices of one byte a number are widened."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    from vericap.core.packed import widen

    found = describe(model, part)
    file = f"{part}.safetensors"
    if model == "default":
        return widen(load_file(path(part, file))), found
    try:
        arrays = load_file(Path(model) / file)
    except (OSError, ValueError, SafetensorError) as error:
        raise _no_model(model, part, error) from error
    expected = found.get("files", {}).get(file)
    if expected and sha256(Path(model) / file) != expected:
        raise InputError(f"{Path(model) / file} is damaged (SHA-256 differs from meta.json); train or copy it again")
    return widen(arrays), found


def save_weights(arrays: Mapping[str, Any], folder: Path, part: str, storage: str = "int8") -> None:
    """Write the arrays of a model where `weights` finds them; `storage` as `core.packed` knows them."""
    from safetensors.numpy import save_file

    from vericap.core.packed import pack

    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{part}.safetensors"
    save_file(pack(arrays, storage), file)
    file.chmod(0o644)  # it is written for its owner alone


def _no_model(model: str, part: str, error: Exception) -> InputError:
    return InputError(
        f"{model} holds no model of the kind '{part}' ({error}); name `default` or a folder with {part}.safetensors "
        f"and meta.json as `vericap train {part.replace('_', '-')}` writes them"
    )


def version(meta: Mapping[str, Any]) -> str:
    """A model's name with the first digits of its weights' SHA-256: signatures tell one training from another."""
    digests = [digest[:8] for file, digest in meta.get("files", {}).items() if file.endswith(".safetensors")]
    return "-".join([str(meta["name"]), *digests])


def sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest() if hasattr(hashlib, "file_digest") else _digest(stream)


def _digest(stream: Any) -> str:
    digest = hashlib.sha256()
    while block := stream.read(1 << 20):
        digest.update(block)
    return digest.hexdigest()
