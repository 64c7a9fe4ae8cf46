"""`vericap parse`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vericap.cli import main


def test_a_caption_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parse", "A man riding a brown horse"]) == 0
    out = capsys.readouterr().out
    assert "horse (brown)" in out
    assert "man - ride - horse" in out


def test_a_file_with_pictures_and_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "captions.txt"
    source.write_text("A cat on a bed.\nA red <bus>.\n", "utf-8")
    target, pictures = tmp_path / "graphs.jsonl", tmp_path / "pictures"
    assert main(["parse", str(source), "--output", str(target), "--draw", str(pictures), "--quiet"]) == 0
    records = [json.loads(line) for line in target.read_text("utf-8").splitlines()]
    assert records[0]["relations"] == [["cat", "on", "bed"]]
    assert len(list(pictures.glob("*.svg"))) == 2


def test_graphs_are_kept_where_one_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    caption = "A dog under a table"
    assert main(["parse", caption, "--json", "--cache", str(tmp_path / "kept")]) == 0
    first = capsys.readouterr().out
    assert list((tmp_path / "kept").iterdir())
    assert main(["parse", caption, "--json", "--cache", "off"]) == 0
    assert capsys.readouterr().out == first
    assert not Path("off").exists()


def test_another_pipeline_can_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parse", "A dog under a table", "--parser", "no_such_pipeline"]) == 2
    assert "no_such_pipeline" in capsys.readouterr().err


def test_nothing_found_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parse", "running very quickly", "--json"]) == 1
    captured = capsys.readouterr()
    assert json.loads(captured.out)["objects"] == []
    assert "no noun" in captured.err


def test_a_missing_file_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parse", "nowhere.json"]) == 2
    assert "nowhere.json" in capsys.readouterr().err


def test_a_japanese_caption_has_no_blanks(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("ginza")
    assert main(["parse", "赤いバスが道路を走っている", "--lang", "ja"]) == 0
    assert "バス" in capsys.readouterr().out


def test_a_caption_longer_than_a_file_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parse", "a " + "very " * 2000 + "tall man"]) == 0
    assert "man" in capsys.readouterr().out


def test_convention_factual(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["parse", "a man holding two tennis rackets", "--convention", "factual", "--json", "--cache", "off"]) == 0
    )
    record = json.loads(capsys.readouterr().out)
    assert list(record) == ["id", "caption", "objects", "attributes", "relations"]
    assert record["objects"] == ["man", "tennis rackets"]
    assert record["attributes"] == [["tennis rackets", "2"]]
    assert record["relations"] == [["man", "hold", "tennis rackets"]]
    assert main(["parse", "a dog", "--convention", "factual", "--talk"]) == 2
    assert "factual" in capsys.readouterr().err


def test_talk_about_the_picture_is_kept_where_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    text = "The image features a dog on a couch"
    assert main(["parse", text, "--json", "--cache", "off", "-q"]) == 0
    assert json.loads(capsys.readouterr().out)["objects"] == ["dog", "couch"]
    assert main(["parse", text, "--json", "--talk", "--cache", "off", "-q"]) == 0
    assert json.loads(capsys.readouterr().out)["objects"] == ["image", "dog", "couch"]
