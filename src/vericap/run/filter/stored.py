"""Decisions on disk, piece by piece: a filter that was cut short goes on where it stopped."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vericap.run.filter.state import State
from vericap.run.shards import write_atomically


@dataclass(frozen=True)
class Stored:
    """The states of a filter in a folder, by pass and piece."""

    folder: Path

    def file(self, number: int, place: int) -> Path:
        return self.folder / f"scored-{number:02d}-{place:06d}.npz"

    def load(self, number: int, place: int) -> State | None:
        """The state of a piece after a pass, or None where it was not judged yet."""
        file = self.file(number, place)
        return load(file) if file.exists() else None

    def save(self, number: int, place: int, state: State) -> None:
        """Keep the state of a piece after a pass: it is there as a whole or not at all."""
        write_atomically(self.file(number, place), lambda file: save(state, file))


def save(state: State, file: Path) -> None:
    """Write a state: numbers as they are, everything else as JSON; nothing is pickled."""
    names: dict[str, Any] = {"columns": [], "texts": {}, "scored": list(state.scored), "problems": state.problems}
    arrays: dict[str, Any] = {"failed": state.failed}
    if state.entered is not None:
        arrays["entered"] = state.entered
    for place, seen in enumerate(state.scored.values()):
        arrays[f"scored{place}"] = seen
    for name, values in state.columns.items():
        if values.dtype == object:
            names["texts"][name] = values.tolist()
        else:
            arrays[f"column{len(names['columns'])}"] = values
            names["columns"].append(name)
    told = json.dumps(names, default=str).encode()
    arrays["names"] = np.frombuffer(told, dtype=np.uint8)
    with file.open("wb") as stream:
        np.savez(stream, **arrays)


def load(file: Path) -> State:
    """Read a state back."""
    with np.load(file, allow_pickle=False) as arrays:
        names = json.loads(arrays["names"].tobytes())
        columns = {name: arrays[f"column{place}"] for place, name in enumerate(names["columns"])}
        for name, cells in names["texts"].items():
            columns[name] = np.empty(len(cells), dtype=object)
            columns[name][:] = cells
        return State(
            failed=arrays["failed"],
            columns=columns,
            scored={label: arrays[f"scored{place}"] for place, label in enumerate(names["scored"])},
            problems={label: {int(row): why for row, why in own.items()} for label, own in names["problems"].items()},
            entered=arrays.get("entered"),
        )
