"""Results kept on disk by content, so that nothing slow is done twice.

One SQLite file per kind of result (`graphs-en-...`, `objects-...`): safe with several processes,
small values, and an entry whose key does not fit is simply not there.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path

from vericap.errors import VericapError

_CHUNK = 500


def folder() -> Path:
    """Where caches live: $VERICAP_CACHE, else the user's cache folder."""
    chosen = os.environ.get("VERICAP_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "vericap"


def key(*parts: str | bytes) -> str:
    """A content key: the same parts always give the same key."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


class Cache:
    """bytes by content key. `kind` must name the program version that made the values."""

    def __init__(self, kind: str, root: Path | None = None) -> None:
        root = root or folder()
        try:
            root.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(root / f"{kind}.sqlite", timeout=30)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=OFF")
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS entries (key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID"
            )
        except (OSError, sqlite3.Error) as error:
            raise VericapError(
                f"the cache folder {root} cannot be used ({error}); "
                "set VERICAP_CACHE (or pass --cache) to a folder you may write to"
            ) from error

    def get(self, keys: Sequence[str]) -> dict[str, bytes]:
        """The values that are there."""
        found: dict[str, bytes] = {}
        for start in range(0, len(keys), _CHUNK):
            part = list(keys[start : start + _CHUNK])
            marks = ",".join("?" * len(part))
            found.update(self._db.execute(f"SELECT key, value FROM entries WHERE key IN ({marks})", part))
        return found

    def put(self, items: Iterable[tuple[str, bytes]]) -> None:
        """Store values; an existing key keeps its newest value."""
        with self._db:
            self._db.executemany("INSERT OR REPLACE INTO entries VALUES (?, ?)", items)

    def close(self) -> None:
        self._db.close()
