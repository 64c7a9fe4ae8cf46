"""Captions to train on: files, one or more per image, photos that validate."""

from __future__ import annotations

import gzip
import json
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from vericap.core.errors import InputError  # noqa: E402
from vericap.train import losses, options  # noqa: E402
from vericap.train.caption_files import read_captions  # noqa: E402
from vericap.train.data import Captioned, CaptionPlaces, coco  # noqa: E402
from vericap.train.validate import agreement, near_pairs, recall  # noqa: E402
from vericap.vision.identity import declared  # noqa: E402
from vericap.vision.store import FeatureStore, FeatureWriter  # noqa: E402

SAID = [("a.jpg", "a dog"), ("a.jpg", "one dog"), ("b.jpg", "a cat")]
FILES = {
    "coco.json": json.dumps({"annotations": [{"image_id": image, "caption": text} for image, text in SAID]}),
    "karpathy.json": json.dumps(
        {
            "images": [
                {"filename": "a.jpg", "sentences": [{"raw": "a dog"}, {"raw": "one dog"}]},
                {"filename": "b.jpg", "sentences": [{"raw": "a cat"}]},
            ]
        }
    ),
    "map.json": json.dumps({"a.jpg": ["a dog", "one dog"], "b.jpg": "a cat"}),
    "list.json": json.dumps([{"image": image, "caption": text} for image, text in SAID]),
    "lines.jsonl": '{"image": "a.jpg", "captions": ["a dog", "one dog"]}\n\n{"id": "b.jpg", "text": " a cat "}\n',
    "table.csv": "image,caption\na.jpg,a dog\na.jpg,one dog\nb.jpg,a cat\n",
    "table.tsv": "caption\timage\na dog\ta.jpg\none dog\ta.jpg\na cat\tb.jpg\n",
    "flickr.token": "a.jpg#0\ta dog\na.jpg#1\tone dog\nb.jpg#0\ta cat\n",
    "plain.txt": "a.jpg\ta dog\na.jpg\tone dog\na.jpg\t \nb.jpg\ta cat\n",
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("packed", [False, True])
def test_files_of_captions(name: str, packed: bool, tmp_path: Path) -> None:
    data = FILES[name].encode()
    file = tmp_path / (f"{name}.gz" if packed else name)
    file.write_bytes(gzip.compress(data) if packed else data)
    assert list(read_captions(file)) == SAID


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("x.json", "[1]", "no captions that can be read"),
        ("x.json", "{", "no captions that can be read"),
        ("x.jsonl", '{"image": "a", "captions": [3]}', "caption 3 of image 'a' is no text"),
        ("x.csv", "name,words\na,b\n", "record 1 has no image or no caption: name, words"),
        ("x.txt", "a dog\n", "line 1 has no tab"),
        ("x.parquet", "", "captions are read from .json"),
        ("x.json.gz", "no gzip", "cannot be read"),
    ],
)
def test_what_is_no_file_of_captions(name: str, text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=told):
        list(read_captions(tmp_path / name))


