"""Results to files: one row per caption, by the file's ending; a table may also be written piece by piece.

with open_writer("kept.parquet") as writer:
    writer.write(table)          # pyarrow tables; their columns may differ, the file gets all of them
"""

from __future__ import annotations

import csv
import io
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any

from vericap.core.errors import InputError, Problem
from vericap.core.metric import Metric
from vericap.core.settings import Settings
from vericap.io.columns import as_text, fitted, unified, without_bytes
from vericap.run.results import Result

if TYPE_CHECKING:
    import pyarrow

KINDS = (".jsonl", ".csv", ".parquet", ".json")
SIGNATURES = "vericap.signatures"


def check_output(
    path: str | Path, inputs: Iterable[str | Path] = (), *, kinds: Sequence[str] = KINDS, what: str = "results"
) -> Path:
    """Refuse, before any work is done, an output that cannot be written or that is one of the inputs.

    Parameters
    ----------
    path : file to write.
    inputs : files that are read; none of them may be the output, by whatever name or link.
    kinds : endings that can be written.
    what : is written, for the message.
    """
    file = Path(path)
    if kinds and file.suffix.lower() not in kinds:
        raise InputError(f"{file}: {what} are written as {', '.join(kinds)}; choose one of these extensions")
    if file.is_dir():
        raise InputError(f"{file}: is a folder; name a file in it")
    folder = file.parent
    if not folder.is_dir():
        raise InputError(f"{file}: the folder {folder} does not exist")
    check_not_input(file, inputs)
    if not os.access(folder, os.W_OK | os.X_OK) or (file.exists() and not os.access(file, os.W_OK)):
        raise InputError(f"{file}: cannot be written (no permission)")
    _try_folder(folder, file)
    return file


def _try_folder(folder: Path, file: Path) -> None:
    """Make a file in the folder: what it says of permissions is not the whole truth (read-only disks, quotas)."""
    try:
        handle, name = tempfile.mkstemp(dir=folder, prefix=f".{file.name}.")
        os.close(handle)
        os.unlink(name)
    except OSError as error:
        raise InputError(f"{file}: cannot be written ({error.strerror or error})") from None


def check_not_input(output: Path, inputs: Iterable[str | Path]) -> None:
    """Refuse an output that is one of the inputs."""
    for source in inputs:
        if str(source) != "-" and _same(output, Path(source)):
            raise InputError(f"{output}: is one of the inputs ({source}), which would be lost; choose another output")


def named_files(settings: Settings, metrics: Iterable[Metric] = ()) -> list[str]:
    """Files besides the captions that a run reads: those that settings and options of metrics name.

    Examples
    --------
    >>> named_files(Settings(df="coco-val", objects="detector"))
    []
    """
    given = [settings.df, settings.features, *settings.objects.split("+")]
    given += [value for metric in metrics for value in vars(metric.opt).values() if isinstance(value, str)]
    return [str(name) for name in given if name and os.path.exists(name)]


def _same(one: Path, other: Path) -> bool:
    try:
        if one.exists() and other.exists():
            return one.samefile(other)
        return one.resolve() == other.resolve()
    except (OSError, ValueError):
        return False


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Write beside the target, then put it in place: a broken run never leaves half a file."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb+") as stream:
            os.fsync(stream.fileno())  # else a crash of the machine may leave an empty file under the right name
        temporary.chmod(0o644)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


# --- tables piece by piece ---------------------------------------------------------------------------------------


class Writer:
    """Tables, one after the other, to one file; the file appears when all is written."""

    def __init__(self, path: str | Path, *, signatures: Mapping[str, str] | None = None) -> None:
        self.path, self.signatures = Path(path), dict(signatures or {})
        self._context = replacing(self.path)
        self._file = self._context.__enter__()
        self.rows = 0

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self.finish()
        finally:
            self._context.__exit__(kind, error, trace)

    def write(self, table: pyarrow.Table) -> None:
        """Add rows."""
        raise NotImplementedError

    def finish(self) -> None:
        """Write what is left."""


class LinesWriter(Writer):
    """JSONL."""

    def __init__(self, path: str | Path, *, signatures: Mapping[str, str] | None = None) -> None:
        super().__init__(path, signatures=signatures)
        self._stream = self._file.open("w", encoding="utf-8", newline="")

    def write(self, table: pyarrow.Table) -> None:
        self.rows += table.num_rows
        self._stream.writelines(json_lines(records_of(table)))

    def finish(self) -> None:
        self._stream.close()


