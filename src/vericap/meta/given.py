"""Scores that were computed elsewhere, laid out as a task's captions; what is missing or too much is named."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from vericap.core.errors import InputError
from vericap.core.typing import Floats
from vericap.meta.task import Task

Given = Sequence[float] | Floats | Mapping[str, float]  # in the order of `task.samples(0)`, or by id
_NAMED = 5  # ids that are named; the others are counted
_RUN = re.compile(r"(@\d+)?(\+\d+)?$")  # what `Task.items` adds to an id for a run, and for a second caption


@dataclass(frozen=True)
class Laid:
    """One score per sample of every run (NaN where there is none), and what there is to say about them."""

    runs: list[Floats]
    notes: list[str] = field(default_factory=list)
    reason: str = ""  # why nothing can be made of them


def lay_out(name: str, given: Given, task: Task) -> Laid:
    """Scores of one row, higher is better, in the order of `task.items()`: by their ids, or as an array.

    Where references are drawn several times, scores without a run in their id (and an array for one run) serve every
    run. Of rated captions, ids of samples do as well (`7~0` for `7`).
    """
    ids = [sample.id for sample in task.items()]
    found = _by_id(name, given, task, ids) if isinstance(given, Mapping) else _in_order(name, given, task, ids)
    values = found.runs[0]
    if np.isinf(values).any():
        first = int(np.flatnonzero(np.isinf(values))[0])
        raise InputError(f"scores '{name}': the score of caption '{ids[first]}' is {values[first]}")
    notes, missing = list(found.notes), [ids[place] for place in np.flatnonzero(np.isnan(values))]
    if missing:
        notes.append(f"{name}: {len(missing)} captions have no score: {_listed(missing)}")
    reason = found.reason or ("no caption has a score" if len(missing) == len(ids) else "")
    return Laid(list(values.reshape(task.protocol.runs, -1)), notes if not reason else list(found.notes), reason)


def _in_order(name: str, given: Sequence[float] | Floats, task: Task, ids: Sequence[str]) -> Laid:
    try:
        values = np.asarray(given, dtype=np.float64).ravel()
    except (TypeError, ValueError) as error:
        raise InputError(f"scores '{name}' are not all numbers ({error})") from None
    count = len(ids) // task.protocol.runs
    if len(values) == count:
        values = np.tile(values, task.protocol.runs)
    if len(values) != len(ids):
        raise InputError(
            f"scores '{name}' hold {len(values)} numbers, protocol '{task.protocol.name}' has {count} captions; "
            "give them by the ids of the captions, or in the order of `task.samples(0)`"
        )
    return Laid([values])


def _by_id(name: str, given: Mapping[str, float], task: Task, ids: Sequence[str]) -> Laid:
    short = [_RUN.sub("", own) for own in ids]
    sampled = [f"{own}~0" if task.one_sided else own for own in short]
    values = np.array(
        [given.get(one, given.get(two, given.get(three, np.nan))) for one, two, three in zip(ids, short, sampled)],
        dtype=np.float64,
    )
    # Captions that this protocol leaves out are the data set's all the same.
    known = set(task.data.ids) if task.one_sided else set()
    known |= {f"{own}~{side}" for own in task.data.ids for side in range(1 if task.one_sided else 2)}
    own_ids = set(ids)
    extra = [str(own) for own in given if own not in own_ids and _RUN.sub("", str(own)) not in known]
    notes = [f"{name}: {len(extra)} ids are not in the data set: {_listed(extra)}"] if extra else []
    nothing = f"no id is one of the data set, whose first is '{ids[0]}'" if len(extra) == len(given) else ""
    return Laid([values], notes, nothing)


def _listed(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
    return ", ".join(ids[:_NAMED]) + more
