"""Bytes from a file, a gzip file or standard input, with clear words for what cannot be read."""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path

from vericap.core.errors import InputError, Problem
from vericap.core.paths import no_such_file


@dataclass(frozen=True)
class Source:
    """The whole content of an input and what to call it in messages."""

    name: str
    data: bytes
    suffix: str  # of the file's name without .gz, lower case; empty for standard input


def read(path: str | Path) -> Source:
    """Read a file (`-`: standard input), unpacking gzip by content, not by name."""
    name = str(path)
    if name == "-":
        return Source("standard input", unpack(sys.stdin.buffer.read(), "standard input"), "")
    file = Path(path)
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        raise InputError(no_such_file(name)) from None
    except IsADirectoryError:
        raise InputError(f"{name}: is a folder, not a file") from None
    except OSError as error:
        raise InputError(f"{name}: cannot be read ({error.strerror or error})") from None
    suffixes = [suffix.lower() for suffix in file.suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    if not data:
        raise InputError(f"{name}: the file is empty; was it written to the end?")
    return Source(name, unpack(data, name), suffixes[-1] if suffixes else "")


def unpack(data: bytes, name: str) -> bytes:
    """Plain bytes of possibly gzipped ones."""
    if data[:2] != b"\x1f\x8b":
        return data
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
            limit = max(256 << 20, 200 * len(data))
            found = stream.read(limit + 1)
    except (EOFError, OSError, zlib.error) as error:
        raise InputError(f"{name}: the gzip data is damaged or cut short ({error}); copy the file again") from None
    if len(found) > limit:
        raise InputError(f"{name}: unpacks to more than 200 times its size, like a bomb; not read")
    return found


def text(source: Source) -> str:
    """The whole content as UTF-8 text; the byte that is wrong is named."""
    try:
        return source.data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = source.data[: error.start].count(b"\n") + 1
        raise InputError(
            f"{source.name}: line {line} is not UTF-8 (byte {error.start}); "
            "convert the file, for example: iconv -f latin1 -t utf-8"
        ) from None


def lines(source: Source, problems: list[Problem]) -> list[tuple[int, str | None]]:
    """Numbered lines; a line that is not UTF-8 is reported and given as None, the others stay."""
    data = source.data.removeprefix(b"\xef\xbb\xbf")
    raw = data.split(b"\n")
    if raw and not raw[-1]:
        raw.pop()
    found: list[tuple[int, str | None]] = []
    for number, line in enumerate(raw, 1):
        try:
            found.append((number, line.decode("utf-8").rstrip("\r")))
        except UnicodeDecodeError as error:
            problems.append(
                Problem(
                    f"line {number}",
                    f"is not UTF-8 (byte {error.start} of the line); say which with `encoding=NAME`",
                    source.name,
                )
            )
            found.append((number, None))
    return found
