"""Independent pieces of work in several processes."""

from __future__ import annotations

import os
import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from vericap.core.errors import VericapError

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")
R = TypeVar("R")
_THREADS = "OMP_NUM_THREADS"


def portable(item: Any) -> bool:
    """Whether another process can be given it: a class made inside a function cannot."""
    try:
        pickle.dumps(item)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
    return True


def in_order(work: Callable[[T], R], pieces: Iterable[T], workers: int) -> Iterator[R]:
    """What `work` makes of every piece; only a few pieces are on their way at a time.

    Fresh processes: forked copies of threads that ONNX Runtime may have started would hang. Each has one thread of
    linear algebra, as more than there are cores wait for each other.
    """
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    waiting: deque[Future[R]] = deque()
    try:
        with _one_thread(), ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            for piece in pieces:
                waiting.append(pool.submit(work, piece))
                if len(waiting) > 2 * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
    except BrokenProcessPool as error:
        raise VericapError(
            "a process that `workers=N` started has died: it ran out of memory, or the program has no "
            'file of its own or no `if __name__ == "__main__":` around its work; use `workers=1` there'
        ) from error


@contextmanager
def _one_thread() -> Iterator[None]:
    """For processes that are started meanwhile."""
    before = os.environ.get(_THREADS)
    os.environ[_THREADS] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_THREADS]
        else:
            os.environ[_THREADS] = before
