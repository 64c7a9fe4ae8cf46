"""A cache in memory: what was made of a photo or a text is known again by content, and nothing is left on disk."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from threading import Lock

from vericap.run.cache import NoCache

_ENTRY = 200  # bytes that a key and its place take


class MemoryCache(NoCache):
    """Values by kind and content key; those used longest ago leave when the limit is passed.

    >>> kept = MemoryCache(1000)
    >>> kept.part("regions").put([("photo", b"features")])
    >>> kept.part("regions").get(["photo", "other"])
    {'photo': b'features'}
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._values: OrderedDict[tuple[str, str], bytes] = OrderedDict()
        self._size = 0
        self._lock = Lock()

    def read(self, kind: str, keys: Sequence[str]) -> dict[str, bytes]:
        found = {}
        with self._lock:
            for key in keys:
                value = self._values.get((kind, key))
                if value is not None:
                    self._values.move_to_end((kind, key))
                    found[key] = value
        return found

    def write(self, kind: str, items: Iterable[tuple[str, bytes]]) -> None:
        values = dict(items)  # made before the lock is taken: that may take long
        with self._lock:
            for key, value in values.items():
                old = self._values.pop((kind, key), None)
                self._size += _cost(value) - (_cost(old) if old is not None else 0)
                self._values[kind, key] = value
            while self._size > self.limit and self._values:
                _, value = self._values.popitem(last=False)
                self._size -= _cost(value)

    def size(self) -> int:
        return self._size


def _cost(value: bytes) -> int:
    return len(value) + _ENTRY
