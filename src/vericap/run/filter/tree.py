"""Conditions as a small typed tree; `str` of a node is what one types, and reads back as the same node."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from typing import TypeAlias

KEYWORDS = ("then", "top", "bottom", "true", "false")
NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
WORD = r"[^\W\d][\w-]*(?:\.[\w-]+)*"
OPTIONS = r"(?::[^\W\d]\w*=[^\s:<>=!&|()\"',]+)*"
NAME = re.compile(WORD + OPTIONS)
_PLAIN_VALUE = re.compile(r"[^\W\d][\w./+-]*")


@dataclass(frozen=True)
class Column:
    """A column that a condition reads: a metric (with options), one of its columns, a text rule or an input column."""

    name: str
    start: int = field(default=0, compare=False)  # place in the text of the expression, for messages

    def __str__(self) -> str:
        plain = NAME.fullmatch(self.name) is not None or _is_mean(self.name)
        return self.name if plain and self.name not in KEYWORDS else json.dumps(self.name, ensure_ascii=False)


def _is_mean(name: str) -> bool:
    """Whether a name is one mean(...) to its end, as the grammar reads it."""
    open_ones = list(accumulate({"(": 1, ")": -1}.get(sign, 0) for sign in name[4:]))
    return name.startswith("mean(") and open_ones[-1] == 0 and all(open_ones[:-1]) and name == "".join(name.split())


@dataclass(frozen=True)
class Comparison:
    """A column against a number or a text: `vse>=0.3`, `lang==en`."""

    column: Column
    sign: str
    value: float | str
    start: int = field(default=0, compare=False)  # of the value

    def __str__(self) -> str:
        return f"{self.column}{self.sign}{_value(self.value)}"


@dataclass(frozen=True)
class Flag:
    """A column that is true or false: `url`."""

    column: Column

    def __str__(self) -> str:
        return str(self.column)


@dataclass(frozen=True)
class Share:
    """The best (or worst) share of all records that enter the stage: `top:0.3:vse`."""

    best: bool
    share: Fraction
    column: Column
    written: str = field(default="", compare=False)

    def __str__(self) -> str:
        return f"{'top' if self.best else 'bottom'}:{self.written or _decimal(self.share)}:{self.column}"


@dataclass(frozen=True)
class Not:
    """The opposite; a record that cannot be judged stays so."""

    part: Node

    def __str__(self) -> str:
        return f"!{_inside(self.part)}"


@dataclass(frozen=True)
class All:
    """Every part holds: `a & b`."""

    parts: tuple[Node, ...]

    def __str__(self) -> str:
        return " & ".join(f"({part})" if isinstance(part, Either) else str(part) for part in self.parts)


@dataclass(frozen=True)
class Either:
    """At least one part holds: `a | b`."""

    parts: tuple[Node, ...]

    def __str__(self) -> str:
        return " | ".join(map(str, self.parts))


Node: TypeAlias = Comparison | Flag | Share | Not | All | Either


@dataclass(frozen=True)
class Expression:
    """Stages, each applied to what the one before left: `words>=3 then top:0.3:vse`."""

    stages: tuple[Node, ...]
    text: str = field(default="", compare=False)

    def __str__(self) -> str:
        return " then ".join(map(str, self.stages))

    @property
    def columns(self) -> list[Column]:
        """Every column that is read, once, in the order written."""
        return list(dict.fromkeys(column for stage in self.stages for column in columns(stage)))

    @property
    def shares(self) -> list[Share]:
        """Every share condition."""
        return [share for stage in self.stages for share in shares(stage)]


def leaves(node: Node) -> Iterator[Comparison | Flag | Share]:
    """The conditions of a tree from left to right."""
    if isinstance(node, Not):
        yield from leaves(node.part)
    elif isinstance(node, All | Either):
        for part in node.parts:
            yield from leaves(part)
    else:
        yield node


def columns(node: Node) -> list[Column]:
    """Columns that a tree reads, each once."""
    return list(dict.fromkeys(leaf.column for leaf in leaves(node)))


def shares(node: Node) -> list[Share]:
    """Share conditions of a tree, each once."""
    return list(dict.fromkeys(leaf for leaf in leaves(node) if isinstance(leaf, Share)))


def conjuncts(node: Node) -> tuple[Node, ...]:
    """Parts of which every one must hold."""
    if not isinstance(node, All):
        return (node,)
    return tuple(found for part in node.parts for found in conjuncts(part))


def _inside(node: Node) -> str:
    return f"({node})" if isinstance(node, All | Either | Comparison) else str(node)


def _value(value: float | str) -> str:
    if isinstance(value, float):
        return repr(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return value if _PLAIN_VALUE.fullmatch(value) and value not in KEYWORDS else json.dumps(value, ensure_ascii=False)


def _decimal(share: Fraction) -> str:
    return repr(float(share))
