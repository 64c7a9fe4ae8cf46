"""Progress: a line that changes within the first second of a terminal, a line every ten seconds elsewhere."""

from __future__ import annotations

import io
import sys
import time

import pytest

from vericap.run import progress
from vericap.run.progress import Bar


class Terminal(io.StringIO):
    """What a program takes for a terminal."""

    def isatty(self) -> bool:
        return True


def until(stream: io.StringIO, text: str, seconds: float = 20.0) -> str:
    """What a stream holds once it holds a text."""
    end = time.monotonic() + seconds
    while text not in stream.getvalue() and time.monotonic() < end:
        time.sleep(0.01)
    return stream.getvalue()


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_board", progress._Board())
    monkeypatch.setenv("TERM", "xterm")


def test_a_terminal_sees_something_within_the_first_second(monkeypatch: pytest.MonkeyPatch) -> None:
    assert progress.FIRST + progress.STEP < 1.0
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with Bar(what="photos", total=4) as bar:
        bar.advance(3)
        shown = until(stream, "3 of 4")
    assert "photos: [##################      ] 3 of 4 (75%)" in shown
    assert "\n" not in shown
    assert stream.getvalue().endswith("\r\x1b[K")  # nothing is left of it


def test_a_step_without_a_count_tells_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with Bar(what="scoring"):
        assert "scoring: 1 s" in until(stream, "scoring: 1 s")


def test_elsewhere_there_is_a_line_from_time_to_time(monkeypatch: pytest.MonkeyPatch) -> None:
    assert progress.EVERY == 10.0
    monkeypatch.setattr(progress, "EVERY", 0.2)
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with Bar(what="scoring"), Bar(what="photos", total=10, unit="image") as bar:
        bar.advance(5)
        until(stream, "\nphotos")
    lines = stream.getvalue().splitlines()
    assert len(lines) >= 2
    assert all(line.startswith("photos: 5 of 10 (50%), ") for line in lines)  # the innermost one
    assert "\x1b" not in stream.getvalue()


def test_steps_that_follow_each_other_share_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "EVERY", 1.0)
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    end = time.monotonic() + 20
    while not stream.getvalue() and time.monotonic() < end:
        with Bar(what="short"):
            time.sleep(0.6)  # each is over before its own first line
    assert stream.getvalue().startswith("short: ")


def test_nothing_is_shown_to_who_does_not_want_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "FIRST", 0.0)
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with Bar(what="photos", total=4, show=False):
        time.sleep(0.5)
    assert list(progress.progress([1, 2], what="x", show=False)) == [1, 2]
    assert stream.getvalue() == ""
