"""What an ONNX file holds, read without the `onnx` package: constants and operators.

ONNX is protobuf: messages of fields (number, wire type, value). Only fields that the backbone's kernel needs are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vericap.core.typing import Array

_TYPES = {1: np.float32, 2: np.uint8, 3: np.int8, 6: np.int32, 7: np.int64}  # TensorProto.data_type
_GRAPH, _NODE, _CONSTANT, _OUTPUT = 7, 1, 5, 12  # fields of ModelProto and GraphProto
_FLOATS = b"\x0a\x02\x08\x01"  # TypeProto: a tensor of float32, its shape left open


Fields = dict[int, list[memoryview]]  # of a message, by number


@dataclass(frozen=True)
class Node:
    """One operator; `numbers` are its attributes that are lists of whole numbers."""

    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    numbers: dict[str, list[int]]


@dataclass(frozen=True)
class OnnxFile:
    """Constants by name, and operators in order."""

    constants: Mapping[str, Array]
    nodes: list[Node]

    @classmethod
    def read(cls, file: Path) -> OnnxFile:
        """Read a file; raises ValueError where it is not one."""
        try:
            model = _message(memoryview(file.read_bytes()))
            graph = _message(model[_GRAPH][0])
            return cls(
                _Constants(map(_message, graph.get(_CONSTANT, []))),
                [_node(_message(item)) for item in graph.get(_NODE, [])],
            )
        except (IndexError, KeyError, TypeError, UnicodeDecodeError) as error:
            raise ValueError(f"{file} is not an ONNX file ({error})") from error


class _Constants(Mapping[str, Array]):
    """Arrays by name, each made when it is asked for: most of a file's are zero points that nobody reads."""

    def __init__(self, tensors: Iterator[Fields]) -> None:
        self._fields = {_texts(tensor[8])[0]: tensor for tensor in tensors}

    def __getitem__(self, name: str) -> Array:
        return _array(self._fields[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)


def with_outputs(data: bytes, names: Sequence[str]) -> bytes:
    """A model with inner values of float32 as further outputs: protobuf joins the lists of a message given twice."""
    outputs = b"".join(_wrapped(_OUTPUT, _wrapped(1, name.encode()) + _wrapped(2, _FLOATS)) for name in names)
    return data + _wrapped(_GRAPH, outputs)


def _message(data: memoryview) -> Fields:
    """Fields of a message by number; a number is given as the bytes of its varint."""
    found: Fields = {}
    for number, value in _fields(data):
        found.setdefault(number, []).append(value)
    return found


def _fields(data: memoryview) -> Iterator[tuple[int, memoryview]]:
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        if tag & 7 == 2:
            length, at = _varint(data, at)
        else:
            length = {0: _varint(data, at)[1] - at, 1: 8, 5: 4}[tag & 7]
        yield tag >> 3, data[at : at + length]
        at += length


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    """A number in groups of seven bits, lowest first, and where it ends."""
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return value, at


def _wrapped(number: int, content: bytes) -> bytes:
    length, size = bytearray(), len(content)
    while size > 127:
        length.append(size & 127 | 128)
        size >>= 7
    return bytes([number << 3 | 2, *length, size]) + content


def _numbers(fields: list[memoryview]) -> list[int]:
    """Whole numbers, each in a field of its own or packed into one."""
    found = []
    for field in fields:
        at = 0
        while at < len(field):
            value, at = _varint(field, at)
            found.append(value)
    return found


def _texts(fields: list[memoryview]) -> tuple[str, ...]:
    return tuple(bytes(field).decode() for field in fields)


def _array(fields: Fields) -> Array:
    """TensorProto: dims 1, data_type 2, float_data 4, int32_data 5, name 8, raw_data 9."""
    (kind,) = _numbers(fields[2])
    if 5 in fields:
        values = np.array(_numbers(fields[5]), dtype=np.uint64).astype(_TYPES[kind])  # modulo: negative ones too
    else:
        values = np.frombuffer(b"".join(fields[4] if 4 in fields else fields[9]), dtype=_TYPES[kind])
    return values.reshape(_numbers(fields.get(1, [])))


def _node(fields: Fields) -> Node:
    """NodeProto: input 1, output 2, op_type 4, attribute 5 (name 1, ints 8)."""
    (kind,) = _texts(fields[4])
    numbers = {}
    for attribute in map(_message, fields.get(5, [])):
        numbers[_texts(attribute[1])[0]] = _numbers(attribute.get(8, []))
    return Node(kind, _texts(fields.get(1, [])), _texts(fields.get(2, [])), numbers)
