"""Published agreement numbers with their sources, kept as data files beside this module."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True)
class Published:
    """One number from a paper or from a reference program, x100, and how it was made."""

    dataset: str
    protocol: str
    metric: str  # the name it has here; empty where the product has no such metric
    label: str
    value: float
    digits: int
    source: str
    exact: bool = False  # the same computation: ours must agree to the last digit
    group: str = ""
    note: str = ""

    @property
    def tolerance(self) -> float:
        """Half a unit of the last printed digit."""
        return 0.5 * 10.0**-self.digits + 1e-9

    def as_dict(self) -> dict[str, Any]:
        return dict(vars(self))


@cache
def published() -> tuple[Published, ...]:
    """All published numbers, in the order of the files."""
    found = []
    folder = files("vericap.meta") / "published"
    for path in sorted(folder.iterdir(), key=lambda item: item.name):
        if not path.name.endswith(".json"):
            continue
        data = json.loads(path.read_text(encoding="utf-8"))
        for block in data["blocks"]:
            shared = {key: block[key] for key in ("protocol", "source", "note", "exact") if key in block}
            for row in block["values"]:
                text = str(row["value"])
                digits = len(text.partition(".")[2])
                fields = {**shared, **row, "value": float(text), "digits": digits, "dataset": data["dataset"]}
                found.append(Published(**fields))
    return tuple(found)


def published_for(dataset: str, metric: str) -> list[Published]:
    """What was published for a metric of ours on a data set, whatever the protocol."""
    return [item for item in published() if item.dataset == dataset and item.metric == metric]
