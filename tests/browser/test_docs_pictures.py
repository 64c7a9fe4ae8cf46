"""The pictures of the docs can be taken anew."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("selenium", reason="selenium is not installed (pip install 'vericap[browser]')")
pytest.importorskip("fastapi", reason="fastapi is not installed (pip install 'vericap[serve]')")

import chromium
from PIL import Image

pytestmark = [chromium.needed, pytest.mark.slow]
TOP = Path(__file__).resolve().parent.parent.parent


def test_pictures_have_the_names_and_widths_of_the_docs(tmp_path: Path) -> None:
    words = [sys.executable, str(TOP / "tools" / "build_pictures.py"), "--output", str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    made = sorted(tmp_path.glob("*.png"))
    assert [file.stem for file in made] == ["report-caption", "report-captions", "report-overview", "serve"]
    for file in made:
        shown = Image.open(TOP / "docs" / "pictures" / file.name)
        assert Image.open(file).size == shown.size
        assert len(Image.open(file).convert("RGB").getcolors(1 << 24)) > 30  # not an empty page
