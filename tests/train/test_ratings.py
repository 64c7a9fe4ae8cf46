"""People's ratings: which are read, how photos are parted, and what a step draws of them."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vericap.core.errors import InputError
from vericap.train.data import Captioned
from vericap.train.ratings import (
    FIT,
    HELD,
    Likeness,
    RatedPhotos,
    Rating,
    likenesses,
    photo_name,
    rated_photos,
    ratings,
    share_of,
)
from vericap.vision.store import FeatureStore, FeatureWriter


def numbers(low: float, high: float, count: int) -> list[int]:
    """The first numbers of photos whose share lies between the two."""
    return [number for number in range(1, 1000) if low <= share_of(photo_name(number)) < high][:count]


def lines(file: Path, rows: list[dict[str, Any]]) -> Path:
    """A JSONL file; packed where its name says so."""
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    file.write_bytes(gzip.compress(data) if file.suffix == ".gz" else data)
    return file


def rated(image: int | str, caption: str, rating: float, **more: object) -> dict[str, Any]:
    known = {"image_id": image, "caption": caption, "rating": rating}
    return {**known, "own": False, "trainable": True, "photo": True, **more}


def store_of(folder: Path, photos: list[int]) -> FeatureStore:
    with FeatureWriter(folder / "store", {"made": "here"}, width=4) as writer:
        for number in photos:
            writer.add(photo_name(number), np.ones((1, 4)), np.array([[0.0, 0.0, 1.0, 1.0]]))
    return FeatureStore(folder / "store")


@pytest.mark.parametrize("name", ["ratings.jsonl", "ratings.jsonl.gz"])
def test_ratings_of_photos_that_may_be_trained_on(name: str, tmp_path: Path) -> None:
    captions = Captioned(["7", "8", "9"], [["a dog", " one dog ", "the dog"], ["a cat"], ["a bus", "one bus"]])
    rows = [
        rated(7, " one dog", 5, own=True),
        rated("7", "a cat", 0.0),
        rated(7, "a bus", 2.5, trainable=False),
        {name: value for name, value in rated(7, "some bus", 1).items() if name != "trainable"},
        rated(8, "a dog", 1.0, photo=False),
        rated(8, "the dog ", 1.25, own=0),
        rated(10, "a dog", 4.0),
    ]
    assert ratings(lines(tmp_path / name, rows), captions) == [
        Rating("000000000007.jpg", "one dog", ("a dog", "the dog"), True, 1.0),
        Rating("000000000007.jpg", "a cat", ("a dog", " one dog ", "the dog"), False, 0.0),
        Rating("000000000008.jpg", "the dog", ("a cat",), False, 0.25),
    ]


def test_likenesses_without_photos_that_are_never_trained_on(tmp_path: Path) -> None:
    def pair(first: int, second: int, rating: float) -> dict[str, Any]:
        texts = {"caption_a": f" of {first}", "caption_b": f"of {second} "}
        return {"image_a": first, "image_b": str(second), **texts, "rating": rating}

    file = lines(tmp_path / "pairs.jsonl", [pair(1, 2, 5), pair(1, 3, 4), pair(3, 1, 3), pair(3, 3, 2), pair(2, 4, 1)])
    every = likenesses(file)
    assert [one.value for one in every] == [1.0, 0.8, 0.6, 0.4, 0.2]
    assert every[0] == Likeness(("of 1", "of 2"), ("000000000001.jpg", "000000000002.jpg"), 1.0)
    assert likenesses(file, never=["3", "5"]) == [every[0], every[4]]


@pytest.mark.parametrize("text", ['{"image_id": 7, "caption": "a d', "not JSON\n", '{"image_id": 7}}\n'])
def test_a_broken_file_is_named(text: str, tmp_path: Path) -> None:
    file = tmp_path / "broken.jsonl"
    pair = {"image_a": 1, "image_b": 2, "caption_a": "a dog", "caption_b": "a cat"}
    file.write_text(json.dumps(rated(7, "a cat", 1, **pair)) + "\n" + text)
    with pytest.raises(InputError, match=r"broken\.jsonl is no JSONL file"):
        ratings(file, Captioned(["7"], [["a dog"]]))
    with pytest.raises(InputError, match=r"broken\.jsonl is no JSONL file"):
        likenesses(file)


def test_a_file_that_is_not_there_or_not_packed_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.jsonl"):
        likenesses(tmp_path / "none.jsonl")
    (tmp_path / "plain.jsonl.gz").write_text("{}\n")
    with pytest.raises(InputError, match=r"plain\.jsonl\.gz"):
        likenesses(tmp_path / "plain.jsonl.gz")


def test_shares_are_drawn_by_the_names_alone() -> None:
    names = [photo_name(number) for number in range(2000)]
    shares = np.array([share_of(name) for name in names])
    assert ((shares >= 0) & (shares < 1)).all()
    assert share_of(names[9]) == int(hashlib.sha256(b"000000000009.jpg").hexdigest()[:8], 16) / 2**32
    assert [share_of(name) for name in reversed(names)] == shares[::-1].tolist()
    assert (shares < FIT).mean() == pytest.approx(FIT, abs=0.04)
    assert (shares < HELD).mean() == pytest.approx(HELD, abs=0.04)


def made(owners: list[int]) -> list[Rating]:
    """Ratings of photos with one to four captions: an own caption, and one to three of other photos."""
    found = []
    for place, number in enumerate(owners):
        own = tuple(f"own {number} {k}" for k in range(1 + place % 4))
        found.append(Rating(photo_name(number), own[0], own[1:], True, 1.0))
        found += [Rating(photo_name(number), f"other {number} {k}", own, False, k / 5) for k in range(1 + place % 3)]
    return found


def test_rated_photos_of_a_share_that_are_in_the_store(tmp_path: Path) -> None:
    fit, held, checks = numbers(0, FIT, 5), numbers(FIT, HELD, 2), numbers(HELD, 1, 2)
    store = store_of(tmp_path, [*fit[:4], *held, *checks])
    found = rated_photos([*made([*fit, *held, *checks]), Rating(photo_name(fit[0]), "no", (), False, 0.5)], store)
    assert found.photos.keys == [photo_name(number) for number in fit[:4]]
    assert len(found) == 4
    assert found.own.tolist() == [1, 2, 3, 4]
    assert found.values.shape == (4, found.photos.most)
    for number, own, captions, values in zip(fit, found.own, found.photos.captions, found.values):
        written, others = captions[:own], captions[own:]
        assert written == [f"own {number} {k}" for k in range(own)]
        assert others == [f"other {number} {k}" for k in range(len(others))]
        assert others
        np.testing.assert_allclose(values[own : len(captions)], np.arange(len(others)) / 5, rtol=1e-6)
        assert np.isnan(values[:own]).all()
        assert np.isnan(values[len(captions) :]).all()
    later = rated_photos(made([*fit, *held, *checks]), store, FIT, HELD)
    assert later.photos.keys == [photo_name(number) for number in held]
    last = rated_photos(made([*fit, *held, *checks]), store, HELD, 1.0)
    assert last.photos.keys == [photo_name(number) for number in checks]


def test_no_rated_photo_in_the_store_is_an_error(tmp_path: Path) -> None:
    fit, held = numbers(0, FIT, 3), numbers(FIT, HELD, 1)
    store = store_of(tmp_path, [fit[0], *held])
    with pytest.raises(InputError, match="none of the photos"):
        rated_photos(made([*fit[1:], *held]), store)
    with pytest.raises(InputError, match="none of the photos"):
        rated_photos([one for one in made(fit) if one.own], store)


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> tuple[RatedPhotos, dict[tuple[str, str], float]]:
    """Photos with their ratings, and what every caption of a photo was given."""
    fit = numbers(0, FIT, 12)
    told = made(fit)
    store = store_of(tmp_path_factory.mktemp("rated"), fit)
    return rated_photos(told, store), {(one.image, one.caption): one.value for one in told if not one.own}


@pytest.mark.parametrize("references", [1, 3])
def test_a_draw_has_rated_captions_and_own_references(
    photos: tuple[RatedPhotos, dict[tuple[str, str], float]], references: int
) -> None:
    found, given = photos
    seen, counts, with_references = set(), set(), set()
    for seed in range(80):
        drawn = found.drawn(7, references, np.random.default_rng(seed))
        own = found.own[drawn.rows]
        assert len(set(drawn.rows.tolist())) == 7
        assert drawn.given.shape == drawn.use.shape == (7, references)
        assert (drawn.columns >= own).all()  # never a caption that was written for the photo
        for row, column, value in zip(drawn.rows.tolist(), drawn.columns.tolist(), drawn.values.tolist()):
            pair = found.photos.keys[row], found.photos.captions[row][column]
            assert value == pytest.approx(given[pair], abs=1e-6)
            seen.add(pair)
        assert ((drawn.given >= 0) & (drawn.given < own[:, None])).all()
        used = drawn.use.sum(axis=1)
        assert used.all() or not used.any()  # of all photos, or of none
        assert (used <= np.minimum(own, references)).all()
        for places, use in zip(drawn.given, drawn.use):
            assert len(set(places[use].tolist())) == use.sum()  # no reference twice
        with_references.add(bool(used.any()))
        counts.update(used.tolist())
    assert seen == set(given)
    assert with_references == {False, True}
    assert counts == set(range(references + 1))


def test_a_draw_depends_on_the_generator_alone(photos: tuple[RatedPhotos, dict[tuple[str, str], float]]) -> None:
    found, _ = photos
    one, two = (found.drawn(100, 2, np.random.default_rng(4)) for _ in range(2))
    assert len(one.rows) == len(found)  # no more photos than there are
    for first, second in zip(one, two):
        np.testing.assert_array_equal(first, second)
