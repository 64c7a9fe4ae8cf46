"""vericap features: photos into a store, resumed, bad images reported."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from vericap.cli import main
from vericap.models import store as models
from vericap.vision.store import Store

pytestmark = pytest.mark.skipif(
    not (models.ROOT / "backbone" / "meta.json").is_file(), reason="the backbone is not in this checkout"
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
    first = np.array(Store(store).get("b.png")[0])
    shutil.copy(photos / "a.png", photos / "d.png")
    assert main(["features", str(photos), "--output", store]) == 0
    assert "4 images" in capsys.readouterr().out
    opened = Store(store)
    np.testing.assert_array_equal(opened.get("b.png")[0], first)
    np.testing.assert_array_equal(opened.get("a.png")[0], opened.get("d.png")[0])


def test_bad_image_is_reported_and_the_rest_is_kept(
    photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (photos / "broken.jpg").write_bytes(b"\xff\xd8\xff nothing")
    assert main(["features", str(photos), "--output", str(tmp_path / "s")]) == 1
    assert "broken.jpg" in capsys.readouterr().err
    assert len(Store(tmp_path / "s")) == 3


def test_another_extractor_is_refused(photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = str(tmp_path / "s")
    assert main(["features", str(photos), "--output", store]) == 0
    assert main(["features", str(photos), "--output", store, "--levels", "1", "2"]) == 2
    assert "another extractor" in capsys.readouterr().err
