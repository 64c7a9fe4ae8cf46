"""Parquet and Arrow files: rows in pieces, text that is not UTF-8 named by row, images as bytes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import local
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from vericap.core.errors import InputError, Problem
from vericap.io.files import InputFile
from vericap.io.records import Fields, check_columns, rename
from vericap.io.units import BYTES, RECORDS, Content, Unit

BROKEN = (
    pa.ArrowException,
    OSError,
    ValueError,
    KeyError,
    OverflowError,
    MemoryError,
    NotImplementedError,
    SystemError,
)
_BUFFER = 1 << 20  # bytes of a column that are read at a time
_STEPS = 8  # in which a unit is read
_ROWS = 1000  # for each byte of a file, at the most: a file that says so of itself is a bomb


@dataclass(frozen=True)
class Unreadable:
    """A cell that cannot be read, and why."""

    reason: str


def parquet_units(file: InputFile, fields: Fields, *, records: int = RECORDS, size: int = BYTES) -> Iterator[Unit]:
    """Units of rows."""
    try:
        with pq.ParquetFile(file.path) as found:
            check_columns(found.schema_arrow.names, file.name, fields)
            groups = [found.metadata.row_group(i) for i in range(found.metadata.num_row_groups)]
            sizes = [(group.num_rows, group.total_byte_size) for group in groups]
    except InputError:
        raise
    except BROKEN as error:
        raise InputError(f"{file.name}: not a readable Parquet file ({_short(error)})") from None
    yield from _row_units(file, "parquet", sizes, records, size)


def arrow_units(file: InputFile, fields: Fields, *, records: int = RECORDS, size: int = BYTES) -> Iterator[Unit]:
    """Units of rows of an Arrow file or stream (as `datasets` keeps them)."""
    try:
        with _batches(file.path) as found:
            check_columns(found.schema.names, file.name, fields)
            counts = [batch.num_rows for batch in _each(found)]
            each = file.path.stat().st_size / max(sum(counts), 1)  # what a batch says of itself is not yet checked
            sizes = [(rows, int(rows * each)) for rows in counts]
    except InputError:
        raise
    except BROKEN as error:
        raise InputError(f"{file.name}: not a readable Arrow file ({_short(error)})") from None
    yield from _row_units(file, "arrow", sizes, records, size)


def _row_units(file: InputFile, kind: str, sizes: list[tuple[int, int]], records: int, size: int) -> Iterator[Unit]:
    """Units of rows: small groups together, large ones in pieces. `header` is the row its first group begins with."""
    if any(rows < 0 for rows, _ in sizes) or sum(rows for rows, _ in sizes) > _ROWS * file.path.stat().st_size:
        raise InputError(f"{file.name}: says it has more rows than its size can hold; not read")
    row, start, group, begins, held = 0, 0, 0, 0, 0.0
    for number, (rows, bytes_) in enumerate(sizes):
        each = max(bytes_, 1) / max(rows, 1)
        taken = 0
        while taken < rows:
            room = max(1, min(records - (row - start), int((size - held) / each)))
            step = min(room, rows - taken)
            taken, row, held = taken + step, row + step, held + step * each
            if row - start >= records or held + each > size:
                yield _row_unit(file, kind, start, row, group, begins)
                start, held = row, 0.0
                group, begins = (number, row - taken) if taken < rows else (number + 1, row)
    if row > start:
        yield _row_unit(file, kind, start, row, group, begins)


def _row_unit(file: InputFile, kind: str, start: int, stop: int, group: int, begins: int) -> Unit:
    return Unit(kind, str(file.path), file.name, start, stop, start + 1, str(file.folder), (str(begins),), group)


def _cut(batches: Iterator[Any], unit: Unit) -> list[Any]:
    """The rows of a unit from batches that begin with its first group."""
    found, row = [], int(unit.header[0])
    for batch in batches:
        if row < unit.stop and row + len(batch) > unit.start:
            low, high = max(unit.start - row, 0), min(unit.stop - row, len(batch))
            found.append(batch.slice(low, high - low))
        row += len(batch)
        if row >= unit.stop:
            break
    return found


def _batches(path: Path | str) -> Any:
    source = pa.memory_map(str(path))
    head = source.read(6)
    source.seek(0)
    return pa.ipc.open_file(source) if head == b"ARROW1" else pa.ipc.open_stream(source)


def _each(reader: Any) -> Iterator[Any]:
    if isinstance(reader, pa.ipc.RecordBatchFileReader):
        return (reader.get_batch(number) for number in range(reader.num_record_batches))
    return iter(reader)


@dataclass
class _Opened:
    """A Parquet file of which some rows were read: the next unit goes on there, not at the start of its row group."""

    key: tuple[str, int, int]
    file: Any
    batches: Iterator[Any]
    row: int  # the first one that is not yet read
    rest: list[Any]  # of the last batch

    @classmethod
    def at(cls, unit: Unit, key: tuple[str, int, int]) -> _Opened:
        # A column of a row group may be gigabytes of images: it is read through a buffer, a part of a unit at a time.
        file = pq.ParquetFile(unit.path, buffer_size=_BUFFER, pre_buffer=False)
        groups, step = range(unit.group, file.metadata.num_row_groups), max(1, (unit.stop - unit.start) // _STEPS)
        return cls(key, file, file.iter_batches(batch_size=step, row_groups=groups), int(unit.header[0]), [])

    def rows(self, unit: Unit) -> pa.Table:
        """The rows of a unit; what was read behind them is kept."""
        found = []
        while self.row < unit.stop:
            batch = self.rest.pop() if self.rest else next(self.batches, None)
            if batch is None:
                break
            low, high = max(unit.start - self.row, 0), min(unit.stop - self.row, len(batch))
            if low < high:
                found.append(batch.slice(low, high - low))
            self.row += min(high, len(batch))
            if high < len(batch):
                self.rest.append(batch.slice(high))
        return pa.Table.from_batches(found, self.file.schema_arrow)


_opened = local()  # of this thread: one file


def read_parquet(unit: Unit, fields: Fields) -> Content:
    """Rows of a Parquet file."""
    state = os.stat(unit.path)
    key = (unit.path, state.st_mtime_ns, state.st_size)
    known: _Opened | None = getattr(_opened, "file", None)
    _opened.file = None  # whatever happens on the way
    if known is None or known.key != key or known.row > unit.start:
        if known is not None:
            known.file.close()
        known = _Opened.at(unit, key)
    found = of_table(known.rows(unit), unit, fields)
    if known.row < known.file.metadata.num_rows:
        _opened.file = known
    else:
        known.file.close()
    return found


def read_arrow(unit: Unit, fields: Fields) -> Content:
    """Rows of an Arrow file."""
    with _batches(unit.path) as found:
        later = (batch for number, batch in enumerate(_each(found)) if number >= unit.group)
        return of_table(pa.Table.from_batches(_cut(later, unit), found.schema), unit, fields)


def of_table(table: pa.Table, unit: Unit, fields: Fields) -> Content:
    """Records of a table's rows; cells that cannot be read are reported with their row."""
    check_sound(table, unit.name)
    wanted = {field for field in table.column_names if _wanted(field, table.column_names, fields)}
    columns = {name: values(table.column(name)) for name in table.column_names if name in wanted}
    found, kept = Content(), []
    for row in range(table.num_rows):
        cells = {name: column[row] for name, column in columns.items()}
        record = rename(cells, fields)
        bad = next((cell for cell in record.values() if isinstance(cell, Unreadable)), None)
        where = f"row {unit.first + row}"
        if bad is not None:
            found.problems.append(Problem(where, bad.reason, unit.name))
            continue
        found.records.append({**record, "where": where})
        kept.append(row)
    found.columns = table if len(kept) == table.num_rows else table.take(kept)
    return found


