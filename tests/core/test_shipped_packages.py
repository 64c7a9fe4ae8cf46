"""Parts that a package of their own brings: found by entry point, checked by SHA-256, named where they are missing."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from vericap.core import shipped
from vericap.core.errors import MissingPart, VericapError, install_package

HERE = Path(__file__).resolve().parents[2]


def made(folder: Path, part: str) -> Path:
    """A package with a tiny part, laid out as pip leaves it."""
    module = folder / f"package_of_{part}"
    module.mkdir()
    (module / "__init__.py").touch()
    (module / "weights.txt").write_text("1 2 3", encoding="utf-8")
    shipped.write_meta(module, {"name": part})
    about = folder / f"package_of_{part}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: package-of-{part}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[{shipped.GROUP}]\n{part} = package_of_{part}\n")
    return module


def test_a_package_brings_a_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = made(tmp_path, "tiny")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    assert shipped.folder("tiny") == module
    assert shipped.meta("tiny")["name"] == "tiny"
    assert shipped.path("tiny", "weights.txt").read_text() == "1 2 3"


def test_its_files_are_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = made(tmp_path, "harmed")
    (module / "weights.txt").write_text("1 2 4", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    with pytest.raises(VericapError, match="damaged"):
        shipped.path("harmed", "weights.txt")


def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(shipped.PACKAGES, "absent", ("great-encoder", "vericap-great"))
    with pytest.raises(MissingPart, match=r"great-encoder is not installed; .*pip install .*vericap-great"):
        shipped.folder("absent")
    with pytest.raises(MissingPart, match="reinstall vericap"):
        shipped.folder("no-such-part")


@pytest.mark.parametrize("part", list(shipped.PACKAGES))
def test_the_advice_can_be_followed(part: str) -> None:
    called, package = shipped.PACKAGES[part]
    project = (HERE / "packages" / package / "pyproject.toml").read_text("utf-8")
    assert re.search(rf'^name = "{package}"$', project, re.MULTILINE)
    assert re.search(rf'^{part} = "', project, re.MULTILINE)
    assert called in package
    assert install_package(package).split()[-1].endswith(package)
