"""Every shipped folder has a row on docs/licences.md, the text of its licence, and a place in the wheel."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import vericap
from vericap.core import shipped
from vericap.core.errors import MissingPart

HERE = Path(__file__).resolve().parent.parent
TOOL = HERE / "tools" / "build_licences.py"

if not TOOL.is_file():
    pytest.skip("the tools are not beside the tests", allow_module_level=True)
sys.path.insert(0, str(TOOL.parent))
import build_licences  # noqa: E402


@pytest.fixture
def project() -> dict[str, object]:
    tomllib = pytest.importorskip("tomllib", reason="Python 3.10 reads no TOML")
    found: dict[str, object] = tomllib.loads((HERE / "pyproject.toml").read_text("utf-8"))["project"]
    return found


def test_the_page_is_what_the_tool_writes() -> None:
    done = subprocess.run([sys.executable, str(TOOL), "--check"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_folder_without_a_row_or_a_text_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*build_licences.PARTS, "new"]:
        (tmp_path / name).mkdir()
    monkeypatch.setattr(build_licences, "DATA", tmp_path)
    told = build_licences.mistakes()
    assert "new: no line in PARTS of tools/build_licences.py" in told
    assert "meteor: no file with the text of LGPL-2.1-only and LicenseRef-WordNet-3.0" in told
    (tmp_path / "meteor" / "LICENSE").touch()
    assert not any(text.startswith("meteor") for text in build_licences.mistakes())


def test_the_expression_of_the_package_names_them_all(project: dict[str, object]) -> None:
    licenses = pytest.importorskip("packaging.licenses", reason="SPDX names are checked by packaging from 24.2 on")
    assert project["license"] == build_licences.expression()
    assert licenses.canonicalize_license_expression(project["license"]) == project["license"]


def test_every_text_is_in_the_wheel(project: dict[str, object]) -> None:
    patterns = project["license-files"]
    assert isinstance(patterns, list)
    packed = {file for pattern in patterns for file in HERE.glob(pattern)}
    wanted = {HERE / "LICENSE", *(file for name in build_licences.PARTS for file in build_licences.texts(name))}
    assert wanted <= packed


def test_without_the_lgpl_tables_the_other_metrics_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in shipped.ROOT.iterdir():
        if folder.name != "meteor":
            (tmp_path / folder.name).symlink_to(folder)
    monkeypatch.setattr(shipped, "ROOT", tmp_path)
    for function in (shipped.path, shipped.meta):
        function.cache_clear()
    from vericap.text import meteor_tables

    cached = [one for one in vars(meteor_tables).values() if hasattr(one, "cache_clear")]
    for function in cached:
        function.cache_clear()
    texts = ["a dog runs", "a cat"], [["a dog is running"], ["the cat"]]
    try:
        assert vericap.score(*texts, "cider-d").corpus["cider-d"].value > 0
        assert vericap.score(*texts, "spice:synonyms=false")["spice:synonyms=false"].max() == 1
        with pytest.raises(MissingPart, match="the shipped part 'meteor'"):
            vericap.score(*texts, "meteor")
    finally:
        for function in (shipped.path, shipped.meta, *cached):
            function.cache_clear()
