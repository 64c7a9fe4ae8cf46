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


def stored(folder: Path, name: str, features: np.ndarray, *more: str) -> int:
    """SCAN arrays into the store `folder/store`."""
    np.save(folder / f"{name}_ims.npy", features)
    (folder / f"{name}_ids.txt").write_text("\n".join(f"{name}{k}" for k in range(len(features))))
    return main(["features", str(folder / f"{name}_ims.npy"), "--output", str(folder / "store"), *more])


def test_several_files_make_one_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    means = rng.normal(size=128)
    parts = {name: means + 0.3 * rng.normal(size=(6, 3, 128)) for name in ("train", "dev")}
    for name, features in parts.items():
        assert stored(tmp_path, name, features, "--extractor", "mine") == 0
    both = [str(tmp_path / f"{name}_ims.npy") for name in parts]
    assert main(["features", *both, "--output", str(tmp_path / "store"), "--extractor", "mine"]) == 0  # once more
    store = FeatureStore(tmp_path / "store")
    assert len(store) == 12
    assert main(["features", *both, "--output", str(tmp_path / "again"), "--extractor", "mine"]) == 0
    assert FeatureStore(tmp_path / "again").fingerprint == store.fingerprint
    capsys.readouterr()
    # Another kind of values, other values of an image that is there, another name.
    assert (
        stored(tmp_path, "test", rng.permutation(means) + 0.3 * rng.normal(size=(6, 3, 128)), "--extractor", "mine")
        == 2
    )
    assert "are of another kind than those" in capsys.readouterr().err
    assert stored(tmp_path, "dev", parts["dev"] + 0.1, "--extractor", "mine") == 2
    assert "image 'dev0' is in" in capsys.readouterr().err
    assert stored(tmp_path, "dev", parts["dev"] + 0.1, "--extractor", "mine", "--prefix", "second/") == 0
    assert "second/dev0" in FeatureStore(tmp_path / "store")
    capsys.readouterr()
    assert stored(tmp_path, "more", parts["dev"], "--extractor", "other") == 2
    assert "another extractor (mine" in capsys.readouterr().err
    assert stored(tmp_path, "more", parts["dev"]) == 0  # the store's own
    capsys.readouterr()
    assert stored(tmp_path, "more", parts["dev"], "--whole") == 2  # which the store's images do not have
    assert "whole: none against True" in capsys.readouterr().err
    assert main(["features", "--check", str(tmp_path / "store")]) == 0
    (tmp_path / "photo.jpg").write_bytes(b"x")
    assert main(["features", str(tmp_path / "photo.jpg"), both[0], "--output", str(tmp_path / "n")]) == 2
    assert main(["features", "--output", str(tmp_path / "n")]) == 2


def test_the_whole_image_comes_first(tmp_path: Path) -> None:
    assert stored(tmp_path, "dev", FEATURES, "--extractor", "mine") == 0
    assert (
        main(["features", str(tmp_path / "dev_ims.npy"), "-o", str(tmp_path / "w"), "--extractor", "mine", "--whole"])
        == 0
    )
    plain, whole = FeatureStore(tmp_path / "store"), FeatureStore(tmp_path / "w")
    features, boxes = whole.get("dev1")
    np.testing.assert_allclose(features[0], FEATURES[1].mean(axis=0), atol=2e-3)
    np.testing.assert_array_equal(features[1:], plain.get("dev1")[0])
    assert boxes[0].tolist() == [0, 0, 1, 1]
    assert whole.fingerprint != plain.fingerprint


def test_boxes_of_scan_arrays(tmp_path: Path) -> None:
    np.save(tmp_path / "dev_ims.npy", FEATURES)
    (tmp_path / "dev_ids.txt").write_text("7 9")
    np.save(tmp_path / "dev_boxes.npy", np.tile([0, 10, 50, 20], (2, 3, 1)))
    np.save(tmp_path / "dev_ims_size.npy", np.array([[100, 40], [50, 20]]))
    first, second = read(tmp_path / "dev_ims.npy")
    np.testing.assert_allclose(first[2][0], [0, 0.25, 0.5, 0.5])
    np.testing.assert_allclose(second[2][0], [0, 0.5, 1, 1])
    np.save(tmp_path / "dev_boxes.npy", np.zeros((3, 3, 4)))
    with pytest.raises(InputError, match="3 rows do not fit 2 images"):
        list(read(tmp_path / "dev_ims.npy"))


def test_tsv_of_lxmert(tmp_path: Path) -> None:
    boxes = np.array([[0, 0, 50, 20]] * 3, np.float32)
    packed = [base64.b64encode(x.tobytes()).decode() for x in (boxes, FEATURES[0])]
    (tmp_path / "f.tsv").write_text("\t".join(["42", "40", "100", "a", "b", "c", "d", "3", *packed]) + "\n")
    ((name, features, shares),) = read(tmp_path / "f.tsv")
    assert name == "42"
    np.testing.assert_array_equal(features, FEATURES[0])
    np.testing.assert_allclose(shares[0], [0, 0, 0.5, 0.5])  # height stands before width


def test_npz_of_openvqa_stands_on_its_side(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=FEATURES[0].T, bbox=np.tile([0, 0, 10, 20], (3, 1)), image_w=20, image_h=20)
    ((_, features, boxes),) = read(tmp_path)
    np.testing.assert_array_equal(features, FEATURES[0])
    assert boxes.shape == (3, 4)


def test_hdf5_entries_beside_features_are_no_images(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "f.h5", "w") as file:
        for name in ("12", "COCO_val_13"):
            file[f"{name}_features"], file[f"{name}_boxes"] = FEATURES[0], np.tile([0, 0, 5, 5], (3, 1))
            file[f"{name}_cls_prob"] = np.ones((3, 9))
    assert [name for name, _, _ in read(tmp_path / "f.h5")] == ["12", "COCO_val_13"]
    with h5py.File(tmp_path / "g.h5", "w") as file:
        file["features"], file["ids"] = FEATURES, np.array([b"a", b"b"])
        file["boxes"] = np.tile([0, 0, 5, 5], (2, 3, 1))
        file["image_w"], file["image_h"] = np.array([10, 5]), np.array([20, 5])
    first, second = read(tmp_path / "g.h5")
    np.testing.assert_allclose(first[2][0], [0, 0, 0.5, 0.25])
    np.testing.assert_allclose(second[2][0], [0, 0, 1, 1])
