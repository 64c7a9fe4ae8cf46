"""Memory that a process has used and needs no longer, back to the system."""

from __future__ import annotations

import ctypes
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


@lru_cache(maxsize=1)
def _trim() -> Any:
    try:
        return ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):
        return None
