"""`vericap doctor` tells what is there, and advice that works."""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path

import pytest

from vericap import native
from vericap.cli import main

HERE = Path(__file__).resolve().parents[2]


def test_the_plain_install_is_complete(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    assert "onnxruntime" in capsys.readouterr().out


def test_every_kernel_that_is_built_is_told_of() -> None:
    """setup.py cannot import the package, so that it has the list once more."""
    built = re.findall(r'^    "(\w+)": \[', (HERE / "setup.py").read_text("utf-8"), re.MULTILINE)
    assert sorted(built) == sorted(native.KERNELS)


def test_every_part_says_what_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    main(["doctor"])
    parts = [line for line in capsys.readouterr().out.splitlines() if line.startswith("data ")]
    assert len(parts) > 20
    assert all(re.fullmatch(r"data \w\S*  +found  +\S.*", line) for line in parts)


def test_what_is_missing_can_be_installed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The package's bare name would be looked up in an index; who has a clone needs its folder."""
    version = metadata.version

    def without(name: str) -> str:
        if name in ("ray", "tokenizers"):
            raise metadata.PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(metadata, "version", without)
    assert main(["doctor"]) == 1
    out = capsys.readouterr().out
    assert "missing: tokenizers" in out
    assert "pip install tokenizers" in out
    found = re.search(r"pip install '([^'\[]+)\[ray\]'", out)
    assert found is not None
    assert found[1] == "vericap" or (Path(found[1]) / "pyproject.toml").is_file()
