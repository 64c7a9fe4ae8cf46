"""Parquet and Arrow files: rows in pieces, text that is not UTF-8 named by row, images as bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from vericap.core.errors import InputError, Problem
from vericap.io.files import InputFile
from vericap.io.records import Fields, check_columns, rename
from vericap.io.units import BYTES, RECORDS, Content, Unit

_BROKEN = (pa.ArrowException, OSError, ValueError, OverflowError, MemoryError)


@dataclass(frozen=True)
class Unreadable:
    """A cell that cannot be read, and why."""

    reason: str


def parquet_units(file: InputFile, fields: Fields, *, records: int = RECORDS, size: int = BYTES) -> Iterator[Unit]:
    """Units of rows; none goes over the border of a row group."""
    try:
        with pq.ParquetFile(file.path) as found:
            check_columns(found.schema_arrow.names, file.name, fields)
            groups = [found.metadata.row_group(i) for i in range(found.metadata.num_row_groups)]
            sizes = [(group.num_rows, group.total_byte_size) for group in groups]
    except InputError:
        raise
    except _BROKEN as error:
        raise InputError(f"{file.name}: not a readable Parquet file ({_short(error)})") from None
    yield from _row_units(file, "parquet", sizes, records, size)


def arrow_units(file: InputFile, fields: Fields, *, records: int = RECORDS, size: int = BYTES) -> Iterator[Unit]:
    """Units of rows of an Arrow file or stream (as `datasets` keeps them); none goes over the border of a batch."""
    try:
        with _batches(file.path) as found:
            check_columns(found.schema.names, file.name, fields)
            sizes = [(batch.num_rows, batch.nbytes) for batch in _each(found)]
    except InputError:
        raise
    except _BROKEN as error:
        raise InputError(f"{file.name}: not a readable Arrow file ({_short(error)})") from None
    yield from _row_units(file, "arrow", sizes, records, size)


def _row_units(file: InputFile, kind: str, sizes: list[tuple[int, int]], records: int, size: int) -> Iterator[Unit]:
    first = 1
    for group, (rows, bytes_) in enumerate(sizes):
        step = max(1, min(records, int(size * rows / max(bytes_, 1))))
        for start in range(0, rows, step):
            stop = min(start + step, rows)
            yield Unit(kind, str(file.path), file.name, start, stop, first + start, str(file.folder), group=group)
        first += rows


def _batches(path: Path | str) -> Any:
    source = pa.memory_map(str(path))
    head = source.read(6)
    source.seek(0)
    return pa.ipc.open_file(source) if head == b"ARROW1" else pa.ipc.open_stream(source)


def _each(reader: Any) -> Iterator[Any]:
    if isinstance(reader, pa.ipc.RecordBatchFileReader):
        return (reader.get_batch(number) for number in range(reader.num_record_batches))
    return iter(reader)


def read_parquet(unit: Unit, fields: Fields) -> Content:
    """Rows of a Parquet file."""
    with pq.ParquetFile(unit.path) as found:
        batches, seen = [], 0
        for batch in found.iter_batches(batch_size=RECORDS, row_groups=[unit.group]):
            if seen < unit.stop and seen + len(batch) > unit.start:
                low, high = max(unit.start - seen, 0), min(unit.stop - seen, len(batch))
                batches.append(batch.slice(low, high - low))
            seen += len(batch)
            if seen >= unit.stop:
                break
        return of_table(pa.Table.from_batches(batches, found.schema_arrow), unit, fields)


def read_arrow(unit: Unit, fields: Fields) -> Content:
    """Rows of an Arrow file."""
    with _batches(unit.path) as found:
        batch = next(batch for number, batch in enumerate(_each(found)) if number == unit.group)
        table = pa.Table.from_batches([batch.slice(unit.start, unit.stop - unit.start)])
        return of_table(table, unit, fields)


def of_table(table: pa.Table, unit: Unit, fields: Fields) -> Content:
    """Records of a table's rows; cells that cannot be read are reported with their row."""
    table = table.rename_columns([str(name) for name in table.column_names])
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
    except _BROKEN as error:
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
