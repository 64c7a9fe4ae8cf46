"""The feature store: what goes in comes out, resumes, refuses what is damaged."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pytest

from vericap.core.errors import InputError, VericapError
from vericap.vision.identity import check_same, declared, fingerprint, undeclared
from vericap.vision.images import load_image
from vericap.vision.profile import FeatureProfile
from vericap.vision.regions import Extractor
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


def test_what_differs_is_named(tmp_path: Path) -> None:
    """Of one declared extractor with and without the whole image, and of windows with boxes of another kind."""
    plain, whole = declared("mine", 32), {**declared("mine", 32), "whole": True}
    store = filled(tmp_path / "plain", plain, kind=1)
    with pytest.raises(VericapError, match=r"\(mine, .* or of other options: whole: none against True;"):
        FeatureWriter(tmp_path / "plain", whole, width=32)
    trained = filled(tmp_path / "whole", whole, kind=1)
    meta = {"name": "m", "fingerprint": trained.fingerprint, "features": trained.trained_on()}
    told = r"whole: none against True; make the store as that of the training was made, or train on them"
    with pytest.raises(VericapError, match=told):
        store.check_fits(meta)
    with pytest.raises(VericapError, match=told):
        store.regions(["0-1"]).part(2, 32, store.fingerprint).check_fits(meta)
    fill(tmp_path / "cells", ["a"])
    with pytest.raises(VericapError, match=r"boxes: .* against detector"):
        FeatureWriter(tmp_path / "cells", {**EXTRACTOR, "boxes": "detector"}, width=8)


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


def filled(folder: Path, extractor: dict[str, object], kind: int, images: int = 12, seed: int = 0) -> FeatureStore:
    """A store whose channels have the means of extractor `kind`."""
    means = np.random.default_rng(kind).normal(size=32)
    rng = np.random.default_rng(seed)
    with FeatureWriter(folder, extractor, width=32) as writer:
        for image in range(images):
            values = means + 0.5 * rng.normal(size=32) + 0.5 * rng.normal(size=(4, 32))
            writer.add(f"{seed}-{image}", values, np.tile([0, 0, 1, 1], (4, 1)))
    return FeatureStore(folder)


def test_files_of_one_extractor_fit_together_and_another_one_of_its_name_does_not(tmp_path: Path) -> None:
    train = filled(tmp_path / "train", declared("mine", 32), kind=1)
    test = filled(tmp_path / "test", declared("mine", 32), kind=1, images=5, seed=8)
    other = filled(tmp_path / "other", declared("mine", 32), kind=2)
    named = filled(tmp_path / "named", declared("theirs", 32), kind=1)
    meta = {"name": "m", "fingerprint": train.fingerprint, "features": train.trained_on()}
    test.check_fits(meta)
    test.regions(["8-1", "8-2"]).check_fits(meta)
    assert other.fingerprint == train.fingerprint
    with pytest.raises(VericapError, match="go by the name of those that the model m was trained on"):
        other.check_fits(meta)
    with pytest.raises(VericapError, match="values are of another kind"):
        other.regions(["0-1"]).check_fits(meta)
    with pytest.raises(VericapError, match="are not those the model m was trained on"):
        named.check_fits(meta)
    assert meta["features"]["regions"] == 4


def test_without_a_name_a_store_fits_its_own_models_alone(tmp_path: Path) -> None:
    one, same, other = (np.full((2, 8), value) for value in (1.0, 1.0, 2.0))
    assert fingerprint(undeclared("a", one)) == fingerprint(undeclared("a", same))
    assert fingerprint(undeclared("a", one)) != fingerprint(undeclared("a", other))
    assert fingerprint(undeclared("a", one)) != fingerprint(undeclared("b", one))


def test_the_choice_of_regions_is_no_other_extractor(tmp_path: Path) -> None:
    windows, detected = ({"backbone": "b", "sha256": "0", "boxes": boxes} for boxes in ("none", "detector"))
    first, second = filled(tmp_path / "1", windows, 1), filled(tmp_path / "2", detected, 1)
    assert first.fingerprint == second.fingerprint
    assert (first.signature, second.signature) == (first.fingerprint, f"{first.fingerprint}-detector")
    assert first.profile is None  # the weights say more
    with pytest.raises(VericapError, match="another extractor"):
        FeatureWriter(tmp_path / "1", detected, width=32)  # one store has one way


def test_changed_values_are_found(tmp_path: Path) -> None:
    store = filled(tmp_path / "s", declared("mine", 32), kind=1)
    store.verify()
    same = filled(tmp_path / "t", declared("mine", 32), kind=1)
    other = filled(tmp_path / "u", declared("mine", 32), kind=1, seed=2)
    assert len(store.content) == 64
    assert store.content == same.content != other.content
    file = tmp_path / "s" / "features-00000.npy"
    values = bytearray(file.read_bytes())
    values[-1] ^= 1
    file.write_bytes(bytes(values))
    with pytest.raises(InputError, match="shard 00000 have changed"):
        FeatureStore(tmp_path / "s").verify()


def test_an_image_that_is_there_must_be_the_same(tmp_path: Path) -> None:
    box = np.array([[0, 0, 1, 1]])
    with FeatureWriter(tmp_path / "s", EXTRACTOR, width=8, shard_images=2) as writer:
        for name in "aba":  # waiting, and again
            writer.add_same(name, np.ones((1, 8)), box)
        writer.add_same("a", np.ones((1, 8)), box)  # written
        for there in ("a", "c"):
            writer.add_same("c", np.ones((1, 8)), box)
            with pytest.raises(InputError, match=f"image '{there}' is in .* with other values"):
                writer.add_same(there, np.full((1, 8), 2.0), box)
        with pytest.raises(InputError, match="image 'd' has no region"):
            writer.add_same("d", np.ones((0, 8)), np.ones((0, 4)))
    assert FeatureStore(tmp_path / "s").ids() == ["a", "b", "c"]


def test_profiles_of_real_photos(data_dir: Path) -> None:
    """One extractor on different photos, against the same values in another order of channels, or another size."""
    photos = sorted((data_dir / "flickr8k" / "Images").glob("*.jpg"))[:240:10]
    if not photos:
        pytest.skip("no photos of Flickr8k at hand")
    extractor = Extractor()
    found = [extractor.regions(load_image(photo))[0] for photo in photos]
    first, second, few = (FeatureProfile.of(part) for part in (found[:12], found[12:], found[:3]))
    order = np.random.default_rng(0).permutation(found[0].shape[1])
    assert first.fits(second)
    assert few.fits(second)
    assert first.agreement(second) > 0.7
    assert not first.fits(FeatureProfile.of([one[:, order] for one in found[12:]]))
    assert not first.fits(FeatureProfile.of([one / 20 for one in found[12:]]))
    again = FeatureProfile.unpacked(json.loads(json.dumps(first.packed())))
    assert again.agreement(first) > 0.999
    with pytest.raises(InputError, match="profile cannot be read"):
        FeatureProfile.unpacked({"mean": "?"})
