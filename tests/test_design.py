"""docs/design.md: the walk of one caption is what really happens; CONTRIBUTING's examples run as printed."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import vericap
from vericap.core.shipped import ROOT
from vericap.testing import check_metric

TOP = Path(__file__).resolve().parent.parent


def walk_of(document: str) -> list[str]:
    """The list of function names under "The walk of one caption"."""
    section = document.split("## The walk of one caption")[1].split("\n## ")[0]
    return re.findall(r"^    ([\w.]+)$", section, re.MULTILINE)


def trace(function: Any) -> list[str]:
    """Qualified names of the package's functions in the order of their first call."""
    seen: dict[str, None] = {}

    def profile(frame: FrameType, event: str, _: object) -> None:
        module = frame.f_globals.get("__name__", "")
        if event == "call" and module.startswith("vericap."):
            name = f"{module}.{frame.f_code.co_qualname}" if sys.version_info >= (3, 11) else module
            seen.setdefault(name.removeprefix("vericap."))

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        function()
    finally:
        sys.setprofile(before)
    return list(seen)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="frames know their qualified names from Python 3.11 on")
def test_the_walk_of_one_caption() -> None:
    walk = walk_of((TOP / "docs" / "design.md").read_text("utf-8"))
    assert len(walk) > 20
    called = trace(
        lambda: vericap.score(
            ["a cup of coffee", "a cat"],
            [["a cup"], ["a cat"]],
            "cider-d,vse",
            image_names=["coffee.jpg", "chelsea.jpg"],
            images=ROOT / "demo" / "photos",
            cache="off",
        )
    )
    inherited = {"metrics.cider.CiderD.prepare": "metrics.cider._Cider.prepare",
                 "metrics.cider.CiderD.statistics": "metrics.cider._Cider.statistics"}  # fmt: skip
    steps = [inherited.get(name, name) for name in walk]
    assert [name for name in steps if name not in called] == []
    places = [called.index(name) for name in steps]
    assert places == sorted(places)


def examples() -> list[str]:
    """Python blocks of CONTRIBUTING.md."""
    text = (TOP / "CONTRIBUTING.md").read_text("utf-8")
    blocks = re.findall(r"^( *)```python\n(.*?)^ *```", text, re.MULTILINE | re.DOTALL)
    return ["\n".join(line.removeprefix(indent) for line in body.splitlines()) for indent, body in blocks]


@pytest.mark.parametrize("number", [0, 1])
def test_examples_of_contributing(number: int) -> None:
    names: dict[str, Any] = {"__name__": "contributing"}
    exec(compile(examples()[number], "CONTRIBUTING.md", "exec"), names)
    (metric,) = (
        value
        for value in names.values()
        if isinstance(value, type) and issubclass(value, vericap.Metric) and value is not vericap.Metric
    )
    check_metric(metric, processes=False)
