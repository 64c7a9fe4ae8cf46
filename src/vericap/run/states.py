"""What metrics know of a whole corpus, on disk: arrays and plain values, never pickled.

Arrays of a file are read when somebody asks, a piece at a time: document frequencies of any corpus are merged and
looked up in the same memory.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from vericap.core.numbers import BLOCK, FileArray, SortedNumbers
from vericap.core.typing import Array
from vericap.text.frequency import CORPUS, DocumentFrequency
from vericap.text.frequency_files import table
from vericap.text.frequency_numbers import NumberedFrequency

States = Mapping[str, Any]  # by metric's label
_KINDS: dict[str, Any] = {
    "NumberedFrequency": NumberedFrequency,
    "SortedNumbers": SortedNumbers,
}  # a file may name these classes and no others
_ALIGNED = 64  # bytes: where arrays may begin
_PLAIN = (str, int, float, bool, type(None))


def storable(states: States) -> bool:
    """Whether all states can be written: those of a metric from elsewhere may be anything."""
    try:
        _encode(list(states.values()), {})
    except TypeError:
        return False
    return True


def save(states: States, path: Path) -> None:
    """Write states to a file: a line of JSON, which says where each array begins, and the arrays as in memory."""
    arrays: dict[str, Array] = {}
    layout = {label: _encode(state, arrays) for label, state in states.items()}
    _write(path, layout, {name: [array] for name, array in arrays.items()})


def load(path: Path) -> dict[str, Any]:
    """Read states from a file; their numbers stay there until they are asked for."""
    found = _Stored.of(path)
    return {label: _decode(own, found.arrays) for label, own in found.layout.items()}


def join(files: Sequence[Path], target: Path) -> None:
    """One file of the states of several, each of which holds the numbers of a part of the range."""
    every = [_Stored.of(file) for file in files]
    _write(target, every[0].layout, {name: [own.arrays[name] for own in every] for name in every[0].arrays})


def _write(path: Path, layout: Any, arrays: Mapping[str, Sequence[Array | FileArray]]) -> None:
    """Arrays in parts, one after the other."""
    begin, places = 0, {}
    for name, parts in arrays.items():
        length, kind = sum(map(len, parts)), parts[0].dtype
        places[name] = (begin, kind.str, length)
        begin += length * kind.itemsize
        begin += -begin % _ALIGNED
    head = json.dumps({"layout": layout, "arrays": places}).encode()
    with path.open("wb") as stream:
        stream.write(head + b" " * (-(len(head) + 1) % _ALIGNED) + b"\n")
        for parts in arrays.values():
            for part in parts:
                for start in range(0, len(part), BLOCK):
                    stream.write(np.ascontiguousarray(part[start : start + BLOCK]).data)
            stream.write(bytes(-stream.tell() % _ALIGNED))


@dataclass(frozen=True)
class _Stored:
    """What a file holds."""

    layout: Mapping[str, Any]
    arrays: Mapping[str, FileArray]

    @classmethod
    def of(cls, path: Path) -> _Stored:
        with path.open("rb") as stream:
            head = stream.readline()
        found = json.loads(head)
        places = found["arrays"].items()
        arrays = {name: FileArray(path, np.dtype(kind), len(head) + at, count) for name, (at, kind, count) in places}
        return cls(found["layout"], arrays)


def _encode(value: Any, arrays: dict[str, Array]) -> Any:
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, np.ndarray) and value.dtype != object:
        name = f"a{len(arrays)}"
        arrays[name] = value.reshape(-1)
        return {"array": name, "shape": value.shape}
    if isinstance(value, list | tuple):
        return {"list": [_encode(item, arrays) for item in value]}
    if isinstance(value, DocumentFrequency) and value.source != CORPUS:
        return {"given": value.source}  # a table of its own, which every process opens for itself
    for name, kind in _KINDS.items():
        if type(value) is kind:
            own = {field.name: getattr(value, field.name) for field in fields(kind)}
            return {"class": name, "fields": {key: _encode(item, arrays) for key, item in own.items()}}
    raise TypeError(f"a {type(value).__name__} is not written to disk")


def _decode(item: Any, arrays: Mapping[str, FileArray], *, lazy: bool = False) -> Any:
    if not isinstance(item, dict):
        return item
    if "given" in item:
        return table(item["given"])
    if "array" in item:
        found = arrays[item["array"]]
        return found if lazy else found[:].reshape(item["shape"])
    if "list" in item:
        return [_decode(part, arrays) for part in item["list"]]
    own = {name: _decode(value, arrays, lazy=True) for name, value in item["fields"].items()}
    return _KINDS[item["class"]](**own)


# --- parts of states ----------------------------------------------------------------------------------------------


def _each(work: Callable[[NumberedFrequency], NumberedFrequency], state: Any) -> Any:
    """A state with `work` done to the frequencies in it."""
    if isinstance(state, list):
        return [_each(work, item) for item in state]
    return work(state) if isinstance(state, NumberedFrequency) else state


def numbered(state: Any) -> Any:
    """A state whose frequencies are by number, ready to be stored and merged part by part."""
    if isinstance(state, list):
        return [numbered(item) for item in state]
    if not isinstance(state, DocumentFrequency) or state.source != CORPUS:
        return state
    found = NumberedFrequency.of(state)
    return replace(found, numbers=found.numbers.with_borders())


def trimmed(state: Any) -> Any:
    """A merged state without what moves no score: an n-gram that one image has weighs as much as an unknown one."""
    return _each(lambda own: own.at_least(2), state)


def between(state: Any, first: int, last: int) -> Any:
    """The frequencies of n-grams whose numbers lie in some parts of the range."""
    return _each(lambda own: replace(own, numbers=own.numbers.between(first, last)), state)


def divisible(state: Any) -> bool:
    """Whether a state can be merged in parts."""
    if isinstance(state, list):
        return all(map(divisible, state))
    return state is None or isinstance(state, NumberedFrequency | DocumentFrequency)


def size(state: Any) -> int:
    """Numbers in a state."""
    if isinstance(state, list):
        return sum(map(size, state))
    return len(state.numbers) if isinstance(state, NumberedFrequency) else 0
