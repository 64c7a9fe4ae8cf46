"""What a file is, by its first bytes; a file that only looks like captions is refused by name."""

from __future__ import annotations

import json
import re

from vericap.core.errors import InputError

FORMATS = ("coco", "json", "jsonl", "csv", "tsv", "parquet", "arrow", "tar", "xlsx", "text")
HEAD = 65536  # bytes that decide

_SUFFIXES = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".tar": "tar",
    ".xlsx": "xlsx",
    ".txt": "text",
}
BINARY = ("parquet", "arrow", "tar", "xlsx")  # never told by the name alone
_MAGIC = {
    b"\xff\xd8\xff": "a JPEG image",
    b"\x89PNG": "a PNG image",
    b"GIF8": "a GIF image",
    b"BM": "a BMP image",
    b"II*\0": "a TIFF image",
    b"MM\0*": "a TIFF image",
    b"%PDF": "a PDF document",
    b"\x7fELF": "a program",
    b"MZ": "a program",
    b"7z\xbc\xaf": "a 7z archive",
    b"Rar!": "a RAR archive",
    b"\x28\xb5\x2f\xfd": "a zstd file; unpack it first",
    b"BZh": "a bzip2 file; unpack it first",
    b"\xfd7zXZ": "an xz file; unpack it first",
    b"SQLite format 3": "an SQLite database",
    b"\x89HDF": "an HDF5 file",
    b"\x93NUMPY": "a NumPy array",
    b"\xd0\xcf\x11\xe0": "an old Office file; save it as .xlsx or .csv",
    b"\x80\x02": "a pickle, which is never opened",
    b"\x80\x03": "a pickle, which is never opened",
    b"\x80\x04": "a pickle, which is never opened",
    b"\x80\x05": "a pickle, which is never opened",
    b"%!PS": "a PostScript file",
    b"{\\rtf": "a text with formatting; save it as plain text",
}
_MARKUP = re.compile(rb"\s*(?:<!--.*?-->\s*)*<(?:!doctype|html|head|body|\?xml|svg)\b", re.IGNORECASE | re.DOTALL)
_TEXT = {"text", "csv", "tsv", "json", "jsonl", "coco"}


def detect(head: bytes, suffix: str, name: str) -> str:
    """The format of a file: by content first, by the name's ending second.

    Examples
    --------
    >>> detect(b"PAR1....", "", "captions")
    'parquet'
    >>> detect(b"id;caption", ".csv", "captions.csv")
    'csv'
    """
    kind = magic(head, name)
    if kind is not None:
        return kind
    if suffix in _SUFFIXES and _SUFFIXES[suffix] not in BINARY:
        return _SUFFIXES[suffix]
    if suffix in _SUFFIXES:
        raise InputError(f"{name}: not a readable {_title(suffix)} file (it does not begin like one)")
    head = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if head[:1] == b"{" and _first_line_is_whole(head):
        return "jsonl"
    if head[:1] in (b"{", b"["):
        return "json"
    if suffix == ".json":
        raise InputError(f"{name}: is called .json but does not begin like JSON; force another --format")
    first = head.split(b"\n", 1)[0].decode("utf-8", "replace")
    names = {part.strip(' "\r').lower() for part in re.split("[,\t;|]", first)}
    if names & {"candidate", "caption", "references", "prediction", "hypothesis"}:
        return "tsv" if "\t" in first else "csv"
    return "text"


def _title(suffix: str) -> str:
    return {"parquet": "Parquet", "arrow": "Arrow", "tar": "tar", "xlsx": "Excel"}[_SUFFIXES[suffix]]


def magic(head: bytes, name: str) -> str | None:
    """The format that the first bytes tell; None where it is a text; an InputError where it is no captions at all."""
    if head[:4] == b"PAR1":
        return "parquet"
    if head[:6] == b"ARROW1" or (head[:4] == b"\xff\xff\xff\xff" and head[7:8] == b"\0"):
        return "arrow"
    if head[257:262] == b"ustar":
        return "tar"
    if head[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        if b"xl/" in head or b"[Content_Types].xml" in head:
            return "xlsx"
        raise InputError(f"{name}: is a zip archive, not captions; unpack it first")
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        raise InputError(f"{name}: is a WebP image, not captions{_instead('a WebP image')}")
    for start, what in _MAGIC.items():
        # Two letters alone may begin a caption ("BMX rider ..."): then the bytes after them decide.
        if head.startswith(start) and (len(start) > 2 or start[0] > 127 or b"\0" in head[:64]):
            raise InputError(f"{name}: is {what}, not captions{_instead(what)}")
    if _MARKUP.match(head):
        raise InputError(f"{name}: is a web page or other markup, not captions; was the download refused?")
    return None


def _instead(what: str) -> str:
    """What to give in place of a file that is no captions."""
    if "first" in what or "save it" in what:
        return ""
    if "image" in what:
        return "; name the folder of the photos with `images=DIR`"
    return "; give JSON, JSON lines, CSV, Parquet, Arrow, tar, .xlsx or a text with one caption per line"


def check_text(head: bytes, kind: str, name: str) -> None:
    """Refuse bytes that no text has, where a text is expected."""
    if kind in _TEXT and b"\0" in head:
        raise InputError(f"{name}: holds NUL bytes, so it is no text; if it is, say which with `encoding=NAME`")


def encoding_of(head: bytes) -> str:
    """The encoding a byte order mark tells, else UTF-8."""
    if head[:4] in (b"\xff\xfe\0\0", b"\0\0\xfe\xff"):
        return "utf-32"
    return "utf-16" if head[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"


def delimiter_of(line: str, kind: str) -> str:
    """What separates the cells of a table, told by its header.

    Examples
    --------
    >>> delimiter_of("id;caption", "csv")
    ';'
    """
    if kind == "tsv":
        return "\t"
    counts = {mark: line.count(mark) for mark in ",;\t|"}
    best = max(counts, key=lambda mark: counts[mark])
    return best if counts[best] else ","


def _first_line_is_whole(head: bytes) -> bool:
    first, newline, rest = head.partition(b"\n")
    if not newline or not rest.strip():
        return _is_record(first)
    return _is_record(first) or rest.lstrip()[:1] == b"{"


def _is_record(line: bytes) -> bool:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and bool(set(found) & {"candidate", "caption", "references", "prediction"})
