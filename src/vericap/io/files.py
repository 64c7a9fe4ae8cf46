"""Inputs as plain files that can be read from any place; gzip, standard input and encodings are unpacked first."""

from __future__ import annotations

import codecs
import glob
import hashlib
import os
import re
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from vericap.core.errors import InputError
from vericap.core.paths import no_such_file
from vericap.io import kinds

BLOCK = 1 << 22
_BOMB, _LARGE = 200, 256 << 20  # a file that unpacks to more than so many times its size, and to so many bytes
_BRACES = re.compile(r"\{(\d+)\.\.(\d+)\}")
_MOST = 1_000_000  # names that a pattern may stand for


@dataclass(frozen=True)
class InputFile:
    """A file to read: what to call it, where its plain bytes lie, what it holds, and the digest of its bytes."""

    name: str
    path: Path
    kind: str
    digest: str
    folder: Path  # relative names of images start here


def expand(pattern: str | Path) -> list[str]:
    """The files that a name stands for: `{000..099}` counts, `*` and `?` match; a plain name is itself.

    Nothing is handed to a shell, whatever the name holds.

    Examples
    --------
    >>> expand("shard-{08..10}.tar")
    ['shard-08.tar', 'shard-09.tar', 'shard-10.tar']
    """
    text = str(pattern)
    if text == "-" or os.path.exists(text):
        return [text]
    found = list(_counted(text))
    if not any(glob.has_magic(name) for name in found):
        return found
    matches = [match for name in found for match in sorted(glob.glob(name, recursive=True))]
    if not matches:
        raise InputError(f"no file matches {text}")
    return list(dict.fromkeys(matches))


def _counted(text: str) -> Iterator[str]:
    braces = _BRACES.search(text)
    if braces is None:
        yield text
        return
    first, last = braces[1], braces[2]
    if not 0 <= int(last) - int(first) < _MOST:
        raise InputError(f"{text}: {{{first}..{last}}} counts upwards, to less than {_MOST} files")
    for number in range(int(first), int(last) + 1):
        yield from _counted(f"{text[: braces.start()]}{number:0{len(first)}d}{text[braces.end() :]}")


def open_file(name: str, spool: Path, *, format: str | None = None, encoding: str = "") -> InputFile:
    """A file ready to be read in pieces; `spool` is a folder for what must be unpacked."""
    if format is not None and format not in kinds.FORMATS:
        raise InputError(f"unknown format '{format}'; there are: {', '.join(kinds.FORMATS)}")
    title = "standard input" if name == "-" else name
    path = Path(name)
    head, digest = _head(name, title, spool)
    if name == "-":
        path = spool / "standard-input"
    suffixes = [] if name == "-" else [suffix.lower() for suffix in path.suffixes]
    if head[:2] == b"\x1f\x8b":
        unpacked = spool / f"{digest[:16]}.unpacked"
        _unpack(path, unpacked, title)
        path = unpacked
        head = _first(path)
    if suffixes and suffixes[-1] in (".gz", ".tgz"):
        suffixes[-1:] = [".tar"] if suffixes[-1] == ".tgz" else []
    suffix = suffixes[-1] if suffixes else ""
    encoding = encoding or kinds.encoding_of(head)
    if codecs_name(encoding) != "utf-8" and not (encoding and kinds.encoding_of(head) == "utf-8" and _binary(head)):
        decoded = spool / f"{digest[:16]}.{codecs_name(encoding)}"
        _decode(path, decoded, encoding, title)
        path, head = decoded, _first(decoded)
    kind = format or kinds.detect(head, suffix, title)
    told = kinds.magic(head, title)  # what is no captions is refused, whatever format is forced
    if told is not None and kind != told:
        raise InputError(f"{title}: is a {told} file, which cannot be read as {kind}")
    if kind in kinds.BINARY and told != kind:
        raise InputError(f"{title}: not a readable {kind.capitalize()} file (it does not begin like one)")
    kinds.check_text(head, kind, title)
    folder = Path.cwd() if name == "-" else Path(name).resolve().parent
    return InputFile(title, path, kind, digest, folder)


def codecs_name(encoding: str) -> str:
    """The canonical name of an encoding."""
    try:
        found = codecs.lookup(encoding)
        if not getattr(found, "_is_text_encoding", True):  # base64 and the like
            raise LookupError
        return found.name
    except LookupError:
        raise InputError(f"`encoding={encoding}`: Python knows no such encoding; try utf-8, utf-16 or cp1252") from None


def _binary(head: bytes) -> bool:
    return head[:4] in (b"PAR1", b"PK\x03\x04") or head[:6] == b"ARROW1" or head[257:262] == b"ustar"


def _head(name: str, title: str, spool: Path) -> tuple[bytes, str]:
    """The first bytes and the digest of all; standard input is put into the spool on the way."""
    if name == "-":
        with (spool / "standard-input").open("wb") as out:
            return _digest(sys.stdin.buffer, out)
    try:
        with Path(name).open("rb") as stream:
            head, digest = _digest(stream)
    except FileNotFoundError:
        raise InputError(no_such_file(name)) from None
    except IsADirectoryError:
        raise InputError(f"{title}: is a folder, not a file") from None
    except (OSError, ValueError) as error:  # a NUL in the name
        raise InputError(f"{title}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    if not head:
        raise InputError(f"{title}: the file is empty; was it written to the end?")
    return head, digest


def _digest(stream: IO[bytes], out: IO[bytes] | None = None) -> tuple[bytes, str]:
    found, head = hashlib.sha256(), b""
    while block := stream.read(BLOCK):
        head = head or block[: kinds.HEAD]
        found.update(block)
        if out is not None:
            out.write(block)
    return head, found.hexdigest()


def _first(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(kinds.HEAD)


def _unpack(path: Path, target: Path, name: str) -> None:
    """Plain bytes of a gzip file, with an eye on how much comes out."""
    import gzip

    limit = max(_LARGE, _BOMB * path.stat().st_size)
    try:
        with gzip.open(path) as stream, target.open("wb") as out:
            while block := stream.read(BLOCK):
                out.write(block)
                if out.tell() > limit:
                    raise InputError(f"{name}: unpacks to more than {_BOMB} times its size, like a bomb; not read")
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{name}: the gzip data is damaged or cut short ({error}); copy the file again") from None


def _decode(path: Path, target: Path, encoding: str, name: str) -> None:
    """The same text as UTF-8."""
    decoder = codecs.getincrementaldecoder(encoding)()
    with path.open("rb") as stream, target.open("wb") as out:
        try:
            while block := stream.read(BLOCK):
                out.write(decoder.decode(block).encode("utf-8", "surrogatepass"))
            out.write(decoder.decode(b"", True).encode("utf-8", "surrogatepass"))
        except (UnicodeError, TypeError) as error:
            raise InputError(
                f"{name}: is not {encoding} throughout ({error}); say which with `encoding=NAME`"
            ) from None
