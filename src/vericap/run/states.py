"""What metrics know of a whole corpus, on disk: arrays and plain values, never pickled."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from vericap.core.typing import Array
from vericap.text.frequency import DocumentFrequency
from vericap.text.frequency_files import table

CORPUS = "corpus"
States = Mapping[str, Any]  # by metric's label
_KINDS = {"DocumentFrequency": DocumentFrequency}  # a file may name these classes and no others
_PLAIN = (str, int, float, bool, type(None))


def storable(states: States) -> bool:
    """Whether all states can be written: those of a metric from elsewhere may be anything."""
    try:
        _encode(list(states.values()), {})
    except TypeError:
        return False
    return True


def save(states: States, path: Path) -> None:
    """Write states to a file."""
    arrays: dict[str, Array] = {}
    layout = json.dumps({label: _encode(state, arrays) for label, state in states.items()})
    with path.open("wb") as stream:
        np.savez(stream, layout=np.frombuffer(layout.encode(), np.uint8), **arrays)  # type: ignore[arg-type]


def load(path: Path) -> dict[str, Any]:
    """Read states from a file."""
    with np.load(path, allow_pickle=False) as stored:
        layout = json.loads(stored["layout"].tobytes())
        return {label: _decode(item, stored) for label, item in layout.items()}


def trimmed(state: Any) -> Any:
    """A merged state without what moves no score: an n-gram that one image has weighs as much as an unknown one."""
    if isinstance(state, list):
        return [trimmed(item) for item in state]
    if isinstance(state, DocumentFrequency) and state.source == CORPUS:
        return state.at_least(2)
    return state


def _encode(value: Any, arrays: dict[str, Array]) -> Any:
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, np.ndarray) and value.dtype != object:
        name = f"a{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    if isinstance(value, list | tuple):
        if all(isinstance(item, str) for item in value):
            return {"texts": list(value)}
        return {"list": [_encode(item, arrays) for item in value]}
    if isinstance(value, DocumentFrequency) and value.source != CORPUS:
        return {"given": value.source}  # a table of its own, which every process opens for itself
    for name, kind in _KINDS.items():
        if type(value) is kind:
            own = {field.name: getattr(value, field.name) for field in fields(kind) if not field.name.startswith("_")}
            return {"class": name, "fields": {key: _encode(item, arrays) for key, item in own.items()}}
    raise TypeError(f"a {type(value).__name__} is not written to disk")


def _decode(item: Any, arrays: Any) -> Any:
    if not isinstance(item, dict):
        return item
    if "given" in item:
        return table(item["given"])
    if "array" in item:
        return arrays[item["array"]]
    if "texts" in item:
        return item["texts"]
    if "list" in item:
        return [_decode(part, arrays) for part in item["list"]]
    return _KINDS[item["class"]](**{name: _decode(value, arrays) for name, value in item["fields"].items()})
