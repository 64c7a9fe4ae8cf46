"""README and docs as they lie in the repository: links lead somewhere, tables of figures are up to date."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from blocks import PAGES, TOP

FILES = [*PAGES, TOP / "CONTRIBUTING.md", TOP / "CHANGELOG.md", TOP / "SECURITY.md"]
_LINK = re.compile(r"\]\(([^)\s]+)\)")


def anchors(text: str) -> set[str]:
    """Names of headings, as GitHub makes them."""
    heads = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", FILES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"`[^`\n]*`", "", re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL))
    for address in _LINK.findall(text):
        if re.match(r"\w+:", address):
            continue
        name, _, anchor = address.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), address
        assert not anchor or anchor in anchors(target.read_text("utf-8")), address


def test_no_path_of_one_machine() -> None:
    for page in FILES:
        assert not re.search(r"(?<![\w.])/(root|home|work)/", page.read_text("utf-8")), page.name


def test_tables_of_figures_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, str(TOP / "tools/refresh_pages.py"), "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_the_readme_fits_a_screen_and_names_the_commands() -> None:
    text = (TOP / "README.md").read_text("utf-8")
    assert len(text.splitlines()) <= 60
    for said in (
        "make demo",
        "make test",
        "make test-all",
        "vericap check",
        "vericap score",
        "pip install .",
        "pandas",
    ):
        assert said in text, said
    assert re.search(r"Start here:\*\* `verdict`.*`fidelity`, `adequacy`, `fluency`", text)
