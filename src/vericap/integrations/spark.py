"""A filter for Spark: a function for `DataFrame.mapInPandas`, and the schema of what it gives back.

    from vericap.integrations.spark import map_in_pandas, schema_with

    keep = map_in_pandas("words>=3 & lang==en & vse>=0.3", images="/dbfs/photos")
    kept = frame.mapInPandas(keep, schema=schema_with(frame.schema, keep))

Spark starts Python workers of its own; each opens networks and models at its first batch and keeps them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from vericap.core.errors import MissingPart
from vericap.integrations.batches import BatchFilter
from vericap.metrics import registry
from vericap.run.filter.columns import Sources

if TYPE_CHECKING:
    import pandas

__all__ = ["map_in_pandas", "schema_with"]


class MapInPandas:
    """An iterator of pandas tables -> an iterator of what is kept of them. It can be pickled, as Spark asks."""

    def __init__(self, keep: str, **options: Any) -> None:
        self.keep, self.options = keep, options
        self._filter: BatchFilter | None = None
        BatchFilter(keep, **options)  # a mistake is told here, not on a cluster

    def __getstate__(self) -> dict[str, Any]:
        return {"keep": self.keep, "options": self.options, "_filter": None}  # networks do not travel

    def __call__(self, tables: Iterable[pandas.DataFrame]) -> Iterator[pandas.DataFrame]:
        self._filter = self._filter or BatchFilter(self.keep, **self.options)
        for table in tables:
            yield self._filter(table)

    def columns(self, names: Iterable[str]) -> list[tuple[str, str]]:
        """New columns with their Spark types, for an input with such columns."""
        own = BatchFilter(self.keep, **self.options)
        sources = Sources(own._keep, registry.make, registry.names(), list(names))
        scores = dict.fromkeys(
            [*sources.metrics, *(column.name for column in sources.of.values() if column.kind == "metric")]
        )
        original = [(f"{own.caption}.original", "string")] if own.clean else []
        return [*original, *((name, "double") for name in scores)]


def map_in_pandas(keep: str, **options: Any) -> MapInPandas:
    """A function for `mapInPandas`.

    Parameters
    ----------
    keep : str
        A condition as `vericap filter` reads it, without shares.
    **options : Any
        Those of `vericap.integrations.BatchFilter`: images (a folder), cascade, references, ...

    Returns
    -------
    MapInPandas
        Takes an iterator of pandas tables and gives one of what is kept of them; it can be pickled.

    Examples
    --------
    >>> import pandas as pd
    >>> keep = map_in_pandas("words>=2 & rouge-l>=0.5")
    >>> table = pd.DataFrame({"caption": ["a dog", "a cat", "x"], "references": [["a dog"], ["two buses"], ["x"]]})
    >>> [kept["caption"].tolist() for kept in keep([table])]
    [['a dog']]
    >>> keep.columns(table.columns)
    [('rouge-l', 'double')]
    """
    return MapInPandas(keep, **options)


def schema_with(schema: Any, keep: MapInPandas) -> Any:
    """A Spark schema with the columns that a filter adds.

    Parameters
    ----------
    schema : pyspark.sql.types.StructType
        Schema of the data frame (`frame.schema`).
    keep : MapInPandas
        What `map_in_pandas` gave.

    Returns
    -------
    pyspark.sql.types.StructType

    Examples
    --------
    >>> keep = map_in_pandas("rouge-l>=0.5")
    >>> kept = frame.mapInPandas(keep, schema=schema_with(frame.schema, keep))  # doctest: +SKIP
    """
    try:
        from pyspark.sql import types
    except ImportError as error:
        raise MissingPart(f"a Spark schema needs pyspark, which your cluster brings ({error})") from error
    found = types.StructType(list(schema.fields))
    for name, kind in keep.columns(schema.names):
        found = found.add(name, kind)
    return found
