"""The feature store: what goes in comes out, resumes, refuses what is damaged."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from vericap.core.errors import InputError, VericapError
from vericap.vision.identity import check_same, fingerprint
from vericap.vision.store import FeatureStore, FeatureWriter, RegionTable

EXTRACTOR = {"backbone": "tiny", "size": 64}


def fill(folder: Path, names: list[str], *, width: int = 8, shard_images: int = 3) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    given = {}
    with FeatureWriter(folder, EXTRACTOR, width=width, shard_images=shard_images) as writer:
        done = writer.done()
        for place, name in enumerate(names):
            features = rng.normal(size=(2 + place % 3, width)).astype(np.float16)
            given[name] = features
            if name not in done:
                writer.add(name, features, np.tile([0, 0, 1, 1], (len(features), 1)))
    return given


def test_features_come_back_by_id(tmp_path: Path) -> None:
    given = fill(tmp_path / "s", [f"photo {i}.jpg" for i in range(10)] + ["日本.jpg"])
    store = FeatureStore(tmp_path / "s")
    assert len(store) == 11
    assert "日本.jpg" in store
    assert "other" not in store
    for name, features in given.items():
        found, boxes = store.get(name)
        np.testing.assert_array_equal(found, features)
        assert boxes.shape == (len(features), 4)
    assert store.ids()[:2] == ["photo 0.jpg", "photo 1.jpg"]


def test_batch_is_padded_and_missing_images_are_named(tmp_path: Path) -> None:
    given = fill(tmp_path / "s", ["a", "b", "c"])
    regions = FeatureStore(tmp_path / "s").regions(["c", "nowhere", "a"])
    assert regions.mask.sum(axis=1).tolist() == [len(given["c"]), 0, len(given["a"])]
    assert list(regions.problems) == [1]
    assert "nowhere" in regions.problems[1]
    assert regions.fingerprint == fingerprint(EXTRACTOR)


def interrupted(folder: Path) -> None:
    with FeatureWriter(folder, EXTRACTOR, width=8, shard_images=2) as writer:
        for name in "abc":
            writer.add(name, np.ones((1, 8)), np.array([[0, 0, 1, 1]]))
        raise KeyboardInterrupt


def test_interrupted_writing_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    with pytest.raises(KeyboardInterrupt):
        interrupted(folder)
    with pytest.raises(InputError, match="not finished"):
        FeatureStore(folder)
    with FeatureWriter(folder, EXTRACTOR, width=8, shard_images=2) as writer:
        assert writer.done() == {"a", "b", "c"}
        writer.add("d", np.ones((1, 8)), np.array([[0, 0, 1, 1]]))
    assert FeatureStore(folder).ids() == ["a", "b", "c", "d"]


def test_another_extractor_is_refused(tmp_path: Path) -> None:
    fill(tmp_path / "s", ["a"])
    with pytest.raises(VericapError, match="another extractor"):
        FeatureWriter(tmp_path / "s", {"backbone": "other"}, width=8)
    with pytest.raises(VericapError, match=r"store .* f1.*model m.*f2"):
        check_same("f1", "store", "f2", "m")


def test_truncated_store_is_refused(tmp_path: Path) -> None:
    fill(tmp_path / "s", list("abcdef"), width=64)
    file = tmp_path / "s" / "features-00001.npy"
    file.write_bytes(file.read_bytes()[:-50])
    with pytest.raises(InputError, match=r"features-00001\.npy is truncated"):
        FeatureStore(tmp_path / "s")
    file.unlink()
    with pytest.raises(InputError, match="missing"):
        FeatureStore(tmp_path / "s")
    with pytest.raises(InputError, match="not a feature store"):
        FeatureStore(tmp_path)


def test_wrong_width_names_the_image(tmp_path: Path) -> None:
    with pytest.raises(VericapError, match="image 'x'"):
        FeatureWriter(tmp_path / "s", EXTRACTOR, width=8).add("x", np.ones((1, 9)), np.ones((1, 4)))


def test_opens_in_milliseconds(tmp_path: Path) -> None:
    with FeatureWriter(tmp_path / "s", EXTRACTOR, width=1, shard_images=20_000) as writer:
        for place in range(120_000):
            writer.add(f"{place:012d}.jpg", np.ones((1, 1), np.float16), np.ones((1, 4), np.float16))
    started = time.perf_counter()
    store = FeatureStore(tmp_path / "s")
    store.get("000000119999.jpg")
    assert time.perf_counter() - started < 0.1
    assert len(store) == 120_000


def test_regions_without_any_image() -> None:
    empty = RegionTable.of([None, None], "f", {0: "gone", 1: "gone"})
    assert not empty.mask.any()
