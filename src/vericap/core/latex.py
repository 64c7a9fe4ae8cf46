r"""A table for a paper: it needs \usepackage{booktabs} and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vericap.core.layout import wrapped
from vericap.core.table import Head, Number

if TYPE_CHECKING:
    from vericap.core.table import Cell, Table

_NOTE = 64  # characters of a line of the legend, where the table is narrower
_ESCAPED = {
    "&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#", "$": r"\$", "{": r"\{", "}": r"\}", "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": "$<$", ">": "$>$", "|": "$|$", "±": r"$\pm$",
    "↓": r"$\downarrow$", "▲": r"$\uparrow$", "▼": r"$\downarrow$", "‡": r"\ddag{}", "\n": " ",
}  # fmt: skip


def escaped(text: str) -> str:
    r"""A text as LaTeX prints it.

    Examples
    --------
    >>> print(escaped("a_b & 5 %: p < 0.1"))
    a\_b \& 5 \%: p $<$ 0.1
    """
    return "".join(_ESCAPED.get(character, character) for character in text)


def tabular(table: Table) -> str:
    """The table with its legend inside; title and notes are comments."""
    columns = [_head(name, table.heads.get(name, Head())) for name in table.columns]
    rows = [[_cell(table, cell) for cell in row] for row in table.rows]
    sides = "".join("r" if right else "l" for right in table.right())
    lines = [_comment(table.title)] if table.title else []
    lines += [rf"\begin{{tabular}}{{{sides}}}", r"\toprule", _line(columns), r"\midrule", *map(_line, rows)]
    lines += [r"\bottomrule", *_legend(table), r"\end{tabular}"]
    return "\n".join([*lines, *map(_comment, table.remarks())]) + "\n"


def _line(cells: list[str]) -> str:
    # What follows the end of a row must not look like its argument.
    first = f"{{}}{cells[0]}" if cells[0].startswith(("[", "*")) else cells[0]
    return " & ".join([first, *cells[1:]]) + r" \\"


def _head(name: str, head: Head) -> str:
    return escaped(head.title or name) + (r" $\downarrow$" if head.lower else "")


def _cell(table: Table, cell: Cell) -> str:
    text = escaped(table.shown(cell))
    if not isinstance(cell, Number):
        return text
    # The star takes no room, so that digits stand below each other.
    return (rf"\textbf{{{text}}}" if cell.best else text) + (r"\rlap{$^{*}$}" if cell.star else "")


def _legend(table: Table) -> list[str]:
    said = [*table.legend]
    if any(head.lower for head in table.heads.values()):
        said.append("↓ lower is better")
    wide = max((sum(len(table.shown(cell)) + 2 for cell in row) for row in table.rows), default=0)
    lines = [line for text in said for line in wrapped(text, max(_NOTE, wide))]
    return [rf"\multicolumn{{{len(table.columns)}}}{{l}}{{\footnotesize {_starred(line)}}} \\" for line in lines]


def _starred(line: str) -> str:
    return "$^{*}$" + escaped(line[1:]) if line.startswith("* ") else escaped(line)


def _comment(text: str) -> str:
    return f"% {' '.join(text.split())}"
