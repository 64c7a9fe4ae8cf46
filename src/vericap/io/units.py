"""Pieces of inputs that can be read on their own, in any order and in any process."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vericap.core.errors import InputError, Problem
from vericap.io import kinds
from vericap.io.csv_rows import RowReader
from vericap.io.files import BLOCK, InputFile
from vericap.io.records import Fields, Record, check_columns, check_fields, of_objects, rename

if TYPE_CHECKING:
    import pyarrow

RECORDS = 16_384  # in a unit, at the most
BYTES = 64 << 20  # of a unit, at the most, unless a single record is larger
LONGEST = 256 << 20  # bytes of one record


@dataclass(frozen=True)
class Unit:
    """A piece of an input. Small and plain: it travels to other processes and into manifests.

    `start` and `stop` are bytes of lines and tar files, rows of tables, places of `names` in a folder.
    """

    kind: str
    path: str
    name: str  # of the input in messages
    start: int
    stop: int
    first: int  # number of its first line, row or record
    folder: str = ""  # relative names of images start here
    header: tuple[str, ...] = ()
    group: int = 0  # row group or record batch the rows are in
    names: tuple[str, ...] = ()


@dataclass
class Content:
    """What a unit holds: its records, what is wrong with others, and its columns as they were given."""

    records: list[Record] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    columns: pyarrow.Table | None = None  # a row per record
    raw: list[dict[str, Any]] | None = None  # of formats without columns: what each record held


# --- lines ------------------------------------------------------------------------------------------------------


def line_units(file: InputFile, kind: str, *, records: int = RECORDS, size: int = BYTES) -> Iterator[Unit]:
    """Units of whole lines."""
    start, number, lines, place = _skipped_mark(file.path), 1, 0, 0
    with file.path.open("rb") as stream:
        stream.seek(start)
        place = start
        while block := stream.read(BLOCK):
            ends = np.flatnonzero(np.frombuffer(block, np.uint8) == 10) + place + 1
            at = 0
            while at < len(ends):
                by_count = at + records - lines - 1  # the line that fills the unit by number,
                by_size = int(np.searchsorted(ends, start + size, "right")) - 1  # and the last one inside its bytes
                if by_count >= len(ends) and by_size >= len(ends) - 1:
                    lines += len(ends) - at
                    break
                cut = min(by_count, max(by_size, at))
                stop = int(ends[cut])
                yield Unit(kind, str(file.path), file.name, start, stop, number, str(file.folder))
                number, start, lines, at = number + lines + cut + 1 - at, stop, 0, cut + 1
            place += len(block)
            if place - start > LONGEST + size:
                raise InputError(f"{file.name}: line {number + lines} is longer than {LONGEST >> 20} MB")
    if place > start:
        yield Unit(kind, str(file.path), file.name, start, place, number, str(file.folder))


def _skipped_mark(path: Path) -> int:
    """Bytes of a byte order mark."""
    with path.open("rb") as stream:
        return 3 if stream.read(3) == b"\xef\xbb\xbf" else 0


def _bytes_of(unit: Unit) -> bytes:
    with open(unit.path, "rb") as stream:
        stream.seek(unit.start)
        return stream.read(unit.stop - unit.start)


def read_lines(unit: Unit, problems: list[Problem]) -> list[tuple[int, str | None]]:
    """Numbered lines of a unit; a line that is not UTF-8 is reported and given as None, the others stay."""
    data = _bytes_of(unit)
    try:
        whole = data.decode("utf-8").split("\n")
    except UnicodeDecodeError:
        return list(_decoded(data, unit, problems))
    if whole and not whole[-1]:
        whole.pop()
    return [(number, line.rstrip("\r")) for number, line in enumerate(whole, unit.first)]


def _decoded(data: bytes, unit: Unit, problems: list[Problem]) -> Iterator[tuple[int, str | None]]:
    raw = data.split(b"\n")
    if raw and not raw[-1]:
        raw.pop()
    for number, line in enumerate(raw, unit.first):
        try:
            yield number, line.decode("utf-8").rstrip("\r")
        except UnicodeDecodeError as error:
            problems.append(
                Problem(
                    f"line {number}",
                    f"is not UTF-8 (byte {error.start} of the line); say which with `encoding=NAME`",
                    unit.name,
                )
            )
            yield number, None


def read_text(unit: Unit, fields: Fields) -> Content:
    """One caption per line; the line number is the id."""
    found = Content()
    found.records = [
        {"id": str(number), "candidate": line, "where": f"line {number}", "numbered": True}
        for number, line in read_lines(unit, found.problems)
        if line is not None
    ]
    found.raw = [{} for _ in found.records]
    return found


_scan: Any = json.JSONDecoder().scan_once  # type: ignore[attr-defined]


def _loads(line: str) -> Any:
    """What `json.loads` gives; most lines begin and end with the object, and go without its preparations."""
    if line[:1] == "{" and line[-1:] == "}":
        try:
            item, end = _scan(line, 0)
            if end == len(line):
                return item
        except (StopIteration, ValueError):
            pass
    return json.loads(line)


def read_jsonl(unit: Unit, fields: Fields) -> Content:
    """One JSON object per line."""
    found = Content(raw=[])

    def items() -> Iterator[tuple[str, Any]]:
        for number, line in read_lines(unit, found.problems):
            if line is None or not line.strip():
                continue
            try:
                item = _loads(line)
            except json.JSONDecodeError as error:
                reason = f"malformed JSON at column {error.colno}: {error.msg}"
                found.problems.append(Problem(f"line {number}", reason, unit.name))
            except (ValueError, RecursionError) as error:  # a number of 5,000 digits; a thousand brackets
                found.problems.append(Problem(f"line {number}", f"JSON that cannot be read ({error})", unit.name))
            else:
                if isinstance(item, dict | str) and found.raw is not None:
                    found.raw.append(item if isinstance(item, dict) else {})
                yield f"line {number}", item

    found.records = of_objects(items(), unit.name, found.problems, fields)
    if unit.first == 1:
        check_fields(found.raw or [], unit.name, fields)
    return found


# --- tables as text -----------------------------------------------------------------------------------------------


class _Lines:
    """Lines of a file and where each ends; what is not UTF-8 is reported by the reader of the unit."""

    def __init__(self, stream: io.BufferedReader, place: int) -> None:
        self.stream = stream
        self.ends = [place]  # of the lines that no row has taken yet, after the end of those taken

    def __iter__(self) -> Iterator[str]:
        while line := self.stream.readline(LONGEST):
            self.ends.append(self.ends[-1] + len(line))
            yield line.decode("utf-8", "replace")

    def taken(self, lines: int) -> int:
        """The place behind a row of so many lines."""
        del self.ends[:lines]
        return self.ends[0]


def csv_units(
    file: InputFile, kind: str, fields: Fields, *, records: int = RECORDS, size: int = BYTES
) -> Iterator[Unit]:
    """Units of whole rows: a cell may hold line breaks."""
    csv.field_size_limit(LONGEST)
    mark = _skipped_mark(file.path)
    with file.path.open("rb") as stream:
        stream.seek(mark)
        first = stream.readline(LONGEST)
        delimiter = kinds.delimiter_of(first.decode("utf-8", "replace"), kind)
        stream.seek(mark)
        lines = _Lines(stream, mark)
        reader = RowReader(lines, delimiter)
        header, start = _header(file, reader, lines, fields)
        reader.width = len(header)
        common = (kind, str(file.path), file.name)
        line, count, place = reader.number, 0, start
        for row in reader:
            place, count = lines.taken(row.lines), count + 1
            if count == records or place - start >= size:
                yield Unit(*common, start, place, line, str(file.folder), (delimiter, *header))
                start, line, count = place, row.line + row.lines, 0
    yield Unit(*common, start, place, line, str(file.folder), (delimiter, *header))


def _header(file: InputFile, reader: RowReader, lines: _Lines, fields: Fields) -> tuple[list[str], int]:
    """The names of the columns, and the place behind them."""
    for row in reader:
        place = lines.taken(row.lines)
        if row.problem:
            raise InputError(f"{file.name}: line {row.line}: {row.problem}")
        if row.cells:
            header = [name.strip() for name in row.cells]
            check_columns(header, file.name, fields)
            return header, place
    raise InputError(f"{file.name}: no header line was found")


def read_csv(unit: Unit, fields: Fields) -> Content:
    """Rows of a table that is written as text."""
    found = Content(raw=[])
    delimiter, *header = unit.header
    lines = read_lines(unit, found.problems)
    unread = {number for number, line in lines if line is None}
    texts = [line or "" for _, line in lines]
    if unread:  # where rows begin and end they tell, too
        texts = _bytes_of(unit).decode("utf-8", "replace").split("\n")[: len(lines)]
    csv.field_size_limit(LONGEST)
    reader = RowReader(texts, delimiter, width=len(header), first=unit.first)
    # An empty cell is a missing value everywhere but in the candidate, which may be an empty caption.
    captions = {field for name, field in _known(header, fields) if name == "candidate"}
    for row in reader:
        if unread and not unread.isdisjoint(range(row.line, row.line + row.lines)):
            continue  # told already
        if not row.cells and not row.problem:
            continue
        if row.problem or len(row.cells) != len(header):
            reason = row.problem or f"has {len(row.cells)} cells, the header has {len(header)}"
            found.problems.append(Problem(f"line {row.line}", reason, unit.name))
            continue
        cells = {n: c for n, c in zip(header, row.cells) if c != "" or n in captions}
        found.records.append({**rename(cells, fields), "where": f"line {row.line}"})
        if found.raw is not None:
            found.raw.append(dict(zip(header, row.cells)))
    return found


def _known(header: list[str], fields: Fields) -> tuple[tuple[str, Any], ...]:
    from vericap.io.records import known_fields

    return known_fields(tuple(header), fields)[0]
