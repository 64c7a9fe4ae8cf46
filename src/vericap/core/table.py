"""One table, printed as text, Markdown, LaTeX, CSV, JSON or HTML."""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

Cell = Any  # str, int, float or None

_LATEX = {"&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#", "$": r"\$", "{": r"\{", "}": r"\}", "±": r"$\pm$"}


def width(text: str) -> int:
    """Columns a text takes in a terminal (East Asian wide characters take two)."""
    return sum(0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF") for c in text)


@dataclass
class Table:
    """Columns and rows; numbers are shown with `digits` places and set to the right."""

    columns: Sequence[str]
    rows: list[Sequence[Cell]] = field(default_factory=list)
    title: str = ""
    notes: list[str] = field(default_factory=list)
    digits: int = 4

    def add(self, *cells: Cell) -> None:
        self.rows.append(cells)

    def shown(self, cell: Cell) -> str:
        if cell is None:
            return "-"
        if isinstance(cell, bool):
            return "yes" if cell else "no"
        if isinstance(cell, float):
            return f"{cell:.{self.digits}f}" if cell == cell else "undefined"
        return str(cell)

    def _cells(self) -> list[list[str]]:
        return [[self.shown(cell) for cell in row] for row in self.rows]

    def _right(self) -> list[bool]:
        """A column is set to the right when its cells are numbers."""
        numeric = []
        for place in range(len(self.columns)):
            cells = [row[place] for row in self.rows if row[place] is not None]
            numeric.append(bool(cells) and all(isinstance(cell, int | float) for cell in cells))
        return numeric

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return self.html()

    def html(self) -> str:
        """A plain table whose cells are text, whatever they hold; a notebook's own style dresses it."""
        sides = ["right" if right else "left" for right in self._right()]

        def line(tag: str, row: Sequence[str]) -> str:
            cells = (f'<{tag} align="{side}">{escape(cell)}</{tag}>' for side, cell in zip(sides, row))
            return f"<tr>{''.join(cells)}</tr>"

        title = f"<caption>{escape(self.title)}</caption>" if self.title else ""
        body = "".join(line("td", row) for row in self._cells())
        notes = "".join(f"<p><small>{escape(note)}</small></p>" for note in self.notes)
        return f"<table>{title}<thead>{line('th', list(self.columns))}</thead><tbody>{body}</tbody></table>{notes}"

    def text(self) -> str:
        cells = self._cells()
        right = self._right()
        widths = [max([width(head), *(width(row[i]) for row in cells)]) for i, head in enumerate(self.columns)]

        def line(row: Sequence[str]) -> str:
            parts = []
            for place, cell in enumerate(row):
                pad = " " * (widths[place] - width(cell))
                parts.append(pad + cell if right[place] else cell + pad)
            return "  ".join(parts).rstrip()

        lines = [self.title, ""] if self.title else []
        lines += [line(list(self.columns)), "  ".join("-" * w for w in widths), *map(line, cells)]
        return "\n".join(lines + (["", *self.notes] if self.notes else [])) + "\n"

    def markdown(self) -> str:
        def line(row: Sequence[str]) -> str:
            return "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"

        marks = ["---:" if right else "---" for right in self._right()]
        lines = [f"**{self.title}**", ""] if self.title else []
        lines += [line(list(self.columns)), line(marks), *map(line, self._cells())]
        return "\n".join(lines + (["", *self.notes] if self.notes else [])) + "\n"

    def latex(self) -> str:
        def line(row: Sequence[str]) -> str:
            return " & ".join("".join(_LATEX.get(c, c) for c in cell) for cell in row) + r" \\"

        alignment = "".join("r" if right else "l" for right in self._right())
        lines = [f"% {self.title}"] if self.title else []
        lines += [rf"\begin{{tabular}}{{{alignment}}}", r"\toprule", line(list(self.columns)), r"\midrule"]
        lines += [*map(line, self._cells()), r"\bottomrule", r"\end{tabular}"]
        return "\n".join([*lines, *(f"% {note}" for note in self.notes)]) + "\n"

    def csv(self) -> str:
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([["" if cell is None else cell for cell in row] for row in self.rows])
        return stream.getvalue()

    def records(self) -> list[dict[str, Cell]]:
        return [dict(zip(self.columns, row)) for row in self.rows]

    def json(self) -> str:
        """Strict JSON: an undefined number is null."""
        rows = [
            {name: None if isinstance(cell, float) and cell != cell else cell for name, cell in row.items()}
            for row in self.records()
        ]
        return json.dumps({"title": self.title, "rows": rows, "notes": self.notes}, ensure_ascii=False, indent=2)

    def render(self, kind: str) -> str:
        """One of text, markdown, latex, csv, json, html."""
        return str(
            {
                "text": self.text,
                "markdown": self.markdown,
                "latex": self.latex,
                "csv": self.csv,
                "json": self.json,
                "html": self.html,
            }[kind]()
        )
