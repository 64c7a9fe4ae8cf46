"""Files to units: looked through once each, in several processes where there is much to look at.

What is known of a file (its digest, its units) may be kept: of several machines that share a run one looks at the
input, and the others take over what it found as long as the files have the size and the time of change they had.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from vericap.core.errors import Problem
from vericap.core.version import __version__
from vericap.io import archives, documents, units
from vericap.io.files import InputFile, open_file
from vericap.io.records import PLAIN, Fields
from vericap.io.units import RECORDS, Unit
from vericap.run import processes
from vericap.run.shards import read_record, write_record

_LARGE = 1 << 30  # bytes of an input that are worth several processes


@dataclass(frozen=True)
class How:
    """How files are read."""

    spool: Path
    format: str | None = None
    encoding: str = ""
    fields: Fields = PLAIN
    records: int = RECORDS


@dataclass(frozen=True)
class Planned:
    """What a look through a file has found."""

    name: str
    digest: str
    units: list[Unit]
    problems: list[Problem]


def plan_files(names: Sequence[str], how: How, *, workers: int = 1, known: Path | None = None) -> Iterator[Planned]:
    """Look through files, in order; `known` is a file of what was found before."""
    memory = None if known is None else Known(known, how)
    new = [name for name in names if memory is None or memory.of(name) is None]
    looked = iter(_looked_through(new, how, workers))
    found = [(memory and memory.of(name)) or next(looked) for name in names]
    if memory is not None and new:
        memory.keep(found)
    yield from found


def _looked_through(names: Sequence[str], how: How, workers: int) -> Iterable[Planned]:
    workers = min(workers, len(names), os.cpu_count() or 1)
    if workers > 1 and sum(os.path.getsize(name) for name in names if os.path.exists(name)) >= _LARGE:
        return processes.in_order(partial(plan_file, how), names, workers)
    return map(partial(plan_file, how), names)


def plan_file(how: How, name: str) -> Planned:
    """Look through one file."""
    file = open_file(name, how.spool, format=how.format, encoding=how.encoding)
    problems: list[Problem] = []
    found = units_of(file, how.fields, problems, how.spool, records=how.records)
    return Planned(name, file.digest, found, problems)


def units_of(
    file: InputFile, fields: Fields, problems: list[Problem], spool: Path, *, references: bool = False,
    records: int = RECORDS,
) -> list[Unit]:  # fmt: skip
    """The units of a file."""
    if file.kind in ("jsonl", "text"):
        return list(units.line_units(file, file.kind, records=records))
    if file.kind in ("csv", "tsv"):
        return list(units.csv_units(file, file.kind, fields, records=records))
    if file.kind == "tar":
        return list(archives.tar_units(file, records=records))
    if file.kind in ("parquet", "arrow"):
        from vericap.io import tables

        plan = tables.parquet_units if file.kind == "parquet" else tables.arrow_units
        return list(plan(file, fields, records=records))
    laid = spool / f"{file.digest[:16]}-{'references' if references else 'candidates'}.lines"
    if file.kind == "xlsx":
        documents.laid_down(documents.sheet_records(file, fields, problems), laid)
    else:
        documents.laid_down(documents.json_records(file, fields, problems, references=references), laid)
    spooled = replace(file, path=laid)
    return list(units.line_units(spooled, "spooled", records=records))


class Known:
    """What was found in files, kept as JSON; of a file that is read where it lies, without problems."""

    def __init__(self, path: Path, how: How) -> None:
        self.path, self._key = path, _key(how)
        stored = read_record(path) or {}
        self._files: dict[str, Any] = stored["files"] if stored.get("how") == self._key else {}

    def of(self, name: str) -> Planned | None:
        """What is known of a file that is as it was."""
        found = self._files.get(os.path.abspath(name))
        if found is None or found["state"] != _state(name):
            return None
        return Planned(name, found["digest"], [_unit(items) for items in found["units"]], [])

    def keep(self, planned: Iterable[Planned]) -> None:
        """Write down what was found."""
        files = {}
        for one in planned:
            lies = all(os.path.abspath(unit.path) == os.path.abspath(one.name) for unit in one.units)
            if lies and not one.problems:
                own = {"state": _state(one.name), "digest": one.digest, "units": list(map(astuple, one.units))}
                files[os.path.abspath(one.name)] = own
        write_record(self.path, {"how": self._key, "files": files})


def _key(how: How) -> str:
    return repr((__version__, how.format, how.encoding, how.fields, how.records))


def _state(name: str) -> list[int]:
    """Size and time of change."""
    found = os.stat(name)
    return [found.st_size, found.st_mtime_ns]


def _unit(items: list[Any]) -> Unit:
    found = Unit(*items)
    return replace(found, header=tuple(found.header), names=tuple(found.names))
