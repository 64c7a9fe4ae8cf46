"""The cache's SQLite file: its tables, what is read and written, and what leaves when it is full."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

_FRESH = 3600  # seconds in which a use is not noted again: reading would write all the time
_KEPT = 0.9  # share of the limit that eviction leaves, so that it is not needed at every put
_KEYS = 250  # keys of one SELECT
_ROWS = 100  # rows of one INSERT
_LEAVING = 2000  # entries removed in one transaction: other processes come to write in between
_PAGES = 4000  # pages given back in one transaction, likewise
_PATIENCE = 30.0  # seconds to wait for another process

# page_size: a region set of 36 kB is read and written faster in pages of 8 kB than of 4 kB, and wastes little.
_LAYOUT = "PRAGMA page_size=8192; PRAGMA auto_vacuum=INCREMENTAL"
# synchronous: OFF saves milliseconds, but after a power cut a value could be read with another value's bytes.
# wal_autocheckpoint: 32 MB between two waits for the disk. cache_size: 32 MB at most.
_SETTINGS = """
PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=4096; PRAGMA journal_size_limit=33554432;
PRAGMA cache_size=-32000; PRAGMA temp_store=MEMORY;
"""
_TABLES = """
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS kinds (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,
    entries INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0, used INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS entries (
    id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, key TEXT NOT NULL,
    used INTEGER NOT NULL, size INTEGER NOT NULL, value BLOB NOT NULL, UNIQUE (kind, key)
);
CREATE INDEX IF NOT EXISTS by_use ON entries (used);
CREATE TRIGGER IF NOT EXISTS changed AFTER UPDATE OF used, size ON entries BEGIN
    UPDATE kinds SET bytes = bytes + NEW.size - OLD.size, used = max(used, NEW.used) WHERE id = NEW.kind;
END;
CREATE TRIGGER IF NOT EXISTS removed AFTER DELETE ON entries BEGIN
    UPDATE kinds SET entries = entries - 1, bytes = bytes - OLD.size WHERE id = OLD.kind;
END;
PRAGMA user_version=1;
COMMIT;
"""
# The only table of a file of the earlier version, which had one file per kind.
_EARLIER = [("CREATE TABLE entries (key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID",)]


@dataclass(frozen=True)
class Kind:
    """What is kept of one kind. A left-over is a file of its own that is no longer read; `clear` removes it."""

    kind: str
    entries: int
    bytes: int
    last_used: datetime
    left_over: bool = False


def connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
    try:
        db.executescript(_SETTINGS)
        if db.execute("PRAGMA user_version").fetchone() == (0,):
            db.executescript(_LAYOUT)
            _log_ahead(db)
            db.executescript(_TABLES)
    except BaseException:
        db.close()
        raise
    return db


def _log_ahead(db: sqlite3.Connection) -> None:
    """Write-ahead logging. Of processes that make the file at once, SQLite refuses all but one without waiting."""
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            db.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(0.01)


@contextmanager
def _writing(db: sqlite3.Connection) -> Iterator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


@lru_cache
def _select(count: int) -> str:
    # A join with the list of keys: of the list of an IN, SQLite makes a table first, which costs a third more.
    return (
        f"WITH asked(key) AS (VALUES {','.join(['(?)'] * count)}) "
        "SELECT entries.key, value, CASE WHEN used < ? THEN id END FROM asked "
        "CROSS JOIN entries ON kind = (SELECT id FROM kinds WHERE name = ?) AND entries.key = asked.key"
    )


@lru_cache
def _insert(count: int) -> str:
    places = range(3, 3 + count)
    rows = ",".join(f"(?1,?{key},?2,length(?{key + count}),?{key + count})" for key in places)
    return (
        f"INSERT INTO entries (kind, key, used, size, value) VALUES {rows} "
        "ON CONFLICT (kind, key) DO UPDATE SET used = excluded.used, size = excluded.size, value = excluded.value"
    )


def read(db: sqlite3.Connection, *, kind: str, keys: Sequence[str]) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    stale: list[int] = []
    before = _now() - _FRESH
    for asked in _chunks(keys, _KEYS):
        rows = db.execute(_select(len(asked)), [*asked, before, kind]).fetchall()
        found.update({key: value for key, value, _ in rows})
        stale += [number for _, _, number in rows if number is not None]
    if stale:
        _note_use(db, stale)
    return found


def _note_use(db: sqlite3.Connection, numbers: Sequence[int]) -> None:
    now = _now()
    # What was read is good even where its use cannot be noted (a full disk, a busy file).
    with suppress(sqlite3.OperationalError), _writing(db):
        db.executemany("UPDATE entries SET used = ? WHERE id = ?", [(now, number) for number in numbers])


def write(db: sqlite3.Connection, *, kind: str, values: dict[str, bytes], limit: int) -> bool:
    """Whether entries had to leave."""
    with _writing(db):
        db.execute("INSERT OR IGNORE INTO kinds (name) VALUES (?)", (kind,))
        (number,) = db.execute("SELECT id FROM kinds WHERE name = ?", (kind,)).fetchone()
        (last,) = db.execute("SELECT coalesce(max(id), 0) FROM entries").fetchone()
        now = _now()
        for keys, blobs in zip(_chunks(list(values), _ROWS), _chunks(list(values.values()), _ROWS)):
            db.execute(_insert(len(keys)), [number, now, *keys, *blobs])
        # New entries are counted together, as a trigger for each takes a third of the time of a small put; entries that
        # got another value have gone through the trigger.
        added = db.execute("SELECT count(*), coalesce(sum(size), 0) FROM entries WHERE id > ?", (last,)).fetchone()
        change = "UPDATE kinds SET entries = entries + ?, bytes = bytes + ?, used = max(used, ?) WHERE id = ?"
        db.execute(change, (*added, now, number))
        full = total_size(db) > limit
    if full:
        _evict(db, int(_KEPT * limit))
    return full


def _evict(db: sqlite3.Connection, target: int) -> None:
    """Let the entries used longest ago leave until `target` bytes remain."""
    while _remove(db, _excess(db, target)):
        pass
    # Free pages serve the next values; only where the limit was lowered there are more of them than that.
    _shrink(db, above=0.25)


def _excess(db: sqlite3.Connection, target: int) -> Iterator[tuple[int, int]]:
    over = total_size(db) - target
    for number, size in db.execute("SELECT id, size FROM entries ORDER BY used, id LIMIT ?", (_LEAVING,)):
        if over <= 0:
            return
        over -= size
        yield number, size


def clear(db: sqlite3.Connection, *, kind: str | None) -> int:
    freed = 0
    while removed := _remove(db, _of_kind(db, kind)):
        freed += sum(size for _, size in removed)
    db.execute("DELETE FROM kinds WHERE entries = 0")
    _shrink(db)
    return freed


def _of_kind(db: sqlite3.Connection, kind: str | None) -> Iterator[tuple[int, int]]:
    chosen = "WHERE kind = (SELECT id FROM kinds WHERE name = :kind)" if kind is not None else ""
    yield from db.execute(f"SELECT id, size FROM entries {chosen} LIMIT :rows", {"kind": kind, "rows": _LEAVING})


def _remove(db: sqlite3.Connection, rows: Iterator[tuple[int, int]]) -> list[tuple[int, int]]:
    """Remove entries, which are looked up in the same transaction: two processes do not remove for the same reason."""
    with _writing(db):
        leaving = list(rows)
        db.executemany("DELETE FROM entries WHERE id = ?", [(number,) for number, _ in leaving])
    return leaving


def _shrink(db: sqlite3.Connection, *, above: float = 0.0) -> None:
    """Give the free pages back to the disk where they are more than a share of the file."""
    (free,), (pages,) = (db.execute(f"PRAGMA {name}").fetchone() for name in ("freelist_count", "page_count"))
    if free <= above * pages:
        return
    if 2 * free > pages:
        # Copying the smaller part that stays is faster than moving its pages one by one.
        db.executescript("PRAGMA temp_store=FILE; VACUUM; PRAGMA temp_store=MEMORY")
    for _ in range(0, free, _PAGES):
        # As a script, because `execute` leaves this statement after its first page.
        db.executescript(f"PRAGMA incremental_vacuum({_PAGES})")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def total_size(db: sqlite3.Connection) -> int:
    (total,) = db.execute("SELECT coalesce(sum(bytes), 0) FROM kinds").fetchone()
    return int(total)


def kinds(db: sqlite3.Connection) -> list[Kind]:
    rows = db.execute("SELECT name, entries, bytes, used FROM kinds WHERE entries > 0 ORDER BY bytes DESC, name")
    return [Kind(name, entries, size, _moment(used)) for name, entries, size, used in rows]


# --- files beside it --------------------------------------------------------------------------------------------


def identity(path: Path) -> tuple[int, int] | None:
    try:
        facts = os.stat(path)
    except OSError:
        return None
    return facts.st_dev, facts.st_ino


def damaged(path: Path) -> Path:
    return path.with_name(f"{path.name}.damaged")


def companions(path: Path) -> list[Path]:
    return [path.with_name(path.name + ending) for ending in ("-wal", "-shm")]


def is_earlier(file: Path) -> bool:
    """Whether an earlier version made it: someone's own database in the folder is none of our business."""
    try:
        db = sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)
        try:
            return db.execute("SELECT sql FROM sqlite_master").fetchall() == _EARLIER
        finally:
            db.close()
    except sqlite3.Error:
        return False


def left_over(file: Path) -> Kind:
    facts = file.stat()
    return Kind(file.name, 0, facts.st_size, _moment(facts.st_mtime), left_over=True)


def removed(file: Path) -> int:
    size = file.stat().st_size
    for each in (file, *companions(file)):
        each.unlink(missing_ok=True)
    return size


def _chunks(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (items[start : start + size] for start in range(0, len(items), size))


def _now() -> int:
    return int(time.time())


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, timezone.utc)
