"""Scores from elsewhere: judged captions go out as a file, another program's scores come back by id."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vericap.core.errors import InputError, Problem
from vericap.core.samples import Sample
from vericap.core.typing import Floats
from vericap.io.kinds import detect
from vericap.io.source import Source, lines, read, text
from vericap.io.write import replacing

_ITEM = ("id", "candidate", "references", "image")  # columns of an exported file, never taken for scores
_SHOWN = 3

Row = tuple[str, dict[str, Any]]  # where it stands, and its cells


def write_items(items: Sequence[Sample], path: Path) -> None:
    """One JSON line for every caption that a metric has to score: id, candidate, references, image."""
    if path.suffix.lower() != ".jsonl":
        raise InputError(f"{path}: captions are exported as JSON lines; the name must end in .jsonl")
    if not path.parent.is_dir():
        raise InputError(f"{path}: the folder {path.parent} does not exist")
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8") as stream:
        for item in items:
            record = {"id": item.id, "candidate": item.candidate, "references": item.references, "image": item.image}
            stream.write(json.dumps(record, ensure_ascii=False) + "\n")


def read_scores(path: Path, items: Sequence[Sample], *, notes: list[str] | None = None) -> dict[str, Floats]:
    """Scores of exported captions, in their order, by the name of the metric.

    Parameters
    ----------
    path : JSON lines, CSV, TSV, Parquet or JSON with `id` and `score`, named by the file; or with a column for each
        metric. An empty cell or null is a caption that could not be scored.
    items : the captions as they were exported; their ids are looked for.
    notes : what is worth saying and no error, such as ids that are not among the captions, is added here.
    """
    source = read(path)
    table = _by_id(source, list(_rows(source)))
    _check(source, table, [item.id for item in items], notes if notes is not None else [])
    columns = _columns(source, table)
    return {
        name: np.array([_number(source, item.id, table[item.id].get(column)) for item in items])
        for name, column in columns.items()
    }


def _columns(source: Source, table: dict[str, dict[str, Any]]) -> dict[str, str]:
    """Name of each metric -> its column: the file's name for `score`, else the column's own."""
    cells = [name for row in table.values() for name in row]
    found = [name for name in dict.fromkeys(cells) if name not in _ITEM and not name.endswith(".explanation")]
    if found == ["score"]:
        return {_stem(source): "score"}
    if "score" in found:
        raise InputError(
            f"{source.name}: has `score` beside other columns ({', '.join(n for n in found if n != 'score')}); keep "
            "`id` and `score`, or name each column by its metric"
        )
    if not found:
        raise InputError(f"{source.name}: has no column of scores; it needs `id` and `score`, or a column per metric")
    return {name: name for name in found}


def _stem(source: Source) -> str:
    name = Path(source.name).name.removesuffix(".gz")
    return name.rpartition(".")[0] or name


def _by_id(source: Source, rows: list[Row]) -> dict[str, dict[str, Any]]:
    table: dict[str, dict[str, Any]] = {}
    repeated: dict[str, None] = {}
    for where, row in rows:
        if row.get("id") in (None, ""):
            raise InputError(f"{source.name}: {where} has no id; ids are those that `export=FILE` writes")
        name = str(row.pop("id"))
        if name in table:
            repeated[name] = None
        table[name] = row
    if repeated:
        raise InputError(f"{source.name}: {_some(list(repeated), 'id')} more than once: {_first(repeated)}")
    if not table:
        raise InputError(f"{source.name}: no score was found")
    return table


def _check(source: Source, table: dict[str, dict[str, Any]], ids: Sequence[str], notes: list[str]) -> None:
    missing = [name for name in ids if name not in table]
    if missing:
        raise InputError(
            f"{source.name}: {len(missing)} of {len(ids)} judged captions have no line: {_first(missing)}; ids are "
            "those that `export=FILE` writes for this data set and protocol (a caption that cannot be scored has null)"
        )
    known = set(ids)
    extra = [name for name in table if name not in known]
    if extra:
        notes.append(f"{source.name}: {_some(extra, 'id')} of no judged caption, not used: {_first(extra)}")


def _some(found: Sequence[str], what: str) -> str:
    return f"{len(found)} {what}{'s' * (len(found) != 1)}"


def _first(names: Iterable[str]) -> str:
    found = list(names)
    return ", ".join(found[:_SHOWN]) + (", ..." if len(found) > _SHOWN else "")


def _number(source: Source, name: str, value: Any) -> float:
    if value is None or value == "":
        return float("nan")
    try:
        found = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{source.name}: the score of '{name}' is {value!r}, not a number") from None
    if np.isinf(found):
        raise InputError(f"{source.name}: the score of '{name}' is {value}; give a finite number or null")
    return found


def _rows(source: Source) -> Iterator[Row]:
    """Records with all their columns; captions are not needed, so `vericap.io.records` would refuse them."""
    kind = detect(source.data, source.suffix, source.name)
    if kind == "parquet":
        return _parquet(source)
    if kind in ("csv", "tsv"):
        return _csv(source, "\t" if kind == "tsv" else ",")
    if kind == "jsonl":
        return _json_lines(source)
    if kind == "json":
        return _json(source)
    raise InputError(f"{source.name}: scores are read from .jsonl, .csv, .tsv, .parquet or .json files")


def _json_lines(source: Source) -> Iterator[Row]:
    problems: list[Problem] = []
    for number, line in lines(source, problems):
        if line is None:
            raise InputError(f"{source.name}: {problems[-1].record} {problems[-1].reason}")
        if line.strip():
            try:
                record = json.loads(line)
            except json.JSONDecodeError as error:
                raise InputError(f"{source.name}: line {number} is not JSON ({error.msg})") from None
            yield _object(source, f"line {number}", record)


def _json(source: Source) -> Iterator[Row]:
    """A list of records, or an object of scores by id."""
    try:
        data = json.loads(text(source))
    except json.JSONDecodeError as error:
        raise InputError(f"{source.name}: line {error.lineno} is not JSON ({error.msg})") from None
    if isinstance(data, dict):
        for name, value in data.items():
            yield f"id {name}", {"id": name, **(value if isinstance(value, dict) else {"score": value})}
        return
    for number, record in enumerate(data if isinstance(data, list) else [data], 1):
        yield _object(source, f"record {number}", record)


def _object(source: Source, where: str, record: Any) -> Row:
    if not isinstance(record, dict):
        raise InputError(f"{source.name}: {where} is a {type(record).__name__}, not an object with `id` and `score`")
    return where, record


def _csv(source: Source, delimiter: str) -> Iterator[Row]:
    csv.field_size_limit(10_000_000)
    reader = csv.reader(io.StringIO(text(source), newline=""), delimiter=delimiter)
    header = [name.strip() for name in next(reader, [])]
    for row in reader:
        if not row:
            continue
        if len(row) != len(header):
            raise InputError(
                f"{source.name}: line {reader.line_num} has {len(row)} cells, the header has {len(header)}"
            )
        yield f"line {reader.line_num}", dict(zip(header, row))


def _parquet(source: Source) -> Iterator[Row]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(pa.BufferReader(source.data))
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"{source.name}: not a readable Parquet file ({error})") from None
    yield from ((f"row {number}", row) for number, row in enumerate(table.to_pylist(), 1))
