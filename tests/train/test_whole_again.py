"""The shipped head of whole photos learns further from a feature store; all else of the visual words stays."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
from PIL import Image

from vericap.cli import main
from vericap.core import shipped
from vericap.models import visual_words
from vericap.vision.cells import PART
from vericap.vision.regions import cells_digest

PHOTOS = 12


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A head after a few steps on photos of two colours, whose captions name animals that they do not show."""
    folder = tmp_path_factory.mktemp("whole")
    photos = folder / "photos"
    photos.mkdir()
    captions = []
    for number in range(1, PHOTOS + 1):
        colour = (200, 30, 30) if number % 2 else (30, 30, 200)
        Image.new("RGB", (64, 64), colour).save(photos / f"{number:012d}.jpg")
        text = "A zebra near a giraffe." if number % 2 else "A brown dog on a surfboard."
        captions.append({"id": number, "image_id": number, "caption": text})
    images = [{"id": number, "file_name": f"{number:012d}.jpg"} for number in range(1, PHOTOS + 1)]
    (folder / "captions.json").write_text(json.dumps({"images": images, "annotations": captions}))
    (folder / "held.txt").write_text("12\n")
    assert main(["features", str(photos), "--output", str(folder / "store"), "--workers", "1"]) == 0
    words = ["train", "words", "--photos", str(photos), "--captions", str(folder / "captions.json")]
    words += ["--features", str(folder / "store"), "--held-out", str(folder / "held.txt"), "--threads", "1"]
    assert main([*words, "--steps", "30", "--validate", "15", "--keep", "last", "--output", str(folder / "out")]) == 0
    return folder / "out" / PART


def test_only_the_head_of_whole_photos_changes(trained: Path) -> None:
    before, _ = shipped.weights("default", PART)
    after, meta = shipped.weights(str(trained), PART)
    changed = {name for name in before if not np.array_equal(before[name], after[name])}
    assert {"whole_hidden", "whole_words"} < changed
    assert changed <= {name for name in before if name.startswith(("whole_hidden", "whole_words"))} | {"fusion"}
    assert meta["cells"] == cells_digest()  # regions, which are made of the cells, keep their fingerprint
    assert meta["trained"]["again"]["photos"] == [PHOTOS - 2, 1]  # one is held out, one validates


def test_it_learned_what_is_said(trained: Path) -> None:
    with (trained.parent / "whole" / "log.csv").open() as stream:
        first, *_, last = csv.DictReader(stream)
    assert float(last["loss"]) < 0.7 * float(first["loss"])
    assert float(last["agreement"]) > float(first["agreement"])
    assert visual_words.load(str(trained)).entries == visual_words.load().entries


def test_a_store_of_another_extractor_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from vericap.vision.store import FeatureWriter

    with FeatureWriter(tmp_path / "store", {"made": "here"}, width=4) as writer:
        writer.add("1", np.ones((1, 4)), np.array([[0, 0, 1, 1]]))
    (tmp_path / "captions.json").write_text('{"images": [], "annotations": []}')
    told = ["train", "words", "--photos", str(tmp_path), "--captions", str(tmp_path / "captions.json")]
    assert main([*told, "--features", str(tmp_path / "store"), "--output", str(tmp_path / "out")]) == 2
    assert "fingerprint" in capsys.readouterr().err
    assert main([*told, "--output", str(tmp_path / "out")]) == 2
    assert "--boxes" in capsys.readouterr().err
