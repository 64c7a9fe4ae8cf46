"""What all tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def shared(name: str, variable: str) -> Path:
    """A folder of real data, or a skip that says which folder is missing."""
    found = Path(os.environ.get(variable) or ROOT.parent / "shared" / name)
    if not found.is_dir():
        pytest.skip(f"real data is not at {found}; set {variable}", allow_module_level=True)
    return found


@pytest.fixture(scope="session")
def data_dir() -> Path:
    return shared("data", "VERICAP_DATA")


@pytest.fixture(scope="session")
def golden_dir() -> Path:
    return shared("golden", "VERICAP_GOLDEN")


@pytest.fixture(autouse=True)
def private_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests never read or fill the user's cache."""
    monkeypatch.setenv("VERICAP_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything that opens a browser is slow."""
    for item in items:
        if "browser" in item.path.parts:
            item.add_marker(pytest.mark.slow)
