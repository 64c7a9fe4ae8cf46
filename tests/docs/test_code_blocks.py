"""README and docs: every Python block runs, every command runs or, where it would take hours or data, is understood.

Commands run in a folder that has small files under the names that pages use. What trains, judges metrics on public data
or opens a server is parsed by the command's own parser, so that no page names an option that does not exist.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from blocks import PAGES, TOP, Command, blocks, commands, runnable
from sandbox import fill, lines

import vericap
from vericap.cli import COMMANDS, main, parser_for

# Pages whose code another test runs, on data of its own.
ELSEWHERE = {"own-features.md": "tests/test_own_features.py", "filter.md": "tests/test_filter_page.py"}
SLOW = {"integrations.md", "meta-evaluation.md"}  # torch and its kin are imported; public data is judged
LONG = {"train", "reproduce", "verify", "serve", "annotate"}
# Commands that need what no test has: files of others, a service, many machines.
PARSED = (
    "GoogleNews-vectors", "all-mpnet-base-v2", "--features STORE", "hub/", "--vectors FILE", "--engine ray",
    "outputs/MODEL", "$SLURM", "vericap merge", "--address", "s3://", "campaign/", "big.", "vericap demo --output",
)  # fmt: skip


def code(page: Path) -> list[Any]:
    return [block for block in blocks(page.read_text("utf-8")) if block.language == "python"]


def told(page: Path) -> list[Command]:
    return [command for block in blocks(page.read_text("utf-8")) if runnable(block) for command in commands(block)]


def pages(what: Callable[[Path], list[Any]]) -> list[Any]:
    """Pages that have some of it; those whose code takes long are marked."""
    return [pytest.param(page, marks=pytest.mark.slow if page.name in SLOW else ()) for page in PAGES if what(page)]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = fill(tmp_path_factory.mktemp("pages"))
    scored = ["score", str(folder / "captions.jsonl"), "-m", "rouge-l", "--explain", "--quiet"]
    assert main([*scored, "--output", str(folder / "scores.jsonl")]) == 0
    return folder


@pytest.fixture
def folder(filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh copy, in which a page's code runs from its beginning to its end."""
    shutil.copytree(filled, tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("C", "captions_val2014.json")
    monkeypatch.setenv("COLUMNS", "110")
    if (TOP.parent / "shared" / "data").is_dir() and "VERICAP_DATA" not in os.environ:
        monkeypatch.setenv("VERICAP_DATA", str(TOP.parent / "shared" / "data"))
    monkeypatch.setattr(sys, "argv", ["program", "items.jsonl", "coco-cider.jsonl"])  # of a program that a page shows
    return tmp_path / "work"


def names() -> dict[str, Any]:
    """What a page may take as given: some captions, their references, two systems."""
    captions = {row["id"]: row["candidate"] for row in lines("careful.jsonl")}
    references = {row["id"]: row["references"] for row in lines("references.jsonl")}
    systems = {"careful": captions, "terse": {row["id"]: row["candidate"] for row in lines("terse.jsonl")}}
    given = {"vericap": vericap, "candidates": captions, "references": references, "systems": systems}
    return {"__name__": "page", **given}


@pytest.mark.parametrize("page", pages(code), ids=lambda page: page.name)
@pytest.mark.filterwarnings("ignore::vericap.VericapWarning")
def test_python(page: Path, folder: Path) -> None:
    if page.name in ELSEWHERE:
        assert (TOP / ELSEWHERE[page.name]).is_file()
        return
    given = names()
    for block in code(page):
        if any(missing(need) for need in block.needs):
            continue
        source = "\n" * block.line + block.text  # tracebacks name the page's line
        exec(compile(source, page.name, "exec"), given)


def missing(need: str) -> bool:
    """Whether what a block needs is not here: the data, Java, or a module."""
    if need == "VERICAP_DATA":
        return not Path(os.environ.get("VERICAP_DATA") or TOP.parent / "shared" / "data").is_dir()
    return shutil.which("java") is None if need == "java" else importlib.util.find_spec(need) is None


@pytest.mark.parametrize("page", [page for page in PAGES if told(page)], ids=lambda page: page.name)
@pytest.mark.filterwarnings("ignore::vericap.VericapWarning")
def test_commands(page: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if page.name == "cache.md":  # it clears a kind, which must be there, whatever tests ran before
        vericap.score(["A dog runs."], [["A dog is running."]], metrics="spice")
    for command in told(page):
        program, *words = command.words
        if program == "cat":
            program, words = "vericap", command.words[command.words.index("|") + 2 :]
        if program == "python":
            _check_script(words)
        if program != "vericap":
            continue
        assert words[0] in COMMANDS, command
        if "NAME" in words or any(word.startswith("[") for word in words):
            continue  # a synopsis
        if page.name in ELSEWHERE or parsed_only(command, words):
            if "SLURM" not in str(command):
                parser_for(words[0]).parse_args([os.path.expandvars(word) for word in words[1:]])
            continue
        status = main([os.path.expandvars(word) for word in words])
        printed = capsys.readouterr()
        assert status in (0, 1), (str(command), printed.err)
        if command.printed and page.name in ("start.md", "tour.md", "README.md"):
            check_printed(command, printed.out + printed.err)


def parsed_only(command: Command, words: list[str]) -> bool:
    text = " ".join(["vericap", *words])
    public = words[0] == "meta" and words[1] not in ("list", "judged.jsonl")
    return words[0] in LONG or public or any(part in text for part in PARSED)


def check_printed(command: Command, printed: str) -> None:
    """What a page shows is what is printed, but for digits, which models may move; `...` leaves lines out."""
    shape = masked(printed)
    for part in command.printed.split("\n...\n"):
        for line in part.splitlines():
            assert masked(line).strip() in shape, (str(command), line, printed)


def masked(text: str) -> str:
    return re.sub(r"[█░]+", "#", re.sub(r"-?\d+", "0", re.sub(r"[ \t]+", " ", text)))


def _check_script(words: list[str]) -> None:
    """A script that a page names exists; what it measures is not measured again here."""
    name = words[1].replace(".", "/") + ".py" if words[0] == "-m" else words[0]
    if name.startswith(("benchmarks", "tools")):
        assert (TOP / name).is_file(), words
