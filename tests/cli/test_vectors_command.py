from __future__ import annotations

import json
from pathlib import Path

import pytest

from vericap.cli import main


@pytest.fixture
def glove(tmp_path: Path) -> str:
    file = tmp_path / "glove.txt"
    file.write_text("dog 1 0.1\npuppy 0.9 0.2\ncar 0 1\nbus 0.1 1\n", "utf-8")
    return str(file)


def test_convert_list_and_nearest(glove: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["vectors", "convert", glove]) == 0
    assert "4 words of 2 numbers" in capsys.readouterr().out
    assert main(["vectors", "list", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert rows[0]["source"] == "encoder"
    assert any(row["source"].endswith("glove.txt") for row in rows)
    assert main(["vectors", "nearest", "dog", "--vectors", glove, "--count", "1", "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)["dog"]) == ["puppy"]
    assert main(["vectors", "nearest", "zebra", "--vectors", glove]) == 1
    assert "no vector" in capsys.readouterr().out


def test_coverage_counts_missing_words(glove: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    captions = tmp_path / "captions.txt"
    captions.write_text("A dog on the unicycle.\nA dog near a car.\n", "utf-8")
    assert main(["vectors", "coverage", str(captions), "--vectors", glove, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["tokens_covered"] == pytest.approx(0.75)
    assert report["most_frequent_missing"] == [["unicycle", 1]]
    assert main(["vectors", "coverage", str(captions)]) == 0
    assert "100.00 %" in capsys.readouterr().out


def test_bad_files_end_with_a_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["vectors", "convert", str(tmp_path / "none.bin")]) == 2
    assert "none.bin" in capsys.readouterr().err
    assert main(["vectors", "coverage", str(tmp_path / "none.txt")]) == 2
