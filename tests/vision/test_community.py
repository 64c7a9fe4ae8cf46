"""Region features of others, read as they are."""

from __future__ import annotations

import base64
from pathlib import Path

import numpy as np
import pytest

from vericap.cli import main
from vericap.core.errors import InputError
from vericap.vision.community import read
from vericap.vision.store import FeatureStore

FEATURES = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32)


def test_scan_arrays_repeat_images_five_times(tmp_path: Path) -> None:
    np.save(tmp_path / "dev_ims.npy", FEATURES)
    (tmp_path / "dev_ids.txt").write_text("\n".join(str(i) for i in (7, 9) for _ in range(5)))
    found = list(read(tmp_path / "dev_ims.npy"))
    assert [item[0] for item in found] == ["7", "9"]
    np.testing.assert_array_equal(found[1][1], FEATURES[1])


def test_scan_ids_must_fit(tmp_path: Path) -> None:
    np.save(tmp_path / "dev_ims.npy", FEATURES)
    (tmp_path / "dev_ids.txt").write_text("1 2 3")
    with pytest.raises(InputError, match="3 ids do not fit 2 images"):
        list(read(tmp_path / "dev_ims.npy"))


def test_bottom_up_tsv(tmp_path: Path) -> None:
    boxes = np.array([[0, 0, 50, 20], [10, 10, 100, 40], [0, 0, 100, 40]], np.float32)
    packed = [base64.b64encode(x.tobytes()).decode() for x in (boxes, FEATURES[0])]
    (tmp_path / "f.tsv").write_text("\t".join(["42", "100", "40", "3", *packed]) + "\n")
    ((name, features, shares),) = read(tmp_path / "f.tsv")
    assert name == "42"
    np.testing.assert_array_equal(features, FEATURES[0])
    np.testing.assert_allclose(shares[0], [0, 0, 0.5, 0.5])


def test_broken_tsv_names_the_line(tmp_path: Path) -> None:
    (tmp_path / "f.tsv").write_text("42\t100\t40\tmany\tx\ty\n")
    with pytest.raises(InputError, match="line 1"):
        list(read(tmp_path / "f.tsv"))


def test_npz_per_image(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=FEATURES[0], bbox=np.tile([0, 0, 10, 20], (3, 1)), image_w=20, image_h=20)
    np.save(tmp_path / "b.npy", FEATURES[1])
    first, second = read(tmp_path)
    np.testing.assert_allclose(first[2][0], [0, 0, 0.5, 1])
    np.testing.assert_allclose(second[2][0], [0, 0, 1, 1])


def test_hdf5(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file["12_features"], file["12_boxes"] = FEATURES[0], np.tile([0, 0, 5, 5], (3, 1))
        file["13_features"] = FEATURES[1]
    found = {name: features for name, features, _ in read(tmp_path / "f.h5")}
    np.testing.assert_array_equal(found["13"], FEATURES[1])
    assert set(found) == {"12", "13"}


def test_converting_makes_a_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "dev_ims.npy", FEATURES)
    (tmp_path / "dev_ids.txt").write_text("7 9")
    assert main(["features", str(tmp_path / "dev_ims.npy"), "--output", str(tmp_path / "store")]) == 0
    np.testing.assert_allclose(FeatureStore(tmp_path / "store").get("9")[0], FEATURES[1], atol=2e-3)


def test_unknown_form_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a known form"):
        read(tmp_path / "f.xyz")
