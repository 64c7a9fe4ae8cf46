"""Scores that were written before, of any number of captions: pages in any order without holding them all.

The columns that a list shows (id, caption, scores, problem) are copied once into an Arrow file that the system maps
into memory; reasons and references stay where they are and are read for the one caption that is opened.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from vericap.core.errors import InputError
from vericap.core.typing import Array, Ints
from vericap.metrics.registry import names
from vericap.report.site.chunks import rounded

SUFFIX = ".explanation"
ENDINGS = (".parquet", ".jsonl")
ROWS = 10_000  # read at once
PAGE = 200  # most rows of a page
_FIRST = 200  # lines of JSONL that tell which columns hold scores
_BATCH = 1024  # rows decoded at once in search of one


@dataclass(frozen=True)
class Wanted:
    """Which rows, in which order."""

    sort: str = ""  # a metric; "-NAME" begins with the highest value
    query: str = ""
    metric: str = ""
    low: float | None = None
    high: float | None = None
    problems: bool = False


@dataclass
class ScoreTable:
    """Files of scores as one table; `close` removes what was copied."""

    files: list[Path]
    metrics: list[str]
    signatures: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="vericap-scores-")
        self._starts: list[int] = []  # the first row of each file
        self._lines: list[Ints] = []  # of JSONL files: where each row begins
        self._order = lru_cache(maxsize=8)(self._ordered)
        schema = pa.schema(
            [("id", pa.string()), ("candidate", pa.string()), ("problem", pa.string())]
            + [(name, pa.float32()) for name in self.metrics]
        )
        light = Path(self._folder.name) / "light.arrow"
        with pa.OSFile(str(light), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
            for batch in self._batches(schema):
                writer.write_batch(batch)
        self._map = pa.memory_map(str(light))
        self.table: pa.Table = pa.ipc.open_file(self._map).read_all()

    @classmethod
    def of(cls, path: Path) -> ScoreTable:
        """The table of a file, or of all files of a folder, that `vericap score --output` wrote."""
        files = _files(path)
        metrics, signatures = _parquet_metrics(files) if files[0].suffix == ".parquet" else _json_metrics(files[0])
        if not metrics:
            raise InputError(f"{path}: no column holds scores of a metric; name what `vericap score --output` wrote")
        return cls(files, metrics, signatures)

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def close(self) -> None:
        self._order.cache_clear()
        del self.table
        self._map.close()
        self._folder.cleanup()

    # --- pages --------------------------------------------------------------------------------------------------

    def page(self, wanted: Wanted, start: int, count: int) -> tuple[int, list[dict[str, Any]]]:
        """How many rows fit, and those of one page; a row is named by its number."""
        rows = self._order(wanted)
        own = rows[start : start + min(count, PAGE)]
        found = self.table.take(pa.array(own)).to_pylist()
        return len(rows), [{"row": int(row), **_plain(record)} for row, record in zip(own, found)]

    def _ordered(self, wanted: Wanted) -> Ints:
        rows = self._fitting(wanted)
        name = wanted.sort.removeprefix("-")
        if name not in self.metrics:
            return rows
        values = self._column(name)[rows]
        order = np.argsort(-values if wanted.sort.startswith("-") else values, kind="stable")  # NaN comes last
        return rows[order]

    def _fitting(self, wanted: Wanted) -> Ints:
        fits = np.ones(len(self), dtype=bool)
        for word in wanted.query.lower().split():
            own = [pc.match_substring(self.table[c], word, ignore_case=True) for c in ("candidate", "id")]
            fits &= np.asarray(pc.fill_null(pc.or_kleene(*own), False))
        if wanted.metric in self.metrics:
            values = self._column(wanted.metric)
            with np.errstate(invalid="ignore"):
                fits &= values >= wanted.low if wanted.low is not None else True
                fits &= values <= wanted.high if wanted.high is not None else True
        if wanted.problems:
            fits &= np.asarray(self.table["problem"].is_valid())
        return np.flatnonzero(fits).astype(np.int64)

    def _column(self, name: str) -> Array:
        return np.asarray(pc.fill_null(self.table[name], float("nan")))

    # --- one row ------------------------------------------------------------------------------------------------

    def record(self, row: int) -> dict[str, Any]:
        """Everything that the files hold of a row."""
        if not 0 <= row < len(self):
            raise InputError(f"there is no row {row}; the table has {len(self)}")
        file = bisect_right(self._starts, row) - 1
        place = row - self._starts[file]
        if self.files[file].suffix == ".jsonl":
            return self._line(file, place)
        return _parquet_row(self.files[file], place)

    def _line(self, file: int, place: int) -> dict[str, Any]:
        with self.files[file].open("rb") as stream:
            stream.seek(int(self._lines[file][place]))
            found: dict[str, Any] = json.loads(stream.readline())
        return found

    # --- the first look -----------------------------------------------------------------------------------------

    def _batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        total = 0
        for number, file in enumerate(self.files):
            self._starts.append(total)
            read = partial(self._json_batches, number) if file.suffix == ".jsonl" else _parquet_batches
            for batch in read(file, schema):
                total += batch.num_rows
                yield batch

    def _json_batches(self, number: int, file: Path, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        places: list[int] = []
        records: list[Mapping[str, Any]] = []
        for place, record in _json_records(file):
            places.append(place)
            records.append(record)
            if len(records) == ROWS:
                yield _light(records, schema)
                records = []
        self._lines.append(np.array(places, dtype=np.int64))
        if records:
            yield _light(records, schema)


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        found = [file for ending in ENDINGS for file in sorted(path.glob(f"[!.]*{ending}"))]
        same = [file for file in found if file.suffix == found[0].suffix]
    else:
        same = [path] if path.is_file() and path.suffix in ENDINGS else []
    if not same:
        raise InputError(
            f"{path}: is neither a report (a folder with index.html) nor scores ({' or '.join(ENDINGS)}) "
            "that `vericap score --output` wrote"
        )
    return same


def _named(columns: Sequence[str], numeric: Callable[[str], bool]) -> list[str]:
    """Columns that hold scores: numbers with the name of a metric, or with reasons beside them."""
    known = set(names())
    return [
        name
        for name in columns
        if (name.partition(":")[0] in known or name.startswith("mean(") or f"{name}{SUFFIX}" in columns)
        and not name.endswith(SUFFIX)
        and numeric(name)
    ]


# --- Parquet ------------------------------------------------------------------------------------------------------


def _parquet_metrics(files: Sequence[Path]) -> tuple[list[str], dict[str, str]]:
    schema = _readable(files[0], pq.read_schema)
    kinds = {item.name: item.type for item in schema}
    numeric = [name for name, kind in kinds.items() if pa.types.is_floating(kind) or pa.types.is_integer(kind)]
    stored = (schema.metadata or {}).get(b"vericap.signatures", b"{}")
    return _named(list(kinds), numeric.__contains__), dict(json.loads(stored))


def _readable(file: Path, read: Callable[[Path], Any]) -> Any:
    try:
        return read(file)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{file}: not a readable Parquet file ({error})") from error


def _parquet_batches(file: Path, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    with _readable(file, pq.ParquetFile) as source:
        there = [name for name in schema.names if name in source.schema_arrow.names]
        for batch in source.iter_batches(batch_size=ROWS, columns=there):
            columns = [
                batch.column(item.name).cast(item.type) if item.name in there else pa.nulls(batch.num_rows, item.type)
                for item in schema
            ]
            yield pa.record_batch(columns, schema=schema)


def _parquet_row(file: Path, place: int) -> dict[str, Any]:
    """One row of a file: its row group is decoded up to it, a little at a time."""
    with pq.ParquetFile(file) as source:
        group = 0
        while place >= source.metadata.row_group(group).num_rows:
            place -= source.metadata.row_group(group).num_rows
            group += 1
        keep = [item.name for item in source.schema_arrow if not pa.types.is_binary(item.type)]
        for batch in source.iter_batches(batch_size=_BATCH, row_groups=[group], columns=keep):
            if place < batch.num_rows:
                found: dict[str, Any] = batch.slice(place, 1).to_pylist()[0]
                return found
            place -= batch.num_rows
    raise InputError(f"{file}: holds fewer rows than it says")


# --- JSONL --------------------------------------------------------------------------------------------------------


def _json_metrics(file: Path) -> tuple[list[str], dict[str, str]]:
    kinds: dict[str, bool] = {}
    for number, (_, record) in enumerate(_json_records(file)):
        for name, value in record.items():
            number_like = value is None or (isinstance(value, int | float) and not isinstance(value, bool))
            kinds[name] = kinds.get(name, True) and number_like
        if number == _FIRST:
            break
    return _named(list(kinds), lambda name: kinds[name]), {}


def _json_records(file: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Where each line begins, and its record."""
    place = 0
    with file.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            if line.strip():
                try:
                    record = json.loads(line)
                except (ValueError, RecursionError) as error:
                    raise InputError(f"{file}: line {number} is no JSON ({error})") from error
                if not isinstance(record, Mapping):
                    raise InputError(f"{file}: line {number} is no record")
                yield place, record
            place += len(line)


def _light(records: Sequence[Mapping[str, Any]], schema: pa.Schema) -> pa.RecordBatch:
    columns = []
    for item in schema:
        cells = [record.get(item.name) for record in records]
        if pa.types.is_string(item.type):
            columns.append(pa.array([None if cell is None else str(cell) for cell in cells], item.type))
        else:
            columns.append(pa.array([cell if isinstance(cell, int | float) else None for cell in cells], item.type))
    return pa.record_batch(columns, schema=schema)


def _plain(record: Mapping[str, Any]) -> dict[str, Any]:
    """A row for JSON: short numbers, null where there is none."""
    return {name: rounded(value) if isinstance(value, float) else value for name, value in record.items()}
