"""The disk cache: results kept by content, so that nothing slow is done twice.

One SQLite file, `vericap.sqlite`, holds bytes by kind and content key. A kind names the program version that made the
values ("graphs-en", "regions-<fingerprint>"). The values together stay below a limit: those used longest ago leave.
"""

from __future__ import annotations

import atexit
import os
import re
import sqlite3
import threading
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from vericap.core.errors import InputError, VericapError, VericapWarning
from vericap.run import cache_file
from vericap.run.cache_file import Kind

T = TypeVar("T")

FILE = "vericap.sqlite"
LIMIT = 4 << 30  # bytes of values
OFF = ("off", "none")

_ADVICE = "pass `cache=DIR`, a folder on a local disk that you may write to, or `cache=off` to keep nothing"
_UNITS = "BKMGT"  # each 1024 times the one before

_lock = threading.RLock()  # one for all caches of the process: SQLite work is short, and a fork needs them all idle
_alive: weakref.WeakSet[Cache] = weakref.WeakSet()
_told = False  # whether this process has warned that entries leave


@dataclass(frozen=True)
class Part:
    """The values of one kind."""

    cache: Cache | NoCache
    kind: str

    def get(self, keys: Sequence[str]) -> dict[str, bytes]:
        """The values that are there."""
        return self.cache.read(self.kind, keys)

    def put(self, items: Iterable[tuple[str, bytes]]) -> None:
        """Keep values; a key that is there already gets the new one."""
        self.cache.write(self.kind, items)


class NoCache:
    """A cache that keeps nothing (`cache="off"`)."""

    folder = None
    limit = 0

    def part(self, kind: str) -> Part:
        return Part(self, kind)

    def read(self, kind: str, keys: Sequence[str]) -> dict[str, bytes]:
        return {}

    def write(self, kind: str, items: Iterable[tuple[str, bytes]]) -> None:
        pass

    def kinds(self) -> list[Kind]:
        return []

    def size(self) -> int:
        return 0

    def clear(self, kind: str | None = None) -> int:
        return 0

    def close(self) -> None:
        pass


class Cache:
    """Bytes by kind and content key in one file, for any number of threads and processes.

    Nothing is made on disk before the first `put`.

    Parameters
    ----------
    folder : where the file lies; None is `default_folder()`.
    limit : bytes of values to keep; None is $VERICAP_CACHE_LIMIT, else 4 GB.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     cache = Cache(Path(folder))
    ...     cache.part("graphs-en").put([("key", b"value")])
    ...     print(cache.part("graphs-en").get(["key", "other"]), cache.size())
    ...     cache.close()
    {'key': b'value'} 5
    """

    _db: sqlite3.Connection | None = None
    _file: tuple[int, int] | None = None  # the file that is open, or was tried last

    def __init__(self, folder: Path | None = None, *, limit: int | None = None) -> None:
        self.folder = default_folder() if folder is None else Path(folder).expanduser()
        self.limit = default_limit() if limit is None else limit
        _alive.add(self)

    def part(self, kind: str) -> Part:
        """The values of one kind."""
        return Part(self, kind)

    def read(self, kind: str, keys: Sequence[str]) -> dict[str, bytes]:
        """The values of a kind that are there."""
        return self._work(partial(cache_file.read, kind=kind, keys=keys)) or {}

    def write(self, kind: str, items: Iterable[tuple[str, bytes]]) -> None:
        """Keep values of a kind; those of any kind used longest ago leave when the limit is passed."""
        # Made now, because that may take long and others wait while the file is written; each key once.
        values = dict(items)
        if not values:
            return
        left = self._work(partial(cache_file.write, kind=kind, values=values, limit=self.limit), make=True)
        if left:
            self._tell()

    def kinds(self) -> list[Kind]:
        """What is kept, the largest first; files of an earlier version and damaged ones come last."""
        return [*(self._work(cache_file.kinds) or []), *map(cache_file.left_over, self._left_overs())]

    def size(self) -> int:
        """Bytes of all values."""
        return self._work(cache_file.total_size) or 0

    def clear(self, kind: str | None = None) -> int:
        """Remove one kind (or all of them, with every left-over). The number of bytes that were freed."""
        freed = self._work(partial(cache_file.clear, kind=kind)) or 0
        with self._explained():
            return freed + sum(cache_file.removed(file) for file in self._left_overs() if kind in (None, file.name))

    def close(self) -> None:
        """Close the file; it is opened again when needed."""
        with _lock:
            if self._db is not None:
                self._db.close()
                self._db = None

    def __del__(self) -> None:
        if self._db is not None:
            self._db.close()

    def __reduce__(self) -> tuple[Callable[[], Cache], tuple[()]]:
        # Another process opens the file for itself.
        return partial(Cache, self.folder, limit=self.limit), ()

    @property
    def _path(self) -> Path:
        return self.folder / FILE

    def _work(self, work: Callable[[sqlite3.Connection], T], *, make: bool = False) -> T | None:
        """What `work` makes of the file; None where there is none. A damaged file is put aside, once."""
        with _lock, self._explained():
            try:
                return self._try(work, make)
            except sqlite3.DatabaseError as error:
                # "Not a database" and "malformed" arrive as this very class, all else as one derived from it.
                if type(error) is not sqlite3.DatabaseError:
                    raise
            self._put_aside()
            return self._try(work, make)

    def _try(self, work: Callable[[sqlite3.Connection], T], make: bool) -> T | None:
        db = self._opened(make)
        return None if db is None else work(db)

    def _opened(self, make: bool) -> sqlite3.Connection | None:
        found = cache_file.identity(self._path)
        if self._db is not None and found == self._file:
            return self._db
        self.close()  # the file was removed or put aside by someone else
        if make:
            self.folder.mkdir(parents=True, exist_ok=True)
        elif found is None or not all(os.access(place, os.W_OK) for place in (self.folder, self._path)):
            return None  # SQLite cannot read a file with a write-ahead log where it may not write
        self._file = found
        self._db = cache_file.connect(self._path)
        self._file = cache_file.identity(self._path)
        return self._db

    def _put_aside(self) -> None:
        self.close()
        if cache_file.identity(self._path) != self._file:
            return  # another process has done so
        # The journal goes first: a new file beside it would take its pages for its own.
        for companion in cache_file.companions(self._path):
            companion.unlink(missing_ok=True)
        self._path.replace(cache_file.damaged(self._path))
        warnings.warn(
            f"the cache {self._path} was damaged; it is now {cache_file.damaged(self._path).name}, "
            "and the cache starts anew",
            VericapWarning,
            stacklevel=2,
        )

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            raise VericapError(f"the cache {self.folder} cannot be used ({error}); {_ADVICE}") from error

    def _tell(self) -> None:
        global _told
        if not _told:
            _told = True
            warnings.warn(
                f"the cache {self.folder} reached its limit of {shown_size(self.limit)}: what was used longest ago "
                "has left it; set VERICAP_CACHE_LIMIT (such as 8GB) to keep more",
                VericapWarning,
                stacklevel=4,
            )

    def _left_overs(self) -> list[Path]:
        """Files of the earlier version, and a damaged one."""
        others = (
            file for file in sorted(self.folder.glob("*.sqlite")) if file.name != FILE and cache_file.is_earlier(file)
        )
        return [*others, *(file for file in [cache_file.damaged(self._path)] if file.is_file())]


