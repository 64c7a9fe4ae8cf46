"""Data beside a page that is opened from disk.

Browsers refuse to fetch files from disk, but they run scripts from there: every chunk is a script of one line that
hands compressed data to the page.
"""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import Any

from vericap.core.errors import InputError

FOLDER = "data"
CALL = "vericapReport.put"


def write_chunk(folder: Path, name: str, value: Any) -> int:
    """Write a value as the chunk `data/NAME.js`; the number of its bytes. Numbers that are none become null."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    data = base64.b64encode(zlib.compress(text.encode("utf-8"), 9)).decode("ascii")
    return write_text(folder / FOLDER / f"{name}.js", f'{CALL}("{name}","{data}");\n')


def read_chunk(folder: Path, name: str) -> Any:
    """The inverse, for tests and other programs."""
    text = (folder / FOLDER / f"{name}.js").read_text("ascii")
    return json.loads(zlib.decompress(base64.b64decode(text.split('"')[3])))


def write_text(path: Path, text: str) -> int:
    """Write a file of a report; the number of its bytes."""
    data = text.encode("utf-8", errors="replace")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror or error})") from error
    return len(data)


def rounded(value: float | None, digits: int = 4) -> float | None:
    """A number short enough for a page; None where there is none."""
    if value is None or value != value or value in (float("inf"), float("-inf")):
        return None
    return round(float(value), digits)
