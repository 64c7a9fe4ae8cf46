"""When memory is looked over, and when it goes back to the system."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any


def give_back() -> None:
    """Let other processes have what was freed: the C library keeps it for itself otherwise, shard after shard.

    Does nothing where the library is not GNU's.

    Examples
    --------
    >>> give_back()
    """
    trim = _trim()
    if trim is not None:
        trim(0)


@contextmanager
def without_collector() -> Iterator[None]:
    """No search for cycles in here: it goes over all records and open models again and again, a third of the time of
    reading a shard and a tenth of that of judging captions."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


@lru_cache(maxsize=1)
def _trim() -> Any:
    try:
        return ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):
        return None
