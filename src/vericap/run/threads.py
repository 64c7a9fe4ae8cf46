"""Independent pieces of array work in threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


def in_threads(work: Callable[[T], None], pieces: Iterable[T], workers: int) -> None:
    """Do every piece; the first error of a piece is raised.

    Each thread has one thread of linear algebra: with more they would wait for each other, as most products are small.
    """
    if workers < 2:
        for piece in pieces:
            work(piece)
        return
    from concurrent.futures import ThreadPoolExecutor

    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(workers) as pool:
        for _ in pool.map(work, pieces):
            pass
