"""What a run is at: one line that changes on a terminal, a line every ten seconds elsewhere.

Bars only count. One thread for all of them draws the innermost one, so that counting costs nothing and a long step
without a count still shows that time passes.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sized
from typing import TypeVar

Item = TypeVar("Item")
FIRST = 0.5  # seconds until a terminal shows something
STEP = 0.2  # between two drawings
EVERY = 10.0  # between two lines where there is no terminal
_PAUSE = 1.0  # seconds without a bar after which the next one begins anew
_WIDTH = 24  # of a bar


class Bar:
    """A bar advanced by hand: `with Bar(what=..., total=n) as bar: bar.advance(k)`; without total it tells the time."""

    def __init__(self, *, what: str, total: int | None = None, show: bool = True, unit: str = "it") -> None:
        self.what, self.total, self.show, self.unit = what, total, show, unit
        self.count, self.began = 0, time.monotonic()

    def __enter__(self) -> Bar:
        if self.show:
            _board.add(self)
        return self

    def __exit__(self, *_: object) -> None:
        if self.show:
            _board.remove(self)

    def advance(self, count: int = 1) -> None:
        self.count += count

    def text(self, *, drawn: bool) -> str:
        """What it is at, in words; `drawn` with a bar."""
        seconds = time.monotonic() - self.began
        if not self.total:
            counted = f" {self.count} {self.unit}," if self.count else ""
            return f"{self.what}:{counted} {_time(seconds)}"
        share = min(1.0, self.count / self.total)
        bar = f" [{'#' * int(share * _WIDTH):<{_WIDTH}}]" if drawn else ""
        left = f", about {_time(seconds * (1 - share) / share)} left" if 0 < share < 1 and seconds > 1 else ""
        return f"{self.what}:{bar} {self.count} of {self.total} ({share:.0%}), {_time(seconds)}{left}"


def _time(seconds: float) -> str:
    whole = round(seconds)
    return f"{whole} s" if whole < 100 else f"{whole // 60} min {whole % 60:02d} s"


def progress(
    items: Iterable[Item], *, what: str, total: int | None = None, show: bool = True, unit: str = "it"
) -> Iterable[Item]:
    """Iterate with a bar."""
    if not show:
        return items
    if total is None and isinstance(items, Sized):
        total = len(items)
    return _counted(items, Bar(what=what, total=total, unit=unit))


def _counted(items: Iterable[Item], bar: Bar) -> Iterator[Item]:
    with bar:
        for item in items:
            yield item
            bar.advance()


class _Board:
    """The bars that are open, and the thread that shows the innermost one."""

    def __init__(self) -> None:
        self._bars: list[Bar] = []
        self._lock = threading.RLock()
        self._end = threading.Event()
        self._thread: threading.Thread | None = None
        self._drawn = False
        self._next, self._ended = 0.0, float("-inf")

    def add(self, bar: Bar) -> None:
        with self._lock:
            self._bars.append(bar)
            if self._thread is None:
                if time.monotonic() - self._ended > _PAUSE:  # else one step of a run follows the other
                    self._next = time.monotonic() + (FIRST if _terminal() else EVERY)
                self._end = threading.Event()
                self._thread = threading.Thread(target=self._show, args=(self._end,), daemon=True)
                self._thread.start()

    def remove(self, bar: Bar) -> None:
        with self._lock:
            if bar in self._bars:
                self._bars.remove(bar)
            thread, last = self._thread, not self._bars
            if last:
                self._thread, self._ended = None, time.monotonic()
                self._end.set()
                self.erase()
        if last and thread is not None:
            thread.join()

    def erase(self) -> None:
        """Take the line away before something else is printed; it comes back a little later."""
        with self._lock:
            if self._drawn:
                _write("\r\x1b[K")
                self._drawn = False
                self._next = time.monotonic() + FIRST

    def _show(self, end: threading.Event) -> None:
        while not end.wait(STEP if _terminal() else min(1.0, EVERY / 2)):
            with self._lock:
                if end.is_set() or not self._bars or time.monotonic() < self._next:
                    continue
                self._next = time.monotonic() + (STEP if _terminal() else EVERY) * 0.9
                self._draw(self._bars[-1])

    def _draw(self, bar: Bar) -> None:
        if not _terminal():
            _write(f"{bar.text(drawn=False)}\n")
            return
        _write(f"\r\x1b[K{bar.text(drawn=True)[: _columns() - 1]}")
        self._drawn = True


_board = _Board()


def erase() -> None:
    """Take the line of progress away before something else is printed."""
    _board.erase()


def _terminal() -> bool:
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def _columns() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def _write(text: str) -> None:
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):  # nobody reads it any more
        pass


def chunks(items: list[Item], size: int) -> Iterator[list[Item]]:
    """Consecutive slices of a list."""
    for start in range(0, len(items), size):
        yield items[start : start + size]
