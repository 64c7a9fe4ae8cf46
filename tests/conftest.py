"""What all tests share."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
LONG = 60.0  # seconds that a file of tests may take before it is named: cut it, or mark what is slow


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


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Seconds of each file, the slowest first, in all processes together; shown with --durations=N, N of them."""
    wanted = terminalreporter.config.getoption("durations") or 0
    times: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            times[getattr(report, "nodeid", "").partition("::")[0]] += getattr(report, "duration", 0.0)
    for number, (name, seconds) in enumerate(times.most_common(wanted)):
        if number == 0:
            terminalreporter.section(f"slowest files, {sum(times.values()):.0f} s in all processes together")
        mark = f"  above {LONG:.0f} s" if seconds > LONG else ""
        terminalreporter.write_line(f"{seconds:7.1f} s  {name}{mark}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything that opens a browser is slow."""
    for item in items:
        if "browser" in item.path.parts:
            item.add_marker(pytest.mark.slow)
