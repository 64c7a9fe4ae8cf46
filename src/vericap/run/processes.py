"""Independent pieces of work in several processes."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from vericap.core.errors import VericapError

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

T = TypeVar("T")
R = TypeVar("R")
_THREADS = "OMP_NUM_THREADS"
_LOOK = 0.5  # seconds between two looks whether the parent lives


def portable(item: Any) -> bool:
    """Whether another process can be given it: a class made inside a function cannot."""
    try:
        pickle.dumps(item)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
    return True


class Workers:
    """Processes that stay for several rounds of work.

    Fresh processes: forked copies of threads that ONNX Runtime may have started would hang. Each has one thread of
    linear algebra, as more than there are cores wait for each other. They end with their parent, however it ends.
    """

    def __init__(self, count: int) -> None:
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        self.count = count
        self._pool = ProcessPoolExecutor(
            count, mp_context=get_context("spawn"), initializer=_begin, initargs=(os.getpid(),)
        )

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._pool.shutdown()
        else:  # Ctrl-C, or an error: nobody waits for what is on its way
            _end(self._pool)

    def map(self, work: Callable[[T], R], pieces: Iterable[T]) -> Iterator[R]:
        """What `work` makes of every piece; only a few pieces are on their way at a time."""
        from concurrent.futures.process import BrokenProcessPool

        waiting: deque[Future[R]] = deque()
        try:
            with _one_thread():
                for piece in pieces:
                    waiting.append(self._pool.submit(work, piece))
                    if len(waiting) > 2 * self.count:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
        except BrokenProcessPool as error:
            raise VericapError(
                "a process that `workers=N` started has died: it ran out of memory, or the program has no "
                'file of its own or no `if __name__ == "__main__":` around its work; use `workers=1` there'
            ) from error


def in_order(work: Callable[[T], R], pieces: Iterable[T], workers: int) -> Iterator[R]:
    """What `work` makes of every piece, by processes that are started for it."""
    with Workers(workers) as crew:
        yield from crew.map(work, pieces)


def _begin(parent: int) -> None:
    """In a new process: Ctrl-C is the parent's to handle, and without the parent there is nothing left to do."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK)
    os._exit(1)


def _end(pool: ProcessPoolExecutor) -> None:
    started = list((getattr(pool, "_processes", None) or {}).values())
    pool.shutdown(wait=False, cancel_futures=True)
    for process in started:
        process.terminate()


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
