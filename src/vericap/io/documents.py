"""JSON documents and spreadsheets: read once, item by item, and laid down as lines that can be read in pieces."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from vericap.core.errors import InputError, Problem, require
from vericap.io.files import BLOCK, InputFile
from vericap.io.records import (
    Fields,
    Record,
    by_id,
    check_columns,
    check_fields,
    coco_annotations,
    of_objects,
    rename,
)
from vericap.io.units import LONGEST, Content, Unit, read_lines

_MOST = 1 << 30  # bytes of a JSON object, which must be read at once
_CELLS = 100_000_000  # of a sheet
RAW = "_raw"  # under which a record carries what it held before its fields were renamed
_BLANKS = re.compile(r"[ \t\r\n]*")


def json_records(file: InputFile, fields: Fields, problems: list[Problem], *, references: bool) -> Iterator[Record]:
    """Records of a JSON document: a list item by item, an object at once."""
    with file.path.open("rb") as stream:
        first = stream.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if first == b"[":
        yield from of_objects_one_by_one(_items(file), file.name, problems, fields)
        return
    if file.path.stat().st_size > _MOST:
        raise InputError(
            f"{file.name}: a JSON object of more than {_MOST >> 30} GB; write one record per line (.jsonl)"
        )
    data = _whole(file)
    if isinstance(data, dict) and isinstance(data.get("annotations"), list):
        yield from coco_annotations(data, file.name, problems, references=references)
    elif isinstance(data, dict):
        for key, value in data.items():
            yield from by_id(key, value, fields, references=references)
    else:
        kind = type(data).__name__
        raise InputError(f"{file.name}: JSON holds a {kind}; a list or an object of captions is needed")


def of_objects_one_by_one(
    items: Iterable[tuple[str, Any]], name: str, problems: list[Problem], fields: Fields
) -> Iterator[Record]:
    """The same, with what each object held besides."""
    seen: dict[Any, Any] = {}
    for where, item in items:
        if isinstance(item, dict):
            seen.update(dict.fromkeys(item))
        for record in of_objects([(where, item)], name, problems, fields):
            yield {**record, RAW: item} if isinstance(item, dict) else record
    check_fields([seen], name, fields)


def _whole(file: InputFile) -> Any:
    data = file.path.read_bytes()
    try:
        content = data.decode("utf-8-sig")
        return json.loads(content)
    except UnicodeDecodeError as error:
        raise _not_utf8(file.name, data[: error.start].count(b"\n") + 1, error.start) from None
    except json.JSONDecodeError as error:
        raise _malformed(file.name, error.lineno, error.colno, error.msg) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file.name}: JSON that cannot be read ({error})") from None


def _items(file: InputFile) -> Iterator[tuple[str, Any]]:
    """Items of a JSON list, without holding the list."""
    decoder, number = json.JSONDecoder(), 0
    text = _Text(file)
    text.skip("[")
    if text.peek() == "]":
        return
    while True:
        number += 1
        yield f"record {number}", text.value(decoder)
        mark = text.peek()
        if mark == "]":
            text.place += 1
            if text.peek():
                raise text.error("Extra data")
            return
        if mark != ",":
            raise text.error("Expecting ',' delimiter")
        text.place += 1


class _Text:
    """A text file behind a window that moves forward."""

    def __init__(self, file: InputFile) -> None:
        self.name, self.stream = file.name, file.path.open("rb")
        self.decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self.text, self.place, self.lines, self.read, self.done = "", 0, 0, 0, False
        self.column = 0

    def more(self) -> bool:
        """Read on; what lies behind is let go of."""
        if self.done:
            return False
        behind = self.text[: self.place]
        breaks = behind.count("\n")
        self.lines += breaks
        self.column = len(behind) - behind.rfind("\n") - 1 if breaks else self.column + len(behind)
        block = self.stream.read(max(BLOCK, len(self.text) - self.place))
        try:
            new = self.decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            line = self.lines + self.text[self.place :].count("\n") + block[: error.start].count(b"\n") + 1
            raise _not_utf8(self.name, line, self.read + error.start) from None
        self.read += len(block)
        self.text, self.place, self.done = self.text[self.place :] + new, 0, not block
        if self.done:
            self.stream.close()
        return True

    def peek(self) -> str:
        """The next character that is no blank; empty at the end."""
        while True:
            found = _BLANKS.match(self.text, self.place)
            self.place = found.end() if found else self.place
            if self.place < len(self.text) or not self.more():
                return self.text[self.place : self.place + 1]

    def skip(self, mark: str) -> None:
        if self.peek() != mark:
            raise self.error(f"Expecting '{mark}'")
        self.place += 1

    def value(self, decoder: json.JSONDecoder) -> Any:
        """The next JSON value; more is read until it is whole."""
        while True:
            self.peek()
            try:
                found, end = decoder.raw_decode(self.text, self.place)
                if end < len(self.text) or not self.more():  # a number at the window's end may go on behind it
                    self.place = end
                    return found
            except json.JSONDecodeError as error:
                if self.done or len(self.text) - self.place > LONGEST:
                    raise self.error(error.msg, error.pos) from None
                self.more()
            except (ValueError, RecursionError) as error:
                raise InputError(f"{self.name}: JSON that cannot be read ({error})") from None

    def error(self, message: str, place: int | None = None) -> InputError:
        behind = self.text[: self.place if place is None else place]
        breaks = behind.count("\n")
        column = len(behind) - behind.rfind("\n") if breaks else self.column + len(behind) + 1
        return _malformed(self.name, self.lines + breaks + 1, column, message)


def _not_utf8(name: str, line: int, place: int) -> InputError:
    return InputError(
        f"{name}: line {line} is not UTF-8 (byte {place}); say which with `encoding=NAME`, "
        "or convert the file, for example: iconv -f latin1 -t utf-8"
    )


def _malformed(name: str, line: int, column: int, message: str) -> InputError:
    several = message.startswith("Extra data")
    advice = "one object per line is `format=jsonl`" if several else "mend it there, or write the file again"
    return InputError(f"{name}: malformed JSON at line {line}, column {column}: {message}; {advice}")


# --- spreadsheets -----------------------------------------------------------------------------------------------------


def sheet_records(file: InputFile, fields: Fields, problems: list[Problem]) -> Iterator[Record]:
    """Rows of a workbook's first sheet; the first row names the columns."""
    import zipfile

    try:
        with zipfile.ZipFile(file.path) as archive:
            unpacked = sum(item.file_size for item in archive.infolist())
            if unpacked > max(256 << 20, 200 * file.path.stat().st_size):
                raise InputError(f"{file.name}: unpacks to more than 200 times its size, like a bomb; not read")
    except (zipfile.BadZipFile, NotImplementedError, ValueError, EOFError) as error:  # versions of zip nobody knows
        raise InputError(f"{file.name}: not a readable Excel file ({error})") from None
    openpyxl = require("openpyxl", "xlsx", "reading .xlsx files")
    try:
        book = openpyxl.load_workbook(file.path, read_only=True, data_only=True, keep_links=False)
        rows = book.worksheets[0].iter_rows(values_only=True)
        header = ["" if cell is None else str(cell).strip() for cell in next(rows, ())]
        check_columns(filter(None, header), file.name, fields)
        seen = 0
        for number, row in enumerate(rows, 2):
            seen += len(row)
            if seen > _CELLS:
                raise InputError(f"{file.name}: more than {_CELLS} cells; save the sheet as .csv")
            if any(cell is not None for cell in row):
                cells = _cells(header, row)
                yield {**rename(cells, fields), "where": f"row {number}", RAW: cells}
    except InputError:
        raise
    except Exception as error:  # what a damaged workbook raises is anything
        raise InputError(f"{file.name}: not a readable Excel file ({error})") from None


def _cells(header: list[str], row: tuple[Any, ...]) -> dict[str, Any]:
    """The cells of a row under their columns' names; those of columns without a name are left out."""
    found = {}
    for name, cell in zip(header, row):
        if name and cell is not None:
            whole = isinstance(cell, float) and cell.is_integer() and name in ("id", "image_id")
            found[name] = int(cell) if whole else cell if isinstance(cell, str | int | float) else str(cell)
    return found


# --- the spool ------------------------------------------------------------------------------------------------------


def laid_down(records: Iterable[Record], target: Path) -> None:
    """Records as lines of JSON, which `read_spooled` reads back."""
    with target.open("w", encoding="utf-8", errors="surrogatepass") as stream:
        for record in records:
            stream.write(json.dumps(record) + "\n")


def read_spooled(unit: Unit, fields: Fields) -> Content:
    """Records that were laid down as lines."""
    found = Content(raw=[])
    found.records = [json.loads(line) for _, line in read_lines(unit, found.problems) if line]
    found.raw = [record.pop(RAW, {}) for record in found.records]
    return found
