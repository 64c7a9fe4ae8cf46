"""Rows of a run, shard by shard: written by workers, put together at the end, byte for byte the same whoever did it."""

from __future__ import annotations

import csv
import json
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from json.encoder import encode_basestring
from math import isfinite
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from vericap.core.errors import InputError
from vericap.io.columns import fitted, holds_bytes, unified, without_bytes
from vericap.io.write import SIGNATURES, cell_of, csv_line, json_lines, replacing, table_of
from vericap.run.results import Result
from vericap.run.shards import Records, write_atomically

if TYPE_CHECKING:
    import pyarrow

    from vericap.run.stream import Outcome

ALL = "all"
KINDS = (".jsonl", ".csv", ".parquet")
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Parts:
    """Writes a shard's rows as a file of its own.

    Parameters
    ----------
    kind : ending of the parts: .jsonl, .csv or .parquet; .json is put together from lines.
    columns : of the input that are passed on: none, names, or ("all",).
    header : whether a part in CSV has its own header: where parts are what the user gets.
    """

    kind: str = ".jsonl"
    columns: tuple[str, ...] = ()
    header: bool = False

    @property
    def ending(self) -> str:
        return "jsonl" if self.kind == ".json" else self.kind[1:]

    def write(self, folder: Path, number: int, result: Result, records: Records) -> dict[str, Any]:
        """Write the rows of a shard; what is given back goes into its record."""
        table = columns_of(result)
        table.update(passed_on(records, self.columns, list(table)))
        path = folder / f"part-{number:05d}.{self.ending}"
        write_atomically(path, _writer(self.ending, table, header=self.header))
        return {"rows": len(result.ids), "columns": list(table)}


def columns_of(result: Result) -> dict[str, Any]:
    """Columns of a result, with those for problems and remarks always there: all shards have the same."""
    found = dict(result.table)
    explained = {name: found.pop(name) for name in list(found) if name.endswith(".explanation")}
    for name in ("problem", "remark"):
        found[name] = found.pop(name, [None] * len(result.ids))
    return {**found, **explained}


def passed_on(records: Records, wanted: Sequence[str], taken: Sequence[str]) -> dict[str, Any]:
    """Columns of the input under their names; where the result has one of that name it is called `input.NAME`.

    Images are passed on where they are named; formats of text hold their paths.
    """
    if not wanted:
        return {}
    table = records.columns
    names = list(table.column_names)
    if tuple(wanted) != (ALL,):
        check_columns(wanted, names)
        names = [name for name in wanted if name in names]
    else:
        names = [
            name for name in names if not holds_bytes(table.schema.field(name).type) and name not in ("id", "candidate")
        ]
    return {(f"input.{name}" if name in taken else name): table.column(name) for name in names}


def _writer(ending: str, table: Mapping[str, Any], *, header: bool) -> Callable[[Path], None]:
    def lines(path: Path) -> None:
        with path.open("w", encoding="utf-8", newline="") as stream:
            if ending == "jsonl":
                stream.writelines(_json_rows(table))
                return
            if header:
                stream.write(csv_line(list(table)))
            for row in _rows(table):
                stream.write(csv_line([cell_of(value) for value in row.values()]))

    def parquet(path: Path) -> None:
        import pyarrow.parquet as pq

        pq.write_table(_arrow(table), path)

    return parquet if ending == "parquet" else lines


def _json_rows(table: Mapping[str, Any]) -> Iterable[str]:
    """Rows as `json_lines` writes them, column by column: a third of the time."""
    try:
        columns = [_json_cells(cells_of(values)) for values in table.values()]
        names = [json.dumps(name, ensure_ascii=False).replace("%", "%%") for name in table]
        lines = list(map(("{" + ", ".join(f"{name}: %s" for name in names) + "}\n").__mod__, zip(*columns)))
        "".join(lines).encode("utf-8")
    except (TypeError, ValueError):  # a value that is not for JSON, half a character: row by row
        return json_lines(_rows(table))
    return lines


def _json_cells(cells: list[Any]) -> Iterable[str]:
    kinds = set(map(type, cells))
    if kinds == {str}:
        return map(encode_basestring, cells)
    if kinds == {float} and all(map(isfinite, cells)):
        return map(float.__repr__, cells)
    if kinds <= {type(None)}:
        return ["null"] * len(cells)
    encode = json.JSONEncoder(ensure_ascii=False).encode
    return map(encode, cells)


