"""One table, printed as text, Markdown, LaTeX, CSV, JSON or HTML."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from typing import Any

from vericap.core.renders import Renders

Cell = Any  # str, int, float, Number, Interval or None

BETTER, WORSE, LOWER = "▲", "▼", "↓"
KINDS = ("text", "markdown", "latex", "csv", "json", "html")


@dataclass(frozen=True)
class Number:
    """A score in a cell: shown x100 where its table says so, and with marks.

    Attributes
    ----------
    value : the score as it was computed; None where there is none, and `instead` is shown.
    digits : decimals of the plain number, where they are other than the table's; x100 shows two fewer.
    spread : a deviation shown after the value ("± 0.01").
    gap : a difference shown in parentheses after the value ("(+0.01)").
    bounds : an interval shown in brackets after the value ("[0.41, 0.44]").
    best : whether it is the best of its kind; shown bold.
    change : 1 better, -1 worse than what it is compared with, 0 neither or nothing to compare with.
    star : whether the change is significant.
    """

    value: float | None
    digits: int | None = None
    spread: float | None = None
    gap: float | None = None
    bounds: Sequence[float] | None = None
    best: bool = False
    change: int = 0
    star: bool = False
    instead: str = "-"


@dataclass(frozen=True)
class Interval:
    """A range of scores in a cell: shown x100 where its table says so."""

    low: float
    high: float


@dataclass(frozen=True)
class Head:
    """What to know of a column: its name in a paper, and whether a lower number is the better one."""

    title: str = ""
    lower: bool = False


@dataclass
class Table(Renders):
    """Columns and rows; numbers are shown with `digits` places and set to the right.

    Attributes
    ----------
    columns, rows, title : what is shown.
    notes : lines below; in LaTeX they are comments.
    digits : decimals of numbers; of a `Number` those of the plain number.
    x100 : whether every `Number` and `Interval` is shown x100, with two decimals fewer.
    heads : what to know of columns, by name.
    legend : what marks mean; in LaTeX it stands inside the table.
    arrows : what better and worse refer to, where cells have arrows.
    keys : leading columns that say what a row is: repeated where a table is too wide for the terminal.

    Examples
    --------
    >>> table = Table(["system", "cider-d"], [["old", Number(1.2)], ["new", Number(1.25, best=True)]])
    >>> print(table.text(), end="")
    system  cider-d
    ------  -------
    old      1.2000
    new      1.2500
    >>> table.records()[1]
    {'system': 'new', 'cider-d': 1.25}
    """

    columns: Sequence[str]
    rows: list[Sequence[Cell]] = field(default_factory=list)
    title: str = ""
    notes: list[str] = field(default_factory=list)
    digits: int = 4
    x100: bool = False
    heads: Mapping[str, Head] = field(default_factory=dict)
    legend: list[str] = field(default_factory=list)
    arrows: str = ""
    keys: int = 1

    def add(self, *cells: Cell) -> None:
        self.rows.append(cells)

    # --- cells --------------------------------------------------------------------------------------------------

    def scaled(self, value: float) -> float:
        """A score as it is shown."""
        return 100 * value if self.x100 else value

    def places(self, digits: int | None = None) -> int:
        """Decimals of a score that has so many as a plain number."""
        own = self.digits if digits is None else digits
        return max(0, own - 2) if self.x100 else own

    def shown(self, cell: Cell) -> str:
        """A cell as text, without its marks."""
        if cell is None:
            return "-"
        if isinstance(cell, Number):
            return self._number(cell)
        if isinstance(cell, Interval):
            return self._interval(cell)
        if isinstance(cell, bool):
            return "yes" if cell else "no"
        if isinstance(cell, float):
            return f"{cell:.{self.digits}f}" if cell == cell else "undefined"
        return str(cell)

    def _number(self, cell: Number) -> str:
        if cell.value is None:
            return cell.instead
        if cell.value != cell.value:
            return "undefined"
        places = self.places(cell.digits)
        beside = "" if cell.spread is None else f" ± {self.scaled(cell.spread):.{places}f}"
        beside += "" if cell.gap is None else f" ({self.scaled(cell.gap):+.{places}f})"
        if cell.bounds is not None:
            beside += f" [{', '.join(f'{self.scaled(bound):.{places}f}' for bound in cell.bounds)}]"
        return f"{self.scaled(cell.value):.{places}f}{beside}"

    def _interval(self, cell: Interval) -> str:
        if cell.low != cell.low:
            return "-"
        low, high = (f"{self.scaled(bound):.{self.places()}f}" for bound in (cell.low, cell.high))
        return f"{low}-{high}" if cell.low >= 0 else f"{low} to {high}"

    def plain(self, cell: Cell) -> Cell:
        """A cell for programs: a number without marks, None where there is none."""
        if isinstance(cell, Number):
            if cell.value is None or cell.value != cell.value:
                return None
            beside = (cell.spread, cell.gap, cell.bounds)
            return self.shown(cell) if any(extra is not None for extra in beside) else self._plain(cell.value)
        if isinstance(cell, Interval):
            return None if cell.low != cell.low else self.shown(cell)
        return cell

    def _plain(self, value: float) -> float:
        return round(100 * value, 6) if self.x100 else float(value)

    def right(self) -> list[bool]:
        """A column is set to the right when its cells are numbers."""
        numeric = []
        for place in range(len(self.columns)):
            cells = [row[place] for row in self.rows if row[place] is not None]
            numeric.append(bool(cells) and all(isinstance(cell, int | float | Number) for cell in cells))
        return numeric

    def head(self, column: str) -> str:
        """A column's name as it is shown."""
        return f"{column} {LOWER}" if self.heads.get(column, Head()).lower else column

    def below(self) -> list[str]:
        """Lines below the table: what marks mean, then notes."""
        cells = [cell for row in self.rows for cell in row]
        said = [f"{BETTER} better, {WORSE} worse than {self.arrows}"] if self.arrows and any(map(_arrow, cells)) else []
        if any(head.lower for head in self.heads.values()) or any(_lower(cell) for cell in cells):
            said.append(f"{LOWER} lower is better")
        return [*self.legend, *(["; ".join(said)] if said else []), *self.remarks()]

    def remarks(self) -> list[str]:
        """Notes; the first one says that numbers are x100 where they are."""
        scores = any(isinstance(cell, Number | Interval) for row in self.rows for cell in row)
        if not self.x100 or not scores:
            return self.notes
        if not self.notes or self.notes[0].startswith("metric:"):  # a signature stands alone
            return ["x100", *self.notes]
        return [f"x100; {self.notes[0]}", *self.notes[1:]]

    # --- forms --------------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return self.html()

    def text(self, *, width: int | None = None, colour: bool = False) -> str:
        """For a terminal of so many columns (None: as wide as it is), with or without colours."""
        from vericap.core.layout import laid_out

        return laid_out(self, width=width, colour=colour)

    def latex(self) -> str:
        """For a paper: booktabs, clean names, the meaning of marks inside the table."""
        from vericap.core.latex import tabular

        return tabular(self)

    def html(self) -> str:
        """A plain table whose cells are text, whatever they hold; a notebook's own style dresses it."""
        sides = ["right" if right else "left" for right in self.right()]

        def line(tag: str, row: Sequence[str]) -> str:
            cells = (f'<{tag} align="{side}">{cell}</{tag}>' for side, cell in zip(sides, row))
            return f"<tr>{''.join(cells)}</tr>"

        def cell_of(cell: Cell) -> str:
            text = escape(self.shown(cell))
            return (f"<b>{text}</b>" if _best(cell) else text) + marks(cell)

        title = f"<caption>{escape(self.title)}</caption>" if self.title else ""
        head = line("th", [escape(self.head(name)) for name in self.columns])
        body = "".join(line("td", [cell_of(cell) for cell in row]) for row in self.rows)
        notes = "".join(f"<p><small>{escape(note)}</small></p>" for note in self.below())
        return f"<table>{title}<thead>{head}</thead><tbody>{body}</tbody></table>{notes}"

    def markdown(self) -> str:
        def line(row: Sequence[str]) -> str:
            return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) + " |"

        def cell_of(cell: Cell) -> str:
            text = self.shown(cell)
            return (f"**{text}**" if _best(cell) else text) + marks(cell).replace("*", r"\*")

        sides = ["---:" if right else "---" for right in self.right()]
        lines = [f"**{self.title}**", ""] if self.title else []
        lines += [line([self.head(name) for name in self.columns]), line(sides)]
        lines += [line([cell_of(cell) for cell in row]) for row in self.rows]
        below = [note.replace("* ", r"\* ", 1) if note.startswith("* ") else note for note in self.below()]
        return "\n".join(lines + (["", *below] if below else [])) + "\n"

    def csv(self) -> str:
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(self.columns)
        cells = [[self.plain(cell) for cell in row] for row in self.rows]
        writer.writerows([["" if cell is None else cell for cell in row] for row in cells])
        return stream.getvalue()

    def records(self) -> list[dict[str, Cell]]:
        """One plain dict per row."""
        return [dict(zip(self.columns, map(self.plain, row))) for row in self.rows]

    def json(self) -> str:
        """Strict JSON: an undefined number is null."""
        rows = [
            {name: None if isinstance(cell, float) and cell != cell else cell for name, cell in row.items()}
            for row in self.records()
        ]
        found = {"title": self.title, "rows": rows, "notes": [*self.legend, *self.remarks()]}
        return json.dumps(found, ensure_ascii=False, indent=2) + "\n"

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

    # --- kept on disk -------------------------------------------------------------------------------------------

    def as_dict(self) -> dict[str, Any]:
        """Everything, as JSON can hold it."""
        rows = [[_kept(cell) for cell in row] for row in self.rows]
        heads = {name: asdict(head) for name, head in self.heads.items()}
        return {**vars(self), "columns": list(self.columns), "rows": rows, "heads": heads}

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> Table:
        """What `as_dict` gave.

        Examples
        --------
        >>> table = Table(["system", "cider-d"], [["old", Number(1.2, star=True)]], x100=True)
        >>> Table.from_dict(table.as_dict()).text() == table.text()
        True
        """
        rows = [[_taken(cell) for cell in row] for row in kept["rows"]]
        return cls(**{**kept, "rows": rows, "heads": {name: Head(**own) for name, own in kept["heads"].items()}})


def marks(cell: Cell) -> str:
    """What follows a cell's number: an arrow and a star."""
    if not isinstance(cell, Number):
        return ""
    arrow = {1: f" {BETTER}", -1: f" {WORSE}"}.get(cell.change, "")
    return arrow + ("*" if cell.star else "")


def _arrow(cell: Cell) -> bool:
    return isinstance(cell, Number) and cell.change != 0


def _best(cell: Cell) -> bool:
    return isinstance(cell, Number) and cell.best


def _lower(cell: Cell) -> bool:
    return isinstance(cell, str) and cell.endswith(f" {LOWER}")


def _kept(cell: Cell) -> Any:
    kind = {Number: "number", Interval: "interval"}.get(type(cell))
    return cell if kind is None else {kind: asdict(cell)}


def _taken(cell: Any) -> Cell:
    if not isinstance(cell, dict):
        return cell
    return Number(**cell["number"]) if "number" in cell else Interval(**cell["interval"])
