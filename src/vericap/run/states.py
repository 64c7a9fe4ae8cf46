"""What metrics know of a whole corpus, on disk: arrays and plain values, never pickled."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from io import BufferedReader
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from vericap.core.typing import Array, Ints
from vericap.text.frequency import DocumentFrequency
from vericap.text.frequency_files import table
from vericap.text.ngrams import NGramTree

CORPUS = "corpus"
States = Mapping[str, Any]  # by metric's label
_KINDS: dict[str, Any] = {
    "DocumentFrequency": DocumentFrequency,
    "NGramTree": NGramTree,
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


def save(states: States, path: Path, pieces: int = 1) -> None:
    """Write states to a file, in pieces that can be read and merged one by one.

    The file is a line of JSON, which says where each array begins, and the arrays as they are in memory.
    """
    arrays: dict[str, Array] = {}
    split = {label: pieces_of(state, pieces) for label, state in states.items()}
    layout = {label: [_encode(piece, arrays) for piece in own] for label, own in split.items()}
    begin, places = 0, {}
    for name, array in arrays.items():
        places[name] = (begin, array.dtype.str, array.shape)
        begin += array.nbytes + -array.nbytes % _ALIGNED
    head = json.dumps({"layout": layout, "arrays": places}).encode()
    with path.open("wb") as stream:
        stream.write(head + b" " * (-(len(head) + 1) % _ALIGNED) + b"\n")
        for array in arrays.values():
            stream.write(np.ascontiguousarray(array).data)
            stream.write(bytes(-array.nbytes % _ALIGNED))


def load(path: Path, piece: int = 0) -> dict[str, Any]:
    """Read states, or one piece of them, from a file; processes share the memory of its arrays."""
    with path.open("rb") as stream:
        head = stream.readline()
        found = json.loads(head)
        stored = _Stored(_content(stream), len(head), found["arrays"])
    return {label: _decode(own[piece], stored) for label, own in found["layout"].items()}


def _content(stream: BufferedReader) -> mmap | bytes:
    """A file's bytes; on Windows, which does not remove a mapped file, they are read."""
    if os.name == "posix":
        return mmap(stream.fileno(), 0, access=ACCESS_READ)
    stream.seek(0)
    return stream.read()


@dataclass(frozen=True)
class _Stored:
    """The arrays of a file by name."""

    content: mmap | bytes
    begin: int  # of the first array
    places: Mapping[str, tuple[int, str, list[int]]]

    def __getitem__(self, name: str) -> Array:
        offset, kind, shape = self.places[name]
        dtype = np.dtype(kind)
        found = np.frombuffer(self.content, dtype, math.prod(shape), self.begin + offset)
        return found.reshape(shape)


def divisible(state: Any) -> bool:
    """Whether a state can be merged in pieces."""
    if isinstance(state, list):
        return all(map(divisible, state))
    return state is None or isinstance(state, DocumentFrequency)


def pieces_of(state: Any, count: int) -> list[Any]:
    """A state in pieces, whose merging gives the state again.

    N-grams go by their first word, so that every n-gram has its beginnings in its own piece; the number of images is
    told by the first piece alone.
    """
    if count == 1:
        return [state]
    if isinstance(state, list):
        each = [pieces_of(item, count) for item in state]
        return [[own[number] for own in each] for number in range(count)]
    if not isinstance(state, DocumentFrequency) or state.source != CORPUS:
        return [state] * count
    tree = state.tree
    first = np.empty(len(state), dtype=np.int64)
    for order in range(len(tree.starts) - 1):
        own = slice(tree.starts[order], tree.starts[order + 1])
        first[own] = tree.last[own] if order == 0 else first[tree.prefix[own]]
    of_word = np.array([crc32(word.encode("utf-8", "surrogatepass")) % count for word in tree.vocabulary], np.uint8)
    piece = np.where(state.counts > 0, of_word[first], count).astype(np.uint8)
    sorted_by = np.argsort(piece, kind="stable")  # what only candidates have stands last, and is left out
    borders = np.searchsorted(piece[sorted_by], np.arange(count + 1))
    found = [_kept(state, sorted_by[borders[number] : borders[number + 1]]) for number in range(count)]
    return [replace(part, images=state.images if number == 0 else 0) for number, part in enumerate(found)]


def _kept(state: DocumentFrequency, chosen: Ints) -> DocumentFrequency:
    """Some of the n-grams, in order; with each of them its beginnings must be kept."""
    tree = state.tree
    number = np.empty(len(state), dtype=np.int32)
    number[chosen] = np.arange(len(chosen), dtype=np.int32)
    used = np.zeros(len(tree.vocabulary), dtype=np.bool_)
    used[tree.last[chosen]] = True
    prefix = tree.prefix[chosen]
    kept = NGramTree(
        [tree.vocabulary[word] for word in np.flatnonzero(used).tolist()],
        np.where(prefix >= 0, number[np.maximum(prefix, 0)], -1).astype(np.int32),
        (np.cumsum(used) - 1)[tree.last[chosen]].astype(np.int32),
        np.searchsorted(chosen, tree.starts).astype(np.int64),
    )
    return DocumentFrequency(state.images, kept, state.counts[chosen], state.source)


def trimmed(state: Any) -> Any:
    """A merged state without what moves no score: an n-gram that one image has weighs as much as an unknown one."""
    if isinstance(state, list):
        return [trimmed(item) for item in state]
    if isinstance(state, DocumentFrequency) and state.source == CORPUS:
        kept = _kept(state, np.flatnonzero(state.counts >= 2))
        return kept if len(kept) else state  # a table without any n-gram cannot be asked
    return state


def _encode(value: Any, arrays: dict[str, Array]) -> Any:
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, np.ndarray) and value.dtype != object:
        name = f"a{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    if isinstance(value, list | tuple):
        if value and all(isinstance(item, str) and "\n" not in item for item in value):
            arrays[f"t{len(arrays)}"] = np.frombuffer("\n".join(value).encode("utf-8", "surrogatepass"), np.uint8)
            return {"texts": f"t{len(arrays) - 1}"}
        return {"list": [_encode(item, arrays) for item in value]}
    if isinstance(value, DocumentFrequency) and value.source != CORPUS:
        return {"given": value.source}  # a table of its own, which every process opens for itself
    for name, kind in _KINDS.items():
        if type(value) is kind:
            own = {field.name: getattr(value, field.name) for field in fields(kind)}
            if isinstance(value, DocumentFrequency):
                own["grams"] = value.tree  # without the table they were counted on
            return {"class": name, "fields": {key: _encode(item, arrays) for key, item in own.items()}}
    raise TypeError(f"a {type(value).__name__} is not written to disk")


def _decode(item: Any, arrays: _Stored) -> Any:
    if not isinstance(item, dict):
        return item
    if "given" in item:
        return table(item["given"])
    if "array" in item:
        return arrays[item["array"]]
    if "texts" in item:
        return arrays[item["texts"]].tobytes().decode("utf-8", "surrogatepass").split("\n")
    if "list" in item:
        return [_decode(part, arrays) for part in item["list"]]
    return _KINDS[item["class"]](**{name: _decode(value, arrays) for name, value in item["fields"].items()})
