"""A table as text that fits a terminal: long cells are wrapped, columns that find no room stand in a block below."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vericap.core.table import Number, marks

if TYPE_CHECKING:
    from vericap.core.table import Cell, Table

_GAP = "  "
_LEAST = 14  # columns that a text keeps before it goes to the next block
_BOLD, _DIM, _GREEN, _RED, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[32m", "\x1b[31m", "\x1b[0m"


def width(text: str) -> int:
    """Columns a text takes in a terminal (East Asian wide characters take two)."""
    return sum(0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF") for c in text)


def wrapped(text: str, room: int) -> list[str]:
    """A text in lines of at most so many columns; a word that is longer is cut.

    Examples
    --------
    >>> wrapped("a dog runs on grass", 8)
    ['a dog', 'runs on', 'grass']
    """
    lines, line = [], ""
    for word in text.split():
        if line and width(line) + 1 + width(word) > room:
            lines.append(line)
            line = ""
        line = f"{line} {word}" if line else word
        while width(line) > room:
            cut = _cut(line, room)
            lines.append(line[:cut])
            line = line[cut:]
    return [*lines, line] if line or not lines else lines


def _cut(text: str, room: int) -> int:
    """How many characters fit; a signature or an address is cut behind one of its marks."""
    used = 0
    for place, character in enumerate(text):
        used += width(character)
        if used > room:
            mark = max(text.rfind(sign, 0, place) for sign in "|/,+")
            return mark + 1 if mark >= place // 2 else max(1, place)
    return len(text)


@dataclass
class _Column:
    """One column: its cells as (text, marks), and how wide it is."""

    head: str
    cells: Sequence[Cell]
    texts: list[str]
    right: bool

    def __post_init__(self) -> None:
        self.tails = [marks(cell) for cell in self.cells]
        self.tail = max(map(width, self.tails), default=0)
        self.natural = max([width(self.head), *(width(text) + self.tail for text in self.texts)])
        self.room = self.natural

    @property
    def least(self) -> int:
        return self.natural if self.right else min(self.natural, max(_LEAST, width(self.head)))

    def lines(self, row: int, colour: bool) -> list[str]:
        """A cell's lines, each as wide as the column."""
        text, cell, room = self.texts[row], self.cells[row], self.room - self.tail
        pieces = [text] if width(text) <= room else wrapped(text, room)
        tail = self.tails[row] + " " * (self.tail - width(self.tails[row]))
        found = []
        for place, piece in enumerate(pieces):
            pad = " " * (room - width(piece))
            shown = f"{_BOLD}{piece}{_PLAIN}" if colour and isinstance(cell, Number) and cell.best else piece
            end = (_painted(tail, cell) if colour else tail) if place == 0 else " " * self.tail
            found.append(pad + shown + end if self.right else shown + pad + end)
        return found


def _painted(tail: str, cell: Cell) -> str:
    """Marks in colour where the change is significant; shapes tell the same without it."""
    if not isinstance(cell, Number) or not cell.change:
        return tail
    return f"{(_GREEN if cell.change > 0 else _RED) if cell.star else _DIM}{tail}{_PLAIN}"


def laid_out(table: Table, *, width: int | None = None, colour: bool = False) -> str:
    """The table as text."""
    columns = []
    for place, (name, right) in enumerate(zip(table.columns, table.right())):
        cells = [row[place] for row in table.rows]
        columns.append(_Column(table.head(name), cells, [table.shown(cell) for cell in cells], right))
    lines = [*_notes([table.title], width, _BOLD if colour else ""), ""] if table.title else []
    for number, block in enumerate(_blocks(columns, table.keys, width)):
        lines += [""] if number else []
        lines += _block(block, len(table.rows), colour)
    below = table.below()
    lines += ["", *_notes(below, width, _DIM if colour else "")] if below else []
    return "\n".join(lines) + "\n"


def _notes(texts: Sequence[str], room: int | None, style: str) -> list[str]:
    found = []
    for text in texts:
        pieces = [text] if room is None or width(text) <= room else _hanging(text, room)
        found += [f"{style}{piece}{_PLAIN}" if style else piece for piece in pieces]
    return found


def _hanging(text: str, room: int) -> list[str]:
    first, *rest = wrapped(text, room - 2)
    return [first, *(f"  {line}" for line in rest)]


def _blocks(columns: list[_Column], keys: int, room: int | None) -> Iterator[list[_Column]]:
    """Columns that stand side by side; what says which row it is stands in every block."""
    if room is None or _total(columns) <= room:
        yield columns
        return
    first, rest = columns[:keys], columns[keys:]
    while rest:
        taken = 1
        while taken < len(rest) and _least([*first, *rest[: taken + 1]]) <= room:
            taken += 1
        block = [*first, *rest[:taken]]
        _shrink(block, room)
        yield block
        rest = rest[taken:]


def _total(columns: Sequence[_Column]) -> int:
    return sum(column.room for column in columns) + len(_GAP) * (len(columns) - 1)


def _least(columns: Sequence[_Column]) -> int:
    return sum(column.least for column in columns) + len(_GAP) * (len(columns) - 1)


def _shrink(columns: Sequence[_Column], room: int) -> None:
    """Take room from the widest texts until all columns fit."""
    for column in columns:
        column.room = column.natural
    while _total(columns) > room:
        wide = max((c for c in columns if not c.right and c.room > c.least), key=lambda c: c.room, default=None)
        if wide is None:
            return
        wide.room -= 1


def _block(columns: Sequence[_Column], rows: int, colour: bool) -> list[str]:
    rule = _GAP.join("-" * column.room for column in columns)
    lines = [_GAP.join(_headed(column) for column in columns).rstrip(), f"{_DIM}{rule}{_PLAIN}" if colour else rule]
    for row in range(rows):
        cells = [column.lines(row, colour) for column in columns]
        for place in range(max(map(len, cells))):
            parts = [own[place] if place < len(own) else " " * c.room for own, c in zip(cells, columns)]
            lines.append(_GAP.join(parts).rstrip())
    return lines


def _headed(column: _Column) -> str:
    pad = " " * (column.room - width(column.head))
    return pad + column.head if column.right else column.head + pad
