"""The input's own columns as Arrow, whatever the format: what an output passes on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow

    from vericap.io.units import Content


def as_table(content: Content, rows: Sequence[int]) -> pyarrow.Table:
    """The columns of some records."""
    import pyarrow as pa

    if content.columns is not None:
        whole = len(rows) == content.columns.num_rows and all(row == place for place, row in enumerate(rows))
        return content.columns if whole else content.columns.take(pa.array(rows, pa.int64()))
    raw = [(content.raw or [])[row] for row in rows] if content.raw else [{} for _ in rows]
    names = dict.fromkeys(name for item in raw for name in item)
    columns = {as_text(name): column([item.get(name) for item in raw]) for name in names}
    return pa.table(columns) if columns else pa.table({"": pa.nulls(len(rows))}).select([])


def holds_bytes(kind: Any) -> bool:
    """Whether cells of a type are bytes, or hold some: images as `datasets` keeps them."""
    import pyarrow as pa

    if pa.types.is_struct(kind):
        return any(holds_bytes(kind.field(place).type) for place in range(kind.num_fields))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return holds_bytes(kind.value_type)
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind))


def without_bytes(cells: Any) -> Any:
    """A column as formats of text can hold it: of images their paths alone; None where nothing is left.

    Examples
    --------
    >>> import pyarrow as pa
    >>> without_bytes(pa.array([{"bytes": b"...", "path": "a.jpg"}])).to_pylist(), without_bytes(pa.array([b"..."]))
    ([{'path': 'a.jpg'}], None)
    """
    import pyarrow as pa

    if not holds_bytes(cells.type):
        return cells
    if not pa.types.is_struct(cells.type):
        return None
    whole = cells.combine_chunks() if isinstance(cells, pa.ChunkedArray) else cells
    names = [field.name for field in cells.type if not holds_bytes(field.type)]
    if not names:
        return None
    return pa.StructArray.from_arrays([whole.field(name) for name in names], names, mask=whole.is_null())


def column(cells: list[Any]) -> Any:
    """Cells as an Arrow array: of one type where they have one, else each as JSON text."""
    import pyarrow as pa

    try:
        return pa.array(cells, from_pandas=True)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        return pa.array([None if cell is None else as_text(cell) for cell in cells], pa.string())


def as_text(cell: Any) -> str:
    """A cell as text that can be stored."""
    text = cell if isinstance(cell, str) else json.dumps(cell, ensure_ascii=True, default=str)
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def unified(tables: Sequence[pyarrow.Schema]) -> pyarrow.Schema:
    """One schema for all: types that differ too much become text."""
    import pyarrow as pa

    names = dict.fromkeys(name for schema in tables for name in schema.names)
    fields = []
    for name in names:
        found = [schema.field(name) for schema in tables if name in schema.names]
        try:
            (field,) = pa.unify_schemas([pa.schema([one]) for one in found], promote_options="permissive")
        except (pa.ArrowException, ValueError):
            field = pa.field(name, pa.string())
        fields.append(field.with_nullable(True))
    return pa.schema(fields)


def fitted(table: pyarrow.Table, schema: pyarrow.Schema) -> pyarrow.Table:
    """A table with the columns of a schema, in its order; what is not there is null."""
    import pyarrow as pa

    columns = []
    for field in schema:
        if field.name not in table.column_names:
            columns.append(pa.nulls(table.num_rows, field.type))
            continue
        own = table.column(field.name)
        try:
            columns.append(own.cast(field.type))
        except (pa.ArrowException, ValueError):
            columns.append(pa.array([None if c is None else as_text(c) for c in own.to_pylist()], pa.string()))
    return pa.table(columns, schema=schema)
