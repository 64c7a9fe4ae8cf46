"""A new user's first ten minutes, played from README and the start page in a fresh clone and a fresh environment."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "tools"))

import first_minutes  # noqa: E402


def test_what_pages_say_is_what_is_typed() -> None:
    typed = [text for page in first_minutes.PAGES for _, text in first_minutes.steps((TOP / page).read_text("utf-8"))]
    commands = [text for text in typed if text.startswith("vericap")]
    assert typed[0] == "pip install ."
    assert {"check", "score", "demo", "compare", "report", "filter"} <= {text.split()[1] for text in commands}
    assert any("import vericap" in text for text in typed)


@pytest.mark.slow
@pytest.mark.skipif(not (TOP / ".git").exists() or shutil.which("git") is None, reason="needs a clone and git")
def test_the_first_ten_minutes() -> None:
    # Twice the ten minutes: other tests run at the same time.
    command = [sys.executable, str(TOP / "tools" / "first_minutes.py"), "--limit", "1200"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