class CsvWriter(LinesWriter):
    """CSV; columns that later tables bring stand behind those of the first one."""

    def __init__(self, path: str | Path, *, signatures: Mapping[str, str] | None = None) -> None:
        super().__init__(path, signatures=signatures)
        self._columns: list[str] = []
        self._first = 0  # columns that the header in the file has

    def write(self, table: pyarrow.Table) -> None:
        self._columns = list(dict.fromkeys([*self._columns, *table.column_names]))
        if not self._first:
            self._first = len(self._columns)
            self._stream.write(csv_line(self._columns))
        self.rows += table.num_rows
        for record in records_of(table):
            self._stream.write(csv_line([cell_of(record.get(name)) for name in self._columns]))

    def finish(self) -> None:
        super().finish()
        if len(self._columns) > self._first:
            self._widen()

    def _widen(self) -> None:
        """Write the file again, under all columns."""
        import shutil

        with tempfile.TemporaryFile("w+", encoding="utf-8", newline="", dir=self.path.parent) as wide:
            with self._file.open(encoding="utf-8", newline="") as narrow:
                rows = csv.reader(narrow)
                next(rows)
                wide.write(csv_line(self._columns))
                wide.writelines(csv_line(row + [""] * (len(self._columns) - len(row))) for row in rows)
            wide.seek(0)
            with self._file.open("w", encoding="utf-8", newline="") as stream:
                shutil.copyfileobj(wide, stream)


class ParquetWriter(Writer):
    """Parquet; tables are kept in small files until all columns and their types are known."""

    def __init__(self, path: str | Path, *, signatures: Mapping[str, str] | None = None) -> None:
        super().__init__(path, signatures=signatures)
        self._parts = tempfile.TemporaryDirectory(dir=self.path.parent, prefix=f".{self.path.name}.parts-")
        self._names: list[Path] = []

    def write(self, table: pyarrow.Table) -> None:
        import pyarrow.parquet as pq

        self.rows += table.num_rows
        self._names.append(Path(self._parts.name) / f"{len(self._names)}.parquet")
        pq.write_table(table, self._names[-1])

    def finish(self) -> None:
        join_parquet(self._names, self._file, self.signatures)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            super().__exit__(kind, error, trace)
        finally:
            self._parts.cleanup()


WRITERS: dict[str, type[Writer]] = {".jsonl": LinesWriter, ".csv": CsvWriter, ".parquet": ParquetWriter}


def open_writer(path: str | Path, *, signatures: Mapping[str, str] | None = None) -> Writer:
    """A writer of tables by the file's ending: .jsonl, .csv or .parquet.

    Examples
    --------
    >>> import pyarrow as pa, tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "kept.jsonl"
    >>> with open_writer(file) as writer:
    ...     writer.write(pa.table({"id": ["7"], "score": [0.5]}))
    >>> file.read_text()
    '{"id": "7", "score": 0.5}\\n'
    """
    file = check_output(path, kinds=tuple(WRITERS), what="tables")
    return WRITERS[file.suffix.lower()](file, signatures=signatures)


def join_parquet(parts: Sequence[Path], target: Path, signatures: Mapping[str, str]) -> None:
    """Several Parquet files as one, with the signatures in its metadata (`vericap.signatures`)."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = unified([pq.read_schema(part) for part in parts]) if parts else pa.schema([])
    schema = schema.with_metadata({SIGNATURES: json.dumps(signatures)})
    with pq.ParquetWriter(target, schema) as writer:
        for part in parts:
            writer.write_table(fitted(pq.read_table(part), schema))


def records_of(table: pyarrow.Table) -> list[dict[str, Any]]:
    """Rows as plain dicts that JSON can hold: bytes are left out, of images the path stays; dates are text."""
    import pyarrow as pa

    kept = {name: without_bytes(table.column(name)) for name in table.column_names}
    columns = {name: cells for name, cells in kept.items() if cells is not None}
    found: list[dict[str, Any]] = pa.table(columns).to_pylist() if columns else [{} for _ in range(table.num_rows)]
    return found


def json_lines(records: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Records as lines of JSON."""
    for record in records:
        try:
            line = json.dumps(record, ensure_ascii=False)
            line.encode("utf-8")
        except (TypeError, ValueError):
            line = json.dumps({name: _plain(value) for name, value in record.items()})
        yield line + "\n"


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float) else as_text(value)


