"""Tables of what a filter keeps and rejects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from vericap.core.errors import Problem
from vericap.core.typing import Array
from vericap.io.columns import column, fitted, unified

if TYPE_CHECKING:
    import pyarrow

REJECTED, PROBLEM = "rejected", "problem"


def with_column(table: pyarrow.Table, name: str, values: Any) -> pyarrow.Table:
    """A table with one column more, or with another one of that name."""
    import pyarrow as pa

    found = pa.array(values, from_pandas=True) if isinstance(values, np.ndarray) else column(list(values))
    if name in table.column_names:
        return table.set_column(table.column_names.index(name), name, found)
    return table.append_column(name, found) if table.num_columns else pa.table({name: found})


def unread(like: pyarrow.Table, problems: Sequence[Problem]) -> pyarrow.Table:
    """Records that could not be read, in the columns of a table; the first one tells where they stood."""
    import pyarrow as pa

    first = like.column_names[0]
    cells: Mapping[str, list[str]] = {
        first: [f"{problem.source}: {problem.record}" for problem in problems],
        REJECTED: ["readable"] * len(problems),
        PROBLEM: [problem.reason for problem in problems],
    }
    schema = pa.schema(
        [(name, pa.string() if name in cells else like.schema.field(name).type) for name in like.schema.names]
    )
    return fitted(pa.table(dict(cells)), schema)


def best_first(held: Sequence[tuple[Array, pyarrow.Table]]) -> pyarrow.Table:
    """All that is kept, the best first; what is equal stays in the order of the input."""
    import pyarrow as pa

    schema = unified([table.schema for _, table in held])
    whole = pa.concat_tables([fitted(table, schema) for _, table in held])
    order = np.argsort(-np.concatenate([values for values, _ in held]), kind="stable")
    return whole.take(order)


def is_list(kind: Any) -> bool:
    """Whether a column holds lists."""
    import pyarrow as pa

    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))
