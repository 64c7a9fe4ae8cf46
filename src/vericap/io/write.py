"""Results to files: one row per caption, by the file's extension."""

from __future__ import annotations

import csv
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from vericap.core.errors import InputError, Problem
from vericap.run.results import Result

KINDS = (".jsonl", ".csv", ".parquet", ".json")


def check_output(path: str | Path) -> Path:
    """Refuse an extension or folder that cannot be written before any work is done."""
    file = Path(path)
    if file.suffix.lower() not in KINDS:
        raise InputError(f"{file}: results are written as {', '.join(KINDS)}; choose one of these extensions")
    if not file.parent.is_dir():
        raise InputError(f"{file}: the folder {file.parent} does not exist")
    return file


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Write beside the target, then put it in place: a broken run never leaves half a file."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o644)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def rows(result: Result, unread: list[Problem]) -> Iterator[dict[str, Any]]:
    """Scored captions first, then the records that could not be read, so that nothing is lost."""
    names = list(result.table)
    if unread and "problem" not in names:
        names.append("problem")
    for record in result.records():
        yield {name: record.get(name) for name in names}
    for problem in unread:
        yield {**dict.fromkeys(names), "id": f"{problem.source}: {problem.record}", "problem": problem.reason}


def write_result(result: Result, path: str | Path, *, unread: list[Problem] | None = None) -> None:
    """Write jsonl, csv, parquet, or json (corpus scores and captions in one document)."""
    file = check_output(path)
    found = rows(result, unread or [])
    with replacing(file) as temporary:
        if file.suffix.lower() == ".parquet":
            _parquet(found, temporary, result.signatures)
            return
        with temporary.open("w", encoding="utf-8", newline="") as stream:
            _text(result, found, stream, file.suffix.lower())


def _text(result: Result, found: Iterator[dict[str, Any]], stream: IO[str], kind: str) -> None:
    if kind == ".json":
        json.dump({**result.summary(), "rows": list(found)}, stream, ensure_ascii=False, indent=1)
        stream.write("\n")
    elif kind == ".jsonl":
        for row in found:
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")
    else:
        _csv(found, stream, result.signatures)


def _csv(found: Iterator[dict[str, Any]], stream: IO[str], signatures: dict[str, str]) -> None:
    """Rows, and in the last column of the first one the signatures as JSON: numbers without them cannot be compared."""
    writer = None
    for row in found:
        said = json.dumps(signatures) if writer is None else None
        if writer is None:
            writer = csv.DictWriter(stream, [*row, "signatures"], lineterminator="\n")
            writer.writeheader()
        writer.writerow({**{name: _cell(value) for name, value in row.items()}, "signatures": said})


def _cell(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


def _parquet(found: Iterator[dict[str, Any]], path: Path, signatures: dict[str, str]) -> None:
    """Rows, with the signatures in the file's metadata (`vericap.signatures`)."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    items = list(found)
    names = list(items[0])
    nested = {name for name in names if any(isinstance(item[name], dict) for item in items)}
    columns = {
        name: pa.array([_cell(item[name]) if name in nested else item[name] for item in items]) for name in names
    }
    table = pa.table(columns).replace_schema_metadata({"vericap.signatures": json.dumps(signatures)})
    pq.write_table(table, path)
