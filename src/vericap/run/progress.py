"""Progress bars that stay silent where nobody looks."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

Item = TypeVar("Item")


def progress(
    items: Iterable[Item], *, what: str, total: int | None = None, show: bool = True, unit: str = "it"
) -> Iterable[Item]:
    """Iterate with a bar that appears after two seconds, on terminals only."""
    if not show or not sys.stderr.isatty():
        return items
    from tqdm import tqdm

    bar: Iterable[Item] = tqdm(items, desc=what, total=total, unit=unit, delay=2.0, leave=False)
    return bar


class Bar:
    """A bar advanced by hand: `with Bar(what=..., total=n) as bar: bar.advance(k)`."""

    def __init__(self, *, what: str, total: int, show: bool = True, unit: str = "it") -> None:
        self._bar: Any = None
        if show and sys.stderr.isatty():
            from tqdm import tqdm

            self._bar = tqdm(desc=what, total=total, unit=unit, delay=2.0, leave=False)

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def advance(self, count: int = 1) -> None:
        if self._bar is not None:
            self._bar.update(count)


def chunks(items: list[Item], size: int) -> Iterator[list[Item]]:
    """Consecutive slices of a list."""
    for start in range(0, len(items), size):
        yield items[start : start + size]