def csv_line(cells: Sequence[Any]) -> str:
    """Cells as one line of CSV."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerow(cells)
    return stream.getvalue()


def cell_of(value: Any) -> Any:
    """A value as a table of text holds it."""
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, list | dict) else value


# --- whole results ------------------------------------------------------------------------------------------------


def rows(
    result: Result, unread: Sequence[Problem], beside: Mapping[str, Sequence[Any]] | None = None
) -> Iterator[dict[str, Any]]:
    """Scored captions first, then the records that could not be read, so that nothing is lost.

    `beside` are columns of the input, which stand after those of the result.
    """
    names = list(result.table)
    if unread and "problem" not in names:
        names.append("problem")
    passed = dict(beside or {})
    for place, record in enumerate(result.records()):
        yield {**{name: record.get(name) for name in names}, **{name: own[place] for name, own in passed.items()}}
    for problem in unread:
        empty = dict.fromkeys([*names, *passed])
        yield {**empty, "id": f"{problem.source}: {problem.record}", "problem": problem.reason}


def write_result(
    result: Result,
    path: str | Path,
    *,
    unread: list[Problem] | None = None,
    beside: Mapping[str, Sequence[Any]] | None = None,
) -> None:
    """Write jsonl, csv, parquet, or json (corpus scores and captions in one document)."""
    file = check_output(path)
    found = rows(result, unread or [], beside)
    with replacing(file) as temporary:
        if file.suffix.lower() == ".parquet":
            write_parquet(found, temporary, result.signatures)
            return
        with temporary.open("w", encoding="utf-8", newline="") as stream:
            _text(result, found, stream, file.suffix.lower())


def write_rows(found: Iterator[dict[str, Any]], path: str | Path, signatures: Mapping[str, str]) -> None:
    """Write rows of any kind as jsonl, csv, parquet or json, with the signatures of their scores."""
    file = check_output(path)
    with replacing(file) as temporary:
        if file.suffix.lower() == ".parquet":
            write_parquet(found, temporary, signatures)
            return
        with temporary.open("w", encoding="utf-8", newline="") as stream:
            if file.suffix.lower() == ".csv":
                write_csv(found, stream, signatures)
            elif file.suffix.lower() == ".jsonl":
                stream.writelines(json_lines(found))
            else:
                json.dump({"signatures": signatures, "rows": list(found)}, stream, ensure_ascii=False, indent=1)
                stream.write("\n")


def _text(result: Result, found: Iterator[dict[str, Any]], stream: IO[str], kind: str) -> None:
    if kind == ".json":
        json.dump({**result.summary(), "rows": list(found)}, stream, ensure_ascii=False, indent=1)
        stream.write("\n")
    elif kind == ".jsonl":
        stream.writelines(json_lines(found))
    else:
        write_csv(found, stream, result.signatures)


def write_problems(problems: Sequence[Problem], path: Path) -> None:
    """Bad records with their reasons, a line each; no file where there is none."""
    if not problems:
        path.unlink(missing_ok=True)
        return
    with replacing(path) as temporary:
        temporary.write_text("".join(json_lines(vars(problem) for problem in problems)), "utf-8")


def write_csv(found: Iterator[dict[str, Any]], stream: IO[str], signatures: Mapping[str, str]) -> None:
    """Rows, and in the last column of the first one the signatures as JSON: numbers without them cannot be compared."""
    said: str | None = json.dumps(signatures)
    for row in found:
        if said is not None:
            stream.write(csv_line([*row, "signatures"]))
        stream.write(csv_line([*(cell_of(value) for value in row.values()), said]))
        said = None


def write_parquet(found: Iterator[dict[str, Any]], path: Path, signatures: Mapping[str, str]) -> None:
    """Rows, with the signatures in the file's metadata (`vericap.signatures`)."""
    import pyarrow.parquet as pq

    table = table_of(list(found)).replace_schema_metadata({SIGNATURES: json.dumps(signatures)})
    pq.write_table(table, path)


def table_of(items: Sequence[Mapping[str, Any]]) -> pyarrow.Table:
    """Rows as an Arrow table; what is nested is JSON."""
    import pyarrow as pa

    from vericap.io.columns import column

    names = list(dict.fromkeys(name for item in items for name in item))
    nested = {name for name in names if any(isinstance(item.get(name), dict) for item in items)}
    cells = {name: [item.get(name) for item in items] for name in names}
    return pa.table({n: column([cell_of(c) for c in own] if n in nested else own) for n, own in cells.items()})