def test_one_or_more_captions_of_an_image(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text(json.dumps({"a": ["1"], "b": list("1234567"), "c": ["1", "2"]}))
    (tmp_path / "never.txt").write_text("c\n")
    found = coco([tmp_path / "c.json"], never=tmp_path / "never.txt")
    assert found == Captioned(["a", "b"], [["1"], list("12345")])
    places = found.places(found.most)
    assert places.columns.tolist() == [0, 5, 6, 7, 8, 9]
    assert places.owners.tolist() == [0, 1, 1, 1, 1, 1]
    assert found.texts(2) == ["1", "1", "1", "2"]
    drawn = places.drawn(np.array([0, 1, 1]), 3, np.random.default_rng(0))
    assert drawn[0].tolist() == [0, 0, 0]
    assert all(len(set(row)) == 3 for row in drawn[1:].tolist())
    (tmp_path / "never.txt").write_text("a\nb\nc\n")
    with pytest.raises(InputError, match="no caption of an image that may be trained on"):
        coco([tmp_path / "c.json"], never=tmp_path / "never.txt")


def ragged() -> tuple[np.ndarray, CaptionPlaces]:
    rng = np.random.default_rng(0)
    captions = rng.normal(size=(6, 4, 8)).astype(np.float32)
    captions /= np.linalg.norm(captions, axis=-1, keepdims=True)
    return captions, CaptionPlaces(np.array([1, 2, 4, 1, 3, 2]), 4)


def test_the_teacher_of_few_captions() -> None:
    """Against a loop over the captions that are there; an only caption stands for itself."""
    captions, places = ragged()
    there = torch.from_numpy(places.there(np.arange(6)))
    candidates, target = losses.teacher(torch.from_numpy(captions), None, there)
    assert len(candidates) == int(places.counts.sum())
    for image in range(6):
        for column, (owner, number) in enumerate(zip(places.owners, places.columns % 4)):
            own = range(places.counts[image])
            held = [k for k in own if (owner, number) != (image, k)] or [number]
            expected = np.mean([captions[image, k] @ captions[owner, number] for k in held])
            assert float(target[image, column]) == pytest.approx(float(expected), abs=1e-5)
    own = torch.zeros(6, 1, dtype=torch.long)
    similar = losses.cosines(torch.from_numpy(captions), own)
    held = losses.held_out(similar, own, there.float())
    first = torch.from_numpy(np.searchsorted(places.owners, np.arange(6)))
    torch.testing.assert_close(held, target[:, first])


def test_validation_of_few_captions() -> None:
    captions, places = ragged()
    rows, columns, target = near_pairs(captions, places)
    flat = captions.reshape(-1, 8)[places.columns]
    for row, column, value in zip(rows, columns, target):
        owner, count = places.owners[column], places.counts[row]
        own = [k for k in range(count) if places.columns[column] != row * 4 + k]
        assert (owner == row) == (column == np.searchsorted(places.owners, row))
        if owner == row and count == 1:
            own = [0]
        assert value == pytest.approx(float(np.mean(captions[row, own] @ flat[column])), abs=1e-5)
    scores = np.zeros((6, len(flat)), np.float32)
    scores[rows, columns] = target
    assert agreement(scores, (rows, columns, target)) == pytest.approx(100.0)
    own = np.full((6, len(flat)), -1.0, np.float32)
    own[places.owners, np.arange(len(flat))] = 1.0
    assert set(recall(own, owners=places.owners).values()) == {100.0}
    own[0, 1], own[2, 0] = 2.0, 3.0  # image 0 finds another caption first, caption 0 another image
    found = recall(own, owners=places.owners)
    assert found["i2t_r1"] == pytest.approx(100 * 4 / 6)
    assert found["t2i_r1"] == pytest.approx(100 * (len(flat) - 2) / len(flat))


@pytest.fixture
def store(tmp_path: Path) -> FeatureStore:
    with FeatureWriter(tmp_path / "store", declared("mine", 2), width=2) as writer:
        for image in range(40):
            writer.add(f"{image:012d}.jpg", np.ones((2, 2)), np.array([[0, 0, 1, 1], [0, 0, 0.5, 1]]))
    return FeatureStore(tmp_path / "store")


def parts(tmp_path: Path, store: FeatureStore, validation: str | None, **more: object) -> dict[str, Captioned]:
    (tmp_path / "c.json").write_text(json.dumps({str(image): "a dog" for image in range(50)}))
    given = {"captions": [tmp_path / "c.json"], "never": None, "images": None, "flickr8k": None, **more}
    return dict(options.parts(Namespace(validation=validation, **given), store))


def test_photos_that_validate(tmp_path: Path, store: FeatureStore) -> None:
    (tmp_path / "dev.txt").write_text("3\n000000000007.jpg\n99\n")
    found = parts(tmp_path, store, str(tmp_path / "dev.txt"))
    assert found["dev"].keys == ["000000000003.jpg", "000000000007.jpg"]
    assert len(found["coco"]) == 38
    share = parts(tmp_path, store, "0.25")
    assert (len(share["coco"]), len(share["dev"])) == (30, 10)
    assert not set(share["coco"].keys) & set(share["dev"].keys)
    assert set(parts(tmp_path, store, None)["dev"].keys) < set(share["dev"].keys)  # a part of the same photos
    assert len(parts(tmp_path, store, "0.25", images=5)["coco"]) == 5


@pytest.mark.parametrize("which", ["1.5", "nowhere"])
def test_what_cannot_validate(which: str, tmp_path: Path, store: FeatureStore) -> None:
    with pytest.raises(InputError, match="is neither a folder nor a file nor a share"):
        parts(tmp_path, store, which)
    (tmp_path / "dev.txt").write_text("none\n")
    with pytest.raises(InputError, match="names none of the 40 photos"):
        parts(tmp_path, store, str(tmp_path / "dev.txt"))
    (tmp_path / "dev.txt").write_text("3\n")
    with pytest.raises(InputError, match="1 photo cannot validate"):
        parts(tmp_path, store, str(tmp_path / "dev.txt"))
    (tmp_path / "dev.txt").write_text("\n".join(map(str, range(50))))
    with pytest.raises(InputError, match="none is left to train on"):
        parts(tmp_path, store, str(tmp_path / "dev.txt"))


def test_a_store_of_boxes_alone_is_told(tmp_path: Path, store: FeatureStore) -> None:
    options.check_whole(store)  # its first box is the whole image
    for name, boxes in (("boxes", [[0, 0, 0.5, 1]] * 2), ("unknown", [[0, 0, 1, 1]] * 2)):
        with FeatureWriter(tmp_path / name, declared("mine", 2), width=2) as writer:
            writer.add("a", np.ones((2, 2)), np.array(boxes))
        with pytest.raises(InputError, match="vericap features FILE --whole"):
            options.check_whole(FeatureStore(tmp_path / name))
    with FeatureWriter(tmp_path / "whole", {**declared("mine", 2), "whole": True}, width=2) as writer:
        writer.add("a", np.ones((2, 2)), np.array([[0, 0, 1, 1]] * 2))
    options.check_whole(FeatureStore(tmp_path / "whole"))
