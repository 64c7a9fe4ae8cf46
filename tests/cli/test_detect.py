"""`vericap detect`: records, pictures, bad images, and its output as input of `vericap score`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from vericap.cli import main
from vericap.core import shipped
from vericap.run import photos

PHOTOS = shipped.ROOT / "demo" / "photos"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "photos"
    (root / "deep").mkdir(parents=True)
    (root / "chelsea.jpg").write_bytes((PHOTOS / "chelsea.jpg").read_bytes())
    Image.open(PHOTOS / "astronaut.jpg").resize((200, 200)).save(root / "deep" / "astronaut.webp")
    return root


def records(path: Path) -> dict[str, Any]:
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return {row["image"]: row for row in rows}


def test_records_and_pictures(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output, pictures = tmp_path / "objects.jsonl", tmp_path / "pictures"
    assert main(["detect", str(folder), "--output", str(output), "--draw", str(pictures)]) == 0
    found = records(output)
    assert found["chelsea.jpg"]["labels"] == ["cat"]
    assert found["chelsea.jpg"]["size"] == [451, 300]
    assert found["deep/astronaut.webp"]["labels"] == ["person"]
    assert found["chelsea.jpg"]["detector"].startswith("efficientdet-lite2/")
    drawn = Image.open(pictures / "chelsea.jpg")
    assert drawn.size == (451, 300)
    assert (pictures / "deep" / "astronaut.webp.png").is_file()
    assert "2 image(s), 2 object(s)" in capsys.readouterr().err


def test_bad_images_are_reported_and_the_rest_done(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "empty.jpg").write_bytes(b"")
    (folder / "text.jpg").write_text("no image")
    output = tmp_path / "objects.jsonl"
    assert main(["detect", str(folder), "missing.jpg", "-o", str(output), "--workers", "2"]) == 1
    found = records(output)
    assert found["chelsea.jpg"]["labels"] == ["cat"]
    assert "0 bytes" in found["empty.jpg"]["error"]
    assert "not an image" in found["text.jpg"]["error"]
    assert "no such file" in found["missing.jpg"]["error"]
    told = capsys.readouterr().err
    assert "3 problem(s)" in told
    assert "empty.jpg: the file is empty" in told
    assert "Traceback" not in told


def test_a_second_run_reads_what_the_first_one_kept(folder: Path, tmp_path: Path) -> None:
    first, again, threads = (tmp_path / name for name in ("first.jsonl", "again.jsonl", "threads.jsonl"))
    command = ["detect", str(folder), "-q", "--cache", str(tmp_path / "cache"), "-o"]
    assert main([*command, str(first)]) == 0
    decoded = photos.decoded
    assert main([*command, str(again), "--threshold", "0.35"]) == 0
    assert photos.decoded == decoded
    assert first.read_text() == again.read_text()
    assert main(["detect", str(folder), "-q", "--cache", "off", "--workers", "2", "-o", str(threads)]) == 0
    assert photos.decoded == decoded + 2
    assert first.read_text() == threads.read_text()
    assert not Path("off").exists()


def test_printed_without_output(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["detect", str(folder / "chelsea.jpg"), "--threshold", "0.99", "-q"]) == 0
    assert json.loads(capsys.readouterr().out)["labels"] == []


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--model", "oracle"], "not a detector"),
        (["--model", "none.onnx"], "no such detector file"),
    ],
)
def test_usage_errors(folder: Path, arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["detect", str(folder), *arguments]) == 2
    assert reason in capsys.readouterr().err


def test_an_empty_folder_and_a_bad_threshold(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["detect", str(tmp_path)]) == 2
    assert "no image" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["detect", str(tmp_path), "--threshold", "3"])


def test_detections_feed_the_metrics(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    objects = tmp_path / "objects.jsonl"
    assert main(["detect", str(folder), "-o", str(objects), "-q"]) == 0
    captions = tmp_path / "captions.jsonl"
    rows = [
        {"id": "1", "candidate": "A cat and a dog.", "image": "chelsea.jpg"},
        {"id": "2", "candidate": "A woman smiles.", "image": "astronaut"},
    ]
    captions.write_text("\n".join(map(json.dumps, rows)))
    assert main(["score", str(captions), "--metrics", "chair,chair-s", "--objects", str(objects)]) == 0
    told = capsys.readouterr().out
    assert "0.3333" in told
    assert "0.5000" in told
    assert main(["score", str(captions), "--metrics", "chair", "--images", str(folder / "deep")]) == 1  # no cat there
