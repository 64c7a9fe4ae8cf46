"""Photos and captions that ship, to try the page with: those of `vericap demo`."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from vericap.core.shipped import ROOT

FOLDER = ROOT / "demo"
SYSTEMS = ("careful", "terse", "inventive")


@lru_cache(maxsize=1)
def examples() -> list[dict[str, Any]]:
    """One entry per caption: id, system, photo, caption, references."""
    references = {record["id"]: record["references"] for record in _records("references")}
    return [
        {
            "id": f"{record['id']}.{system}",
            "system": system,
            "photo": record["image"],
            "caption": record["candidate"],
            "references": references[record["id"]],
        }
        for system in SYSTEMS
        for record in _records(system)
    ]


@lru_cache(maxsize=1)
def photos() -> dict[str, bytes]:
    """The photos of the examples by name: no other file can be asked for."""
    names = {entry["photo"] for entry in examples()}
    return {name: (FOLDER / "photos" / name).read_bytes() for name in sorted(names)}


def _records(name: str) -> list[dict[str, Any]]:
    lines = (FOLDER / f"{name}.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]
