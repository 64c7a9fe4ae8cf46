"""Examples in docstrings run as printed, wherever they stand: in the package, the tools of the site, the benchmarks."""

from __future__ import annotations

import doctest
import importlib
import sys
from pathlib import Path

import pytest

from vericap.core.errors import MissingPart

HERE = Path(__file__).resolve().parent.parent
ROOTS = {"src": "vericap", "tools": "docs_site", ".": "benchmarks"}  # folder to import from -> package


def modules() -> list[tuple[str, str]]:
    """(folder, name) of every module with an example; adapters have a test of their own (test_adapter_names.py)."""
    found = []
    for root, package in ROOTS.items():
        for file in sorted((HERE / root / package).rglob("*.py")):
            if ">>> " in file.read_text("utf-8") and file.parent.name != "integrations":
                parts = file.relative_to(HERE / root).with_suffix("").parts
                found.append((root, ".".join(parts).removesuffix(".__init__")))
    return found


@pytest.mark.parametrize(("root", "name"), modules(), ids=[name for _, name in modules()])
@pytest.mark.filterwarnings("ignore::vericap.VericapWarning")
def test_examples(root: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(HERE / root), *sys.path])
    monkeypatch.setenv("VERICAP_DATA", "")
    try:
        module = importlib.import_module(name)
    except (ImportError, MissingPart) as error:
        pytest.skip(f"needs what is not installed: {error}")
    assert not doctest.testmod(module).failed


def test_there_are_examples() -> None:
    assert len(modules()) > 80