def open_cache(where: Path | str | None = None) -> Cache | NoCache:
    """The cache in a folder; None is the default one, "off" or "none" keeps nothing."""
    chosen = str(where or os.environ.get("VERICAP_CACHE") or "")
    if chosen.lower() in OFF:
        return NoCache()
    return Cache(Path(where) if where else None)


def default_folder() -> Path:
    """Where the cache lies: $VERICAP_CACHE, else $XDG_CACHE_HOME/vericap, else ~/.cache/vericap."""
    if chosen := os.environ.get("VERICAP_CACHE"):
        return Path(chosen).expanduser()
    if caches := os.environ.get("XDG_CACHE_HOME"):
        return Path(caches) / "vericap"
    try:
        return Path.home() / ".cache" / "vericap"
    except RuntimeError as error:
        raise VericapError(f"there is no home folder for the cache ({error}); {_ADVICE}") from error


def default_limit() -> int:
    """Bytes of values that are kept: $VERICAP_CACHE_LIMIT, else 4 GB."""
    chosen = os.environ.get("VERICAP_CACHE_LIMIT")
    return parse_size(chosen, "VERICAP_CACHE_LIMIT") if chosen else LIMIT


def parse_size(text: str, name: str = "size") -> int:
    """A number of bytes: 500MB, 1.5 GB, 2GiB, 1048576 (1 KB is 1024 bytes).

    >>> parse_size("500MB") == 500 * 1024**2
    True
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(?:([KMGT])I?)?B?", text.strip().upper())
    if found is None:
        raise InputError(f"{name}={text} is not a size: write it as 500MB, 2GB or a number of bytes")
    return int(float(found[1]) * 1024 ** _UNITS.index(found[2] or "B"))


def shown_size(number: float) -> str:
    """A number of bytes for people.

    >>> shown_size(4 << 30)
    '4.0 GB'
    """
    power = 0
    while number >= 1024 and power < len(_UNITS) - 1:
        number, power = number / 1024, power + 1
    return f"{number:.1f} {_UNITS[power]}B" if power else f"{number:.0f} bytes"


# --- the process ------------------------------------------------------------------------------------------------


def _close_all() -> None:
    for cache in list(_alive):
        cache.close()


def _before_fork() -> None:
    # A connection must not be used on both sides of a fork: both sides open the file again.
    _lock.acquire()
    _close_all()


atexit.register(_close_all)
if hasattr(os, "register_at_fork"):  # not on Windows, where nothing forks
    os.register_at_fork(before=_before_fork, after_in_parent=_lock.release, after_in_child=_lock.release)