def _rows(table: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    names = list(table)
    for cells in zip(*(cells_of(values) for values in table.values())):
        yield dict(zip(names, cells))


def cells_of(values: Any) -> list[Any]:
    """Cells as JSON knows them; NaN becomes None."""
    if isinstance(values, np.ndarray):
        found = values.tolist()
        return [None if cell != cell else cell for cell in found] if values.dtype.kind == "f" else found
    if hasattr(values, "to_pylist"):
        plain = without_bytes(values)
        return [None] * len(values) if plain is None else list(plain.to_pylist())
    return list(values)


def _arrow(table: Mapping[str, Any]) -> pyarrow.Table:
    import pyarrow as pa

    from vericap.io.columns import column

    found = {}
    for name, values in table.items():
        if isinstance(values, np.ndarray) and values.dtype.kind == "f":
            found[name] = pa.array(values, from_pandas=True)
        elif hasattr(values, "to_pylist"):
            found[name] = values
        elif name in ("problem", "remark"):
            found[name] = pa.array(list(values), pa.string())
        elif name.endswith(".explanation"):
            texts = [None if v is None else json.dumps(v, ensure_ascii=False) for v in values]
            found[name] = pa.array(texts, pa.string())
        else:
            found[name] = column(cells_of(values))
    return pa.table(found)


# --- putting together -------------------------------------------------------------------------------------------


def assemble(folder: Path, output: Path | None, kind: str, outcome: Outcome) -> None:
    """One file of all parts (standard output where `output` is None); records that could not be read stand last."""
    if output is None:
        with _standard_output() as stream:
            _lines(folder, stream, outcome)
        return
    with replacing(output) as temporary:
        if kind == ".parquet":
            _parquet(folder, temporary, outcome)
            return
        with temporary.open("wb") as stream:
            {".jsonl": _lines, ".csv": _csv, ".json": _json}[kind](folder, stream, outcome)


@contextmanager
def _standard_output() -> Iterator[IO[bytes]]:
    """Standard output in bytes; where a notebook or a test has put a text stream in its place, as text."""
    try:
        number = sys.stdout.fileno()
    except (OSError, AttributeError):
        with BytesIO() as held:
            yield held
            sys.stdout.write(held.getvalue().decode("utf-8"))
        return
    with open(number, "wb", closefd=False) as stream:
        yield stream


def check_columns(wanted: Sequence[str], names: Sequence[str]) -> None:
    """Refuse columns that the input does not have."""
    absent = [name for name in wanted if name not in names]
    if absent and names and tuple(wanted) != (ALL,):
        raise InputError(f"`columns={','.join(wanted)}`: no column {', '.join(absent)}; there are {', '.join(names)}")


def _parts(outcome: Outcome) -> Iterator[tuple[int, dict[str, Any]]]:
    return ((number, record["part"]) for number, record in enumerate(outcome.records) if "part" in record)


def _columns(outcome: Outcome) -> list[str]:
    return list(dict.fromkeys(name for _, part in _parts(outcome) for name in part["columns"]))


def unread(folder: Path, outcome: Outcome) -> Iterator[dict[str, Any]]:
    """Rows of the records that could not be read."""
    empty = dict.fromkeys(_columns(outcome))
    for number, record in enumerate(outcome.records):
        if record["unread"]:
            with (folder / f"bad-{number:05d}.jsonl").open(encoding="utf-8") as stream:
                for _, line in zip(range(record["unread"]), stream):
                    problem = json.loads(line)
                    yield {**empty, "id": f"{problem['source']}: {problem['record']}", "problem": problem["reason"]}


def _lines(folder: Path, stream: IO[bytes], outcome: Outcome) -> None:
    for number, _ in _parts(outcome):
        with (folder / f"part-{number:05d}.jsonl").open("rb") as part:
            shutil.copyfileobj(part, stream, _BLOCK)
    for line in json_lines(unread(folder, outcome)):
        stream.write(line.encode("utf-8"))


def _csv(folder: Path, stream: IO[bytes], outcome: Outcome) -> None:
    """Rows, and in the last column of the first one the signatures as JSON."""
    names = _columns(outcome)
    said: str | None = json.dumps(outcome.signatures)
    stream.write(csv_line([*names, "signatures"]).encode("utf-8"))
    for number, part in _parts(outcome):
        with (folder / f"part-{number:05d}.csv").open(encoding="utf-8", newline="") as rows:
            for row in csv.reader(rows):
                cells = dict(zip(part["columns"], row))
                stream.write(csv_line([*(cells.get(name) for name in names), said]).encode("utf-8"))
                said = None
    for record in unread(folder, outcome):
        stream.write(csv_line([*(record[name] for name in names), said]).encode("utf-8"))
        said = None


def _json(folder: Path, stream: IO[bytes], outcome: Outcome) -> None:
    """Corpus scores and rows in one document, as `json.dump` writes it, row by row."""
    head = json.dumps({**outcome.summary(), "rows": []}, ensure_ascii=False, indent=1)
    stream.write(head[: -len("[]\n}")].encode("utf-8") + b"[")
    first = True
    for row in _all_rows(folder, outcome):
        text = json.dumps(row, ensure_ascii=False, indent=1).replace("\n", "\n  ")
        stream.write(f"{'' if first else ','}\n  {text}".encode())
        first = False
    stream.write(b"\n ]\n}\n" if not first else b"]\n}\n")


def _all_rows(folder: Path, outcome: Outcome) -> Iterator[dict[str, Any]]:
    for number, _ in _parts(outcome):
        with (folder / f"part-{number:05d}.jsonl").open(encoding="utf-8") as part:
            yield from map(json.loads, part)
    yield from unread(folder, outcome)


def _parquet(folder: Path, target: Path, outcome: Outcome) -> None:
    import pyarrow.parquet as pq

    files = [folder / f"part-{number:05d}.parquet" for number, _ in _parts(outcome)]
    schema = unified([pq.read_schema(file) for file in files])
    schema = schema.with_metadata({SIGNATURES: json.dumps(outcome.signatures)})
    with pq.ParquetWriter(target, schema) as writer:
        for file in files:
            writer.write_table(fitted(pq.read_table(file), schema))
        rest = list(unread(folder, outcome))
        if rest:
            writer.write_table(fitted(table_of(rest), schema))


def side_file(folder: Path, target: Path, outcome: Outcome) -> None:
    """All bad records with their reasons, a line each; no file where there is none."""
    if not outcome.problems:
        target.unlink(missing_ok=True)
        return
    with replacing(target) as temporary, temporary.open("wb") as stream:
        for number, record in enumerate(outcome.records):
            if record["problems"]:
                with (folder / f"bad-{number:05d}.jsonl").open("rb") as part:
                    shutil.copyfileobj(part, stream, _BLOCK)
