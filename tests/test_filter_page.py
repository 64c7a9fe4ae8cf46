"""docs/filter.md: its code runs, its commands print what it says; examples in docstrings of the filter's modules."""

from __future__ import annotations

import doctest
import importlib
import re
import shlex
from pathlib import Path

import pytest

from vericap.cli import main

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "filter.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(python|console)\n(.*?)```", PAGE, re.DOTALL)
MODULES = (
    "vericap.integrations.batches",
    "vericap.integrations.data_juicer",
    "vericap.integrations.spark",
    "vericap.io.filtering",
    "vericap.io.subsets",
    "vericap.run.filter.grammar",
    "vericap.run.filter.histogram",
    "vericap.run.filter.truth",
    "vericap.text.clean",
    "vericap.text.languages",
)
PAIRS = """caption,references
a dog runs on grass,"[""a dog runs""]"
a cat,"[""a cat sleeps""]"
see www.shop.com for more,"[""a bus""]"
two red buses,"[""a bus on a street""]"
"""


@pytest.mark.parametrize("code", [text for kind, text in BLOCKS if kind == "python"])
def test_code(code: str) -> None:
    pytest.importorskip("pandas")
    exec(compile(code, "docs/filter.md", "exec"), {})


@pytest.mark.parametrize("block", [text for kind, text in BLOCKS if kind == "console"])
def test_commands(
    block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pairs.csv").write_text(PAIRS, encoding="utf-8")
    command, wanted = block.split("\n", 1)
    main(shlex.split(command.removeprefix("$ vericap ")))
    told = capsys.readouterr()
    for part in wanted.split("...\n"):  # what stands between dots is left out
        assert part.strip() in told.out + told.err


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted
    assert not found.failed
