"""All experiments on one page, taken up again where a run was interrupted."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from vericap import __version__
from vericap.core.errors import MissingPart
from vericap.core.keys import content_key
from vericap.core.shipped import ROOT
from vericap.core.table import Cell, Number, Table
from vericap.meta.catalogue import data_folder
from vericap.meta.scoring import why
from vericap.reproduce.catalogue import EXPERIMENTS
from vericap.reproduce.experiment import Choices, Experiment, Outcome

START, END = "<!-- results: made by a command, do not edit below -->", "<!-- end of results -->"
FAILED = "failed: "
_UNREAD = ("verdict", "fluency")  # models that no experiment of a paper reads


def results(
    choices: Choices,
    *,
    kept: Path | None = None,
    figures: Path | None = None,
    beside: Path | None = None,
    say: Callable[[str], None] | None = None,
    chosen: Sequence[Experiment] = EXPERIMENTS,
) -> str:
    """Every experiment's tables as Markdown; one that lacks data says what it needs.

    Parameters
    ----------
    choices : as for a single experiment.
    kept : folder in which finished experiments are kept; those that are there are not run again, unless models
        that ship have changed since.
    figures : folder for the figures.
    beside : folder of the page, from which it finds them.
    say : called with a line whenever an experiment is begun.
    chosen : experiments; all by default.
    """
    say = say or (lambda line: None)
    outcomes: dict[Experiment, Outcome | str] = {}
    for experiment in chosen:
        found: Outcome | str | None = _kept(experiment, kept)
        if found is None:
            say(f"{experiment.name} ...")
            found = attempt(experiment, choices, figures)
            if isinstance(found, str):
                say(found)
            elif kept is not None:
                keep(experiment, found, kept)
        outcomes[experiment] = found
    head = f"Made by vericap {__version__}.\n\n{_table(overview(outcomes))}"
    folder = data_folder(choices.data)
    return "\n".join([head, *(_section(experiment, found, beside, folder) for experiment, found in outcomes.items())])


def overview(outcomes: Mapping[Experiment, Outcome | str]) -> Table:
    """How near we come: how many numbers stand beside the paper's, and their mean distance where they are shares."""
    shown = Table(["experiment", "what it shows", "numbers beside the paper's", "mean distance, points"], digits=1)
    shown.title = "All experiments"
    for experiment, found in outcomes.items():
        gaps = [] if isinstance(found, str) else [gap for table in found.tables for gap in distances(table)]
        shares = [abs(gap) for gap, share in gaps if share]
        count = _why_not(found) if isinstance(found, str) else len(gaps) or None
        shown.add(experiment.name, experiment.title, count, float(np.mean(shares)) if shares else None)
    shown.notes = [
        "Points: of correlations and shares x100, over all rows of a table, classic metrics and learned ones alike; "
        "other numbers (scores of another network) are on another scale. What differs stands below each table."
    ]
    return shown


def distances(table: Table) -> list[tuple[float, bool]]:
    """Ours less the paper's wherever both stand side by side, and whether they are shares (x100); counts are not."""
    found, columns = [], list(table.columns)
    for place, name in enumerate(columns):
        if f"{name}, paper" not in columns:
            continue
        other = columns.index(f"{name}, paper")
        for row in table.rows:
            ours, theirs = _plain(row[place]), _plain(row[other])
            if ours is not None and theirs is not None:
                shares = table.x100 and all(isinstance(row[at], Number) for at in (place, other))
                found.append((table.scaled(ours - theirs) if shares else ours - theirs, shares))
    return found


def _plain(cell: Cell) -> float | None:
    if isinstance(cell, Number):
        return cell.value
    return float(cell) if isinstance(cell, int | float) and not isinstance(cell, bool) else None


def _why_not(reason: str) -> str:
    return "failed" if reason.startswith(FAILED) else "not run: data not at hand"


def attempt(one: Experiment, choices: Choices, figures: Path | None = None, *, alone: bool = False) -> Outcome | str:
    """What came out, or the reason why nothing did: unless it is `alone`, no experiment stops the others."""
    figure = figures / f"{one.name}.png" if figures is not None and one.figure else choices.figure
    try:
        return one.run(replace(choices, figure=figure))
    except Exception as error:
        if alone:
            raise
        return str(error) if isinstance(error, MissingPart) else f"{FAILED}{why(error)}"


def _kept(one: Experiment, folder: Path | None) -> Outcome | None:
    path = folder / f"{one.name}.json" if folder is not None else None
    if path is None or not path.is_file():
        return None
    kept = json.loads(path.read_text("utf-8"))
    return Outcome.from_dict(kept) if kept.get("made_with") == made_with() else None


def keep(one: Experiment, found: Outcome, folder: Path) -> None:
    """Written under another name first: what has the right name is whole."""
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = folder / f"{one.name}.part"
    kept = {"made_with": made_with(), **found.as_dict()}
    unfinished.write_text(json.dumps(kept, ensure_ascii=False), "utf-8")
    unfinished.replace(folder / f"{one.name}.json")


def made_with() -> str:
    """A key of vericap's version and the models that ship and may be read. What a user chose, such as a limit or models
    of their own, stands in the tables."""
    shipped = {path.parent.name: _weights(path) for path in sorted(ROOT.glob("*/meta.json"))}
    shipped = {part: files for part, files in shipped.items() if part not in _UNREAD}
    return content_key(__version__, json.dumps(shipped))


def _weights(meta: Path) -> Any:
    """SHA-256 of a model's files; what `record` notes in its meta file moves no number."""
    return json.loads(meta.read_text("utf-8")).get("files")


def _section(one: Experiment, found: Outcome | str, beside: Path | None, folder: Path) -> str:
    options = "" if isinstance(found, str) else f" {found.options}".rstrip()
    head = f"### {one.name}: {one.title}\n\n`vericap reproduce {one.name}{options}`\n"
    if isinstance(found, str):
        told = found.replace(str(folder), "DIR")  # where data sets lie on one machine is nobody else's
        return f"{head}\nNot run here:\n\n" + "\n".join(f"    {line}" for line in told.splitlines()) + "\n"
    tables = "\n".join(_table(table) for table in found.tables)
    where = [os.path.relpath(path, beside) if beside else path.name for path in found.figures]
    drawn = "".join(f"\n![{one.title}]({Path(path).as_posix()})\n" for path in where)
    return f"{head}\n{tables}{drawn}"


def _table(table: Table) -> str:
    """A table of a page: its title as text, its notes as a list."""
    title, notes = table.title, table.below()
    bare = replace(table, title="", notes=[], legend=[], x100=table.x100)
    rows = [line for line in bare.markdown().splitlines() if line.startswith("|")]
    return f"**{title}**\n\n" + "\n".join(rows) + "\n\n" + "".join(f"- {note}\n" for note in notes)


def write_into(page: Path, text: str) -> None:
    """Put the results between the page's marks; a page without marks gets them at its end."""
    old = page.read_text("utf-8") if page.is_file() else "# The papers' experiments\n\n"
    before, _, rest = old.partition(START)
    after = rest.partition(END)[2]
    page.write_text(f"{before.rstrip()}\n\n{START}\n\n{text.rstrip()}\n\n{END}{after or chr(10)}", "utf-8")
