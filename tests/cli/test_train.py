"""vericap train from the command line, on a store and captions made here."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from vericap.cli import main
from vericap.models import scan, vse
from vericap.vision.store import Writer

THINGS = ["dog", "cat", "horse", "boat", "train", "child", "bird", "pizza"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight COCO images and eight Flickr8k images whose features follow the thing they show."""
    folder = tmp_path_factory.mktemp("train")
    rng = np.random.default_rng(0)
    meaning = rng.normal(size=(len(THINGS), 1280))
    rows, lines = [], []
    with Writer(folder / "store", {"made": "here"}, width=1280) as writer:
        for place, thing in enumerate(THINGS):
            for name in (f"{place + 1:012d}.jpg", f"{thing}.jpg"):
                writer.add(name, meaning[place] + 0.1 * rng.normal(size=(14, 1280)), np.tile([0, 0, 1, 1], (14, 1)))
            texts = [f"{start} {thing} {end}" for start, end in zip(("a", "the", "one", "some", "my"), "abcde")]
            rows += [{"image_id": place + 1, "caption": text} for text in texts]
            lines += [f"{thing}.jpg#{k}\t{text}" for k, text in enumerate(texts)]
    (folder / "coco.json").write_text(json.dumps({"annotations": rows}))
    (folder / "Flickr8k.token.txt").write_text("\n".join(lines))
    for split in ("train", "dev"):
        (folder / f"Flickr_8k.{split}Images.txt").write_text("\n".join(f"{thing}.jpg" for thing in THINGS))
    return folder


def options(made: Path, output: str) -> list[str]:
    plan = ["--steps", "6", "--validate", "3", "--threads", "1", "--batch", "8"]
    where = ["--features", str(made / "store"), "--output", str(made / output)]
    return [*where, "--captions", str(made / "coco.json"), "--flickr8k", str(made), *plan]


@pytest.mark.parametrize("words", ["states", "gru"])
def test_scan(made: Path, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "scan", *options(made, words), "--words", words, "--width", "16"]) == 0
    assert "best at step" in capsys.readouterr().out
    model = scan.load(str(made / words / "scan"))
    assert model.width == 16
    assert (made / words / "log.csv").is_file()


def test_encoder(made: Path) -> None:
    assert main(["train", "vse", *options(made, "vse")]) == 0
    assert vse.load(str(made / "vse" / "vse")).embed(np.ones((2, 1280), np.float32)).shape == (2, 384)


def test_store_without_the_images_is_named(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = [{"image_id": 77, "caption": "x"}] * 5
    (tmp_path / "c.json").write_text(json.dumps({"annotations": other}))
    words = options(made, "none")
    words[words.index("--captions") + 1] = str(tmp_path / "c.json")
    assert main(["train", "scan", *words]) == 2
    assert "none of the 1 images is in" in capsys.readouterr().err


def test_unknown_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "nonsense"]) == 2
    assert "backbone" in capsys.readouterr().err
