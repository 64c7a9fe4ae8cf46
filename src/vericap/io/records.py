"""From file formats to plain records: COCO JSON, JSONL, CSV/TSV, Parquet, text lines.

A record is a dict with some of `id`, `candidate`, `references`, `image`, `objects`, and `where`
("line 7"), which messages use.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from vericap.core.errors import InputError, Problem
from vericap.io.source import Source, lines, text

Record = dict[str, Any]

FORMATS = ("coco", "json", "jsonl", "csv", "tsv", "parquet", "text")

_SUFFIXES = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".txt": "text",
}
# Names that people give to the same thing, the first one present counts.
_ALIASES = {
    "id": ("id", "image_id", "img_id", "sample_id"),
    "candidate": ("candidate", "caption", "prediction", "hypothesis"),
    "references": ("references", "refs", "captions", "reference"),
    "image": ("image", "file_name", "image_path", "filename"),
    "objects": ("objects", "labels"),
}
_NUMBERED = re.compile(r"^ref(?:erence)?[-_ ]?\d+$")


def detect(source: Source) -> str:
    """The format by content first, extension second."""
    if source.data[:4] == b"PAR1":
        return "parquet"
    if source.suffix in _SUFFIXES:
        return _SUFFIXES[source.suffix]
    head = source.data[:65536].lstrip(b"\xef\xbb\xbf \t\r\n")
    if head[:1] == b"{" and _first_line_is_whole(head):
        return "jsonl"
    if head[:1] in (b"{", b"["):
        return "json"
    if source.suffix == ".json":
        raise InputError(f"{source.name}: is called .json but does not begin like JSON; force another --format")
    first = head.split(b"\n", 1)[0]
    names = {name.strip(' "\r').lower() for name in first.decode("utf-8", "replace").replace("\t", ",").split(",")}
    if names & {"candidate", "caption", "references", "prediction", "hypothesis"}:
        return "tsv" if b"\t" in first else "csv"
    return "text"


def _first_line_is_whole(head: bytes) -> bool:
    first, newline, rest = head.partition(b"\n")
    if not newline or not rest.strip():
        return _is_record(first)
    return _is_record(first) or rest.lstrip()[:1] == b"{"


def _is_record(line: bytes) -> bool:
    try:
        found = json.loads(line)
    except ValueError:
        return False
    return isinstance(found, dict) and bool(set(found) & {"candidate", "caption", "references", "prediction"})


def parse(source: Source, kind: str | None, problems: list[Problem]) -> tuple[str, list[Record]]:
    """The format and the records; what is wrong with single records goes to `problems`."""
    if kind is not None and kind not in FORMATS:
        raise InputError(f"unknown format '{kind}'; there are: {', '.join(FORMATS)}")
    kind = kind or detect(source)
    readers: dict[str, Callable[[Source, list[Problem]], list[Record]]] = {
        "json": _json,
        "coco": _json,
        "jsonl": _jsonl,
        "csv": lambda s, p: _csv(s, p, ","),
        "tsv": lambda s, p: _csv(s, p, "\t"),
        "parquet": _parquet,
        "text": _text,
    }
    return kind, readers[kind](source, problems)


def _json(source: Source, problems: list[Problem]) -> list[Record]:
    content = text(source)
    try:
        data = json.loads(content)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{source.name}: malformed JSON at line {error.lineno}, column {error.colno}: {error.msg}"
        ) from None
    if isinstance(data, dict) and isinstance(data.get("annotations"), list):
        return _coco_annotations(data, source, problems)
    if isinstance(data, dict):
        return [_by_id(key, value) for key, value in data.items()]
    if isinstance(data, list):
        return _objects(((f"record {number}", item) for number, item in enumerate(data, 1)), source, problems)
    raise InputError(f"{source.name}: JSON holds a {type(data).__name__}; a list or an object of captions is needed")


def _by_id(key: str, value: Any) -> Record:
    """`{"42": "a dog"}` is a candidate, `{"42": ["a dog", "the dog"]}` are references."""
    record: Record = {"id": key, "where": f"id {key}"}
    if isinstance(value, dict):
        return {**record, **rename(value)}
    return {**record, ("references" if isinstance(value, list) else "candidate"): value}


def _coco_annotations(data: dict[str, Any], source: Source, problems: list[Problem]) -> list[Record]:
    """COCO annotation JSON: the captions of an image become its references."""
    images = data.get("images") if isinstance(data.get("images"), list) else []
    names = {str(i["id"]): i.get("file_name") for i in images or [] if isinstance(i, dict) and "id" in i}
    grouped: dict[str, Record] = {}
    for number, item in enumerate(data["annotations"], 1):
        where = f"annotation {number}"
        if not isinstance(item, dict) or "image_id" not in item:
            problems.append(Problem(where, "has no image_id", source.name))
        elif not isinstance(item.get("caption"), str):
            problems.append(Problem(f"{where} (image {item['image_id']})", "has no caption text", source.name))
        else:
            key = str(item["image_id"])
            new: Record = {"id": key, "references": [], "image": names.get(key), "where": f"image {key}"}
            grouped.setdefault(key, new)["references"].append(item["caption"])
    return list(grouped.values())


def _objects(items: Iterable[tuple[str, Any]], source: Source, problems: list[Problem]) -> list[Record]:
    records = []
    for where, item in items:
        if isinstance(item, dict):
            records.append({**rename(item), "where": where})
        elif isinstance(item, str):
            records.append({"candidate": item, "where": where})
        else:
            problems.append(Problem(where, f"is a {type(item).__name__}, not an object", source.name))
    return records


def _jsonl(source: Source, problems: list[Problem]) -> list[Record]:
    def items() -> Iterable[tuple[str, Any]]:
        for number, line in lines(source, problems):
            if line is None or not line.strip():
                continue
            try:
                yield f"line {number}", json.loads(line)
            except json.JSONDecodeError as error:
                reason = f"malformed JSON at column {error.colno}: {error.msg}"
                problems.append(Problem(f"line {number}", reason, source.name))

    return _objects(items(), source, problems)


def _csv(source: Source, problems: list[Problem], delimiter: str) -> list[Record]:
    good = [line for _, line in lines(source, problems) if line is not None]
    csv.field_size_limit(10_000_000)
    reader = csv.reader(io.StringIO("\n".join(good), newline=""), delimiter=delimiter)
    try:
        rows = [(reader.line_num, row) for row in reader]
    except csv.Error as error:
        raise InputError(f"{source.name}: line {reader.line_num}: {error}") from None
    if not rows:
        raise InputError(f"{source.name}: no header line was found")
    header = [name.strip() for name in rows[0][1]]
    _check_columns(header, source)
    records = []
    for number, row in rows[1:]:
        if not row:
            continue
        where = f"line {number}"
        if len(row) != len(header):
            problems.append(Problem(where, f"has {len(row)} cells, the header has {len(header)}", source.name))
            continue
        # An empty cell is a missing value everywhere but in the candidate, which may be an empty caption.
        cells = {n: c for n, c in zip(header, row) if c != "" or n in _ALIASES["candidate"]}
        records.append({**rename(cells), "where": where})
    return records


def _check_columns(names: Iterable[str], source: Source) -> None:
    names = list(names)
    wanted = {*_ALIASES["candidate"], *_ALIASES["references"]}
    if not wanted & set(names) and not any(_NUMBERED.match(name) for name in names):
        raise InputError(
            f"{source.name}: no column for captions; found {', '.join(names) or 'none'}, "
            "expected `candidate` and/or `references` (or reference_1, reference_2, ...), and `id`"
        )


def _parquet(source: Source, problems: list[Problem]) -> list[Record]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(pa.BufferReader(source.data))
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"{source.name}: not a readable Parquet file ({error})") from None
    _check_columns(table.column_names, source)
    return [{**rename(row), "where": f"row {number}"} for number, row in enumerate(table.to_pylist(), 1)]


def _text(source: Source, problems: list[Problem]) -> list[Record]:
    """One caption per line; the line number is the id."""
    return [
        {"id": str(number), "candidate": line, "where": f"line {number}", "numbered": True}
        for number, line in lines(source, problems)
        if line is not None
    ]


def rename(item: dict[str, Any]) -> Record:
    """Known names for the fields; several reference columns become one list."""
    known, numbered = _fields(tuple(item))
    record: Record = {name: item[field] for name, field in known}
    if numbered and "references" not in record:
        # Tables pad shorter rows with empty cells: those are absent references, not bad ones.
        cells = [item[field] for field in numbered]
        record["references"] = [cell for cell in cells if cell is not None and cell == cell and cell != ""]
    references = record.get("references")
    if isinstance(references, str) and references.lstrip().startswith("["):
        try:
            record["references"] = json.loads(references)
        except ValueError:
            record["references"] = references
    return record


@lru_cache(maxsize=256)
def _fields(given: tuple[Any, ...]) -> tuple[tuple[tuple[str, Any], ...], tuple[Any, ...]]:
    """Which field of a record has which known name, and its reference columns in order: the same for most records."""
    found = ((name, next((alias for alias in aliases if alias in given), None)) for name, aliases in _ALIASES.items())
    numbered = [field for field in given if _NUMBERED.match(str(field))]
    ordered = sorted(numbered, key=lambda field: int(re.sub(r"\D", "", str(field))))
    return tuple((name, field) for name, field in found if field is not None), tuple(ordered)
