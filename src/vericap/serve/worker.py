"""The one thread that judges captions. Requests wait in a queue with a limit; pieces of batches come after them.

Networks use several threads of their own, and one request at a time keeps memory flat and the answers the same whoever
else asks.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, InvalidStateError
from threading import Condition, Thread
from typing import Any, TypeVar

from vericap.serve.limits import Refused

T = TypeVar("T")
_LOOK = 0.25  # seconds between two looks whether the client is still there
_SMOOTH = 0.2  # weight of the last request in the mean time


class Worker:
    """Works on one thing after the other.

    Parameters
    ----------
    waiting : things that may wait; one more is refused with 503.
    """

    def __init__(self, waiting: int) -> None:
        self.limit = waiting
        self.mean = 0.2  # seconds that a request takes
        self.done = 0
        self.refused = 0
        self._now: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._later: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._some = Condition()
        self._open = True
        self._thread = Thread(target=self._work, name="vericap-serve", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Requests that wait."""
        return len(self._now)

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def submit(self, work: Callable[[], T], *, later: bool = False) -> Future[T]:
        """Have something done: a request at once, a piece of a batch (`later`) when no request waits."""
        future: Future[T] = Future()
        with self._some:
            if not self._open:
                raise Refused(503, "The server is shutting down.", retry=5)
            if not later and len(self._now) >= self.limit:
                self.refused += 1
                raise Refused(503, f"{self.limit} requests wait already; try again soon.", retry=self.patience())
            (self._later if later else self._now).append((future, work))
            self._some.notify()
        return future

    def patience(self) -> int:
        """Seconds after which a new request has a chance."""
        return max(1, math.ceil(self.mean * len(self._now) / 2))

    async def answer(self, work: Callable[[], T], seconds: float, gone: Callable[[], Awaitable[bool]]) -> T:
        """What `work` gives, or 503 after some seconds; work for a client that has gone is not begun."""
        future = self.submit(work)
        end = time.monotonic() + seconds
        waited = asyncio.wrap_future(future)
        while True:
            left = end - time.monotonic()
            done, _ = await asyncio.wait([waited], timeout=max(0.0, min(_LOOK, left)))
            if done:
                return waited.result()
            if left <= 0:
                future.cancel()
                raise Refused(503, f"The answer took longer than {seconds:g} seconds.", retry=self.patience())
            if await gone():
                future.cancel()
                raise Refused(499, "The client has gone.")

    def close(self) -> None:
        """Finish what is worked on and drop the rest."""
        with self._some:
            self._open = False
            for future, _ in (*self._now, *self._later):
                future.cancel()
            self._now.clear()
            self._later.clear()
            self._some.notify()
        self._thread.join(timeout=10)

    def _next(self) -> tuple[Future[Any], Callable[[], Any], bool] | None:
        with self._some:
            while self._open and not self._now and not self._later:
                self._some.wait()
            if not self._open:
                return None
            return (*self._now.popleft(), True) if self._now else (*self._later.popleft(), False)

    def _work(self) -> None:
        while (found := self._next()) is not None:
            future, work, counted = found
            if not future.set_running_or_notify_cancel():
                continue
            start = time.perf_counter()
            try:
                outcome, error = work(), None
            except BaseException as raised:  # it is the caller's, who waits in another thread
                outcome, error = None, raised
            if counted:
                self.mean += _SMOOTH * (time.perf_counter() - start - self.mean)
                self.done += 1
            try:
                if error is None:
                    future.set_result(outcome)
                else:
                    future.set_exception(error)
            except InvalidStateError:
                pass
            del future, work, outcome, error, found  # nothing of a request is held while the next one is waited for
