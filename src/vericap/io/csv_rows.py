"""Rows of tables that are written as text. A quote that nobody closes costs its own row, never those after it.

Lines are read as RFC 4180 says: cells in quotes may hold delimiters, doubled quotes and line breaks. Many tables do
not keep to it, though (`7<tab>"hello" she said`, `8<tab>"unclosed`): a quote counts as one that opens a cell only if
what it opens ends like a cell and the row has as many cells as the header; else it is a sign like any other.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

LINES = 1000  # of one row, at the most
_OPEN = "unexpected end of data"  # what Python's reader says of a quote that is not closed


@dataclass(frozen=True)
class Row:
    """Cells, the number of their first line, and how many lines they take."""

    cells: list[str]
    line: int
    lines: int = 1
    problem: str = ""


class RowReader:
    """Rows of numbered lines.

    Parameters
    ----------
    lines : texts of lines; a line break at the end does no harm.
    delimiter : between cells.
    width : cells of a row; 0 where it is not known, as for the header.
    first : number of the first line.
    """

    def __init__(self, lines: Iterable[str], delimiter: str, *, width: int = 0, first: int = 1) -> None:
        self.delimiter, self.width, self.number = delimiter, width, first
        self._lines = iter(lines)
        self._ahead: list[str] = []  # lines that were looked at and not used

    def __iter__(self) -> Iterator[Row]:
        while (line := self._next()) is not None:
            row = self._row(line)
            self.number += row.lines
            yield row

    def _next(self) -> str | None:
        return self._ahead.pop(0) if self._ahead else next(self._lines, None)

    def _row(self, line: str) -> Row:
        text = line.rstrip("\r\n")
        if '"' not in text and "\r" not in text:
            return Row(text.split(self.delimiter) if text else [], self.number)
        cells, said = self._parsed([line])
        if not said:
            return Row(cells, self.number)
        if _OPEN not in said:
            cells, said = self._parsed([line], strict=False)
            return Row(cells, self.number, problem=said)
        return self._over_lines(line) or self._literal(text)

    def _over_lines(self, line: str) -> Row | None:
        """A row that goes on in the lines below; None where its quote is none, and the lines below are rows."""
        held, looked = [line], 0
        while len(held) < LINES:
            below = self._ahead[looked] if looked < len(self._ahead) else next(self._lines, None)
            if below is None:
                break
            if looked == len(self._ahead):
                self._ahead.append(below)
            looked += 1
            held.append(below)
            if '"' not in below:
                continue
            cells, said = self._parsed(held)
            if not said and len(cells) == (self.width or len(cells)):
                del self._ahead[:looked]
                return Row(cells, self.number, len(held))
            if _OPEN not in said:
                break
        return None

    def _literal(self, text: str) -> Row:
        cells = text.split(self.delimiter)
        fits = len(cells) == self.width
        reason = 'has a quote (") that opens a cell and is not closed; write "" for a quote inside of a cell'
        return Row(cells, self.number, problem="" if fits else reason)

    def _parsed(self, lines: list[str], *, strict: bool = True) -> tuple[list[str], str]:
        """The cells, and what is wrong with them."""
        try:
            whole = [one if one.endswith("\n") else one + "\n" for one in lines]
            return next(csv.reader(whole, delimiter=self.delimiter, strict=strict), []), ""
        except csv.Error as error:
            return [], str(error)
