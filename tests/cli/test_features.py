"""vericap features: photos into a store, resumed, bad images reported."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from vericap.cli import main
from vericap.core import shipped
from vericap.vision.store import FeatureStore

pytestmark = pytest.mark.skipif(
    not (shipped.ROOT / "backbone" / "meta.json").is_file(), reason="the backbone is not in this checkout"
)


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    folder = tmp_path / "photos"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for name in ("a", "b", "c"):
        Image.fromarray(rng.integers(0, 255, (40, 60, 3), dtype=np.uint8)).save(folder / f"{name}.png")
    return folder


def test_two_processes_and_resume(photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = str(tmp_path / "store")
    assert main(["features", str(photos), "--output", store, "--workers", "2"]) == 0
    assert "3 images" in capsys.readouterr().out
    first = np.array(FeatureStore(store).get("b.png")[0])
    shutil.copy(photos / "a.png", photos / "d.png")
    assert main(["features", str(photos), "--output", store]) == 0
    assert "4 images" in capsys.readouterr().out
    opened = FeatureStore(store)
    # Two processes have one thread each, one has two: the last digits of products differ.
    for one, other in ((opened.get("b.png")[0], first), (opened.get("a.png")[0], opened.get("d.png")[0])):
        np.testing.assert_allclose(np.asarray(one, np.float32), np.asarray(other, np.float32), rtol=2e-3, atol=2e-5)


def test_bad_image_is_reported_and_the_rest_is_kept(
    photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (photos / "broken.jpg").write_bytes(b"\xff\xd8\xff nothing")
    assert main(["features", str(photos), "--output", str(tmp_path / "s")]) == 1
    assert "broken.jpg" in capsys.readouterr().err
    assert len(FeatureStore(tmp_path / "s")) == 3


def test_another_extractor_is_refused(photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = str(tmp_path / "s")
    assert main(["features", str(photos), "--output", store]) == 0
    assert main(["features", str(photos), "--output", store, "--levels", "1", "2"]) == 2
    told = capsys.readouterr().err
    assert "another extractor" in told
    assert "choose another --output STORE" in told


def test_boxes_of_the_detector_are_added(tmp_path: Path) -> None:
    photo = shipped.ROOT / "demo" / "photos" / "coffee.jpg"
    assert main(["features", str(photo), "--output", str(tmp_path / "s"), "--boxes", "detector"]) == 0
    features, boxes = FeatureStore(tmp_path / "s").get("coffee.jpg")
    assert 14 < len(features) == len(boxes) <= 36


def test_a_store_with_boxes_fits_the_shipped_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    photo = shipped.ROOT / "demo" / "photos" / "coffee.jpg"
    assert main(["features", str(photo), "--output", str(tmp_path / "s"), "--boxes", "detector"]) == 0
    store = FeatureStore(tmp_path / "s")
    sample = {"id": "1", "image": "coffee.jpg", "candidate": "a cup of coffee", "references": ["coffee on a table"]}
    (tmp_path / "c.jsonl").write_text(json.dumps(sample))
    metrics = ["--metrics", "vse,reo-relevance,tiger,faier,faier-plus"]
    command = ["score", str(tmp_path / "c.jsonl"), "--features", str(tmp_path / "s"), *metrics, "--json"]
    capsys.readouterr()
    assert main(command) == 0
    told = capsys.readouterr().out
    assert told.count(f"{store.fingerprint}-detector") >= 5  # the signatures say how regions were chosen