def check_sound(table: pa.Table, name: str) -> None:
    """Refuse damaged columns: Arrow believes what a file says of its own layout, and would read beside it."""
    for field, column in zip(table.column_names, table.columns):
        for chunk in column.chunks:
            try:
                chunk.validate(full=True)
            except pa.ArrowException as error:
                # Text that is not UTF-8 is told row by row, once the layout around it is known to be sound.
                plain = pa.types.is_string(chunk.type) or pa.types.is_large_string(chunk.type) or _of_texts(chunk.type)
                if "UTF8" not in str(error) or not plain:
                    raise InputError(f"{name}: the column '{field}' is damaged ({_short(error)})") from None


def _of_texts(kind: Any) -> bool:
    listed = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    return bool(listed and (pa.types.is_string(kind.value_type) or pa.types.is_large_string(kind.value_type)))


def _wanted(field: str, names: list[str], fields: Fields) -> bool:
    from vericap.io.records import known_fields

    known, numbered = known_fields(tuple(names), fields)
    return field in numbered or any(field == found for _, found in known)


def values(column: Any) -> list[Any]:
    """The cells of a column as Python values; one that cannot be read is `Unreadable`."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    try:
        found: list[Any] = column.to_pylist()
        return found
    except UnicodeDecodeError:
        raw: list[Any] = _as_bytes(column).to_pylist()
        return [_decoded(cell) for cell in raw]
    except BROKEN as error:
        return [_single(column, row, error) for row in range(len(column))]


def _as_bytes(column: Any) -> Any:
    kind = column.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return column.cast(pa.list_(pa.binary()))
    return column.cast(pa.binary())


def _single(column: Any, row: int, error: Exception) -> Any:
    try:
        return column[row].as_py()
    except Exception as own:  # dates of year 300,000 and the like: only this row's cell is lost
        return Unreadable(f"a cell cannot be read ({_short(own or error)})")


def _decoded(cell: Any) -> Any:
    if isinstance(cell, list):
        items = [_decoded(item) for item in cell]
        return next((item for item in items if isinstance(item, Unreadable)), items)
    if not isinstance(cell, bytes):
        return cell
    try:
        return cell.decode("utf-8")
    except UnicodeDecodeError as error:
        return Unreadable(f"text that is not UTF-8 (byte {error.start} of the cell)")


def _short(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
