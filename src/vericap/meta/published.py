"""Published numbers with their sources, kept as data files beside this module.

Files named after a data set hold what the literature says of it. Files named after a paper (`faier.json`, `reo.json`,
`vifidel.json`, `jaspice.json`) hold its tables: `vericap reproduce` prints them beside ours.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

RAW = "raw"  # a number as it is printed; others are correlations and shares, x100


@dataclass(frozen=True)
class Published:
    """One number from a paper or from a reference program, and how it was made."""

    dataset: str
    protocol: str  # empty where the number is no agreement with people: `experiment` makes it
    metric: str  # the name it has here; empty where the product has no such metric
    label: str
    value: float
    digits: int
    source: str
    exact: bool = False  # the same computation: ours must agree to the last digit
    group: str = ""
    note: str = ""
    paper: str = ""  # faier, reo, vifidel, jaspice: one of its own tables
    table: str = ""
    page: str = ""  # empty: not known to us
    copied: str = ""  # where it is copied to, if that is where we have it from
    column: str = ""
    references: int | None = None  # another number than the protocol's
    objects: str = ""  # "gold": with the objects that the data set brings
    unit: str = "x100"
    unlike: str = ""  # why ours cannot be compared with it
    experiment: str = ""  # of `vericap reproduce`

    @property
    def tolerance(self) -> float:
        """Half a unit of the last printed digit."""
        return 0.5 * 10.0**-self.digits + 1e-9

    @property
    def where(self) -> str:
        """Source, table and page."""
        page = f"p. {self.page}" if self.page else ""
        copied = f"as copied into {self.copied}" if self.copied else ""
        return ", ".join(filter(None, [self.source, self.table, page, copied]))

    def as_dict(self) -> dict[str, Any]:
        return dict(vars(self))


@cache
def published() -> tuple[Published, ...]:
    """All published numbers, in the order of the files."""
    folder = files("vericap.meta") / "published"
    paths = sorted((path for path in folder.iterdir() if path.name.endswith(".json")), key=lambda path: path.name)
    return tuple(item for path in paths for item in _read(json.loads(path.read_text(encoding="utf-8"))))


def _read(data: dict[str, Any]) -> Iterator[Published]:
    """The numbers of a file: what a block says holds for all its values, what the file says for all its blocks."""
    shared = {name: value for name, value in data.items() if name != "blocks"}
    for block in data["blocks"]:
        common = {**shared, **{name: value for name, value in block.items() if name not in ("values", "rows")}}
        for row in (*block.get("values", ()), *_cells(block.get("rows", {}), common)):
            text = str(row["value"])
            digits = len(text.partition("e")[0].partition(".")[2])
            yield Published(**{"protocol": "", **common, **row, "value": float(text), "digits": digits})


def _cells(rows: dict[str, dict[str, str]], common: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A printed table: label -> column -> number. `columns` and `labels` say what each column and label stands for."""
    columns, labels = common.pop("columns", {}), common.pop("labels", {})
    for label, cells in rows.items():
        for column, value in cells.items():
            names = {"label": label, "column": column, "value": value}
            yield {"metric": "", **columns.get(column, {}), **labels.get(label, {}), **names}


def published_for(dataset: str, metric: str, protocol: str = "") -> list[Published]:
    """What was published for a metric of ours on a data set: by the literature under any protocol, and what the tables
    of single papers say under this one."""
    found = [item for item in published() if item.dataset == dataset and item.metric == metric]
    usual = [item for item in found if item.protocol and item.references is None]
    return [item for item in usual if not item.paper or item.protocol == protocol]


def paper_values(paper: str, table: str) -> list[Published]:
    """The numbers of one table or figure of a paper that are known to us."""
    return [item for item in published() if item.paper == paper and item.table == table]
