"""Benchmarks are where the docs say, answer --help without data, and the tables of the docs are what they kept."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent.parent
ROOMS = ("parity", "speed", "agreement", "studies")
PAGES = [
    *(HERE / name for name in ("README.md", "CONTRIBUTING.md")),
    *(HERE / "docs").glob("*.md"),
    *(HERE / "src" / "vericap" / "data").glob("**/*.md"),
]


def scripts() -> list[Path]:
    return [file for room in ROOMS for file in (HERE / "benchmarks" / room).glob("*.py") if file.stem != "__init__"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(HERE)))
def test_what_a_page_names_exists(page: Path) -> None:
    text = page.read_text("utf-8")
    for name in re.findall(r"-m\s+(benchmarks(?:\.\w+)+)", text):
        assert (HERE / f"{name.replace('.', '/')}.py").is_file(), name
    for name in re.findall(r"(?<![\w/])benchmarks/[\w/]+\.\w+", text):
        assert (HERE / name).is_file(), name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(HERE)))
def test_options_that_a_page_names_exist(page: Path) -> None:
    for name, options in re.findall(r"-m\s+(benchmarks(?:\.\w+)+)([^`#]*?)(?:`|#|\n\n|$)", page.read_text("utf-8")):
        source = (HERE / f"{name.replace('.', '/')}.py").read_text("utf-8")
        for option in re.findall(r"(?<=\s)--[a-z-]+", options.split("\n    python")[0]):
            assert f'"{option}"' in source or option == "--save", f"{name} {option}"


def test_every_benchmark_with_figures_in_the_docs_can_keep_them() -> None:
    """What stands between the comments of a page is made by a script that has --save."""
    for page in PAGES:
        for name in re.findall(r"<!-- figures: ([a-z_0-9]+)/", page.read_text("utf-8")):
            (script,) = [file for file in scripts() if file.stem == name]
            assert "add_save(parser)" in (text := script.read_text("utf-8")) or '"--save"' in text, name


def test_every_benchmark_says_how_it_is_run() -> None:
    for file in scripts():
        tree = ast.parse(file.read_text("utf-8"))
        told = ast.get_docstring(tree) or ""
        runs = any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in tree.body)
        module = ".".join(file.relative_to(HERE).with_suffix("").parts)
        assert not runs or f"-m {module}" in told, file


def test_no_second_way_to_name_the_data() -> None:
    for file in [*scripts(), *(HERE / "benchmarks" / "library").glob("*.py")]:
        text = file.read_text("utf-8")
        assert "shared/data" not in text, file
        assert 'environ.get("VERICAP' not in text, file


def test_figures_of_the_docs_are_what_was_kept() -> None:
    command = [sys.executable, str(HERE / "tools" / "build_figures.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_without_data_a_benchmark_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VERICAP_DATA", raising=False)
    command = [sys.executable, "-m", "benchmarks.agreement.jsts", "--pairs", "1"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=HERE)
    assert done.returncode == 1
    assert done.stderr.startswith("no data folder is named; set VERICAP_DATA")
