"""The pointing game, uniform attention and region-word maps, against counting by hand and plain loops."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from vericap.core import shipped
from vericap.core.errors import InputError
from vericap.core.settings import Settings
from vericap.meta.grounding import compared
from vericap.models.described import points
from vericap.reproduce import coco_boxes, contestants, uniform
from vericap.reproduce.catalogue import reproduce
from vericap.reproduce.coco_boxes import BoxedPhoto, Meant
from vericap.reproduce.contestants import Contestant
from vericap.reproduce.experiment import Choices
from vericap.reproduce.faier_grounding import named
from vericap.reproduce.pointing import Game, centres, inside, pointed
from vericap.reproduce.word_maps import FaierMaps, WordMap, faier_maps, plus_maps, scan_maps, visual_word_maps, vse_maps

TEXT = "a dog and a cup"
PHOTO = BoxedPhoto(
    "1",
    (TEXT,),
    {"dog": np.array([[0.0, 0.0, 0.4, 0.4]]), "cup": np.array([[0.8, 0.8, 1.0, 1.0]])},
    ((Meant(2, 5, ("dog",)), Meant(12, 15, ("cup",))),),
)
# Three regions: on the dog, in the middle, on the cup; two words: dog, cup.
MAP = WordMap(
    TEXT,
    [(2, 5), (12, 15)],
    np.array([[0.1, 0.1, 0.3, 0.3], [0.4, 0.4, 0.6, 0.6], [0.8, 0.8, 1.0, 1.0]]),
    np.array([[3.0, 0.5], [1.0, 2.0], [0.0, 1.0]]),
)


def test_points_are_counted_by_hand() -> None:
    cases = list(pointed(MAP, PHOTO, PHOTO.meant[0]))
    assert [case.model for case in cases] == [True, False]  # cup points at the middle
    assert [case.centre for case in cases] == [False, False]
    assert [case.random for case in cases] == [pytest.approx(1 / 3)] * 2


def test_a_game_counts_its_cases() -> None:
    found = Game.of(list(pointed(MAP, PHOTO, PHOTO.meant[0])))
    assert (found.right, found.centre, found.random, found.cases) == (0.5, 0.0, pytest.approx(1 / 3), 2)
    assert found.as_dict() == {"right": 0.5, "chance": 0.3333, "cases": 2}
    assert Game.of([]).cases == 0


def test_the_worse_of_two_ways_is_noted(tmp_path: Path) -> None:
    """A map that points with references and not without them is offered in neither case."""
    (tmp_path / "meta.json").write_text(json.dumps({"name": "made", "files": {"a": "b"}}))
    games = {
        Contestant("with", "faier", "candidate"): Game(0.6, 0.3, 0.1, 500),
        Contestant("without", "faier", "candidate"): Game(0.2, 0.3, 0.1, 500),
        Contestant("attention", "faier", "references"): Game(0.5, 0.3, 0.1, 500),
        Contestant("matching", "faier"): Game(0.9, 0.3, 0.1, 500),
    }
    (path,) = contestants.record(games, Choices(models={"faier-r": str(tmp_path)}))
    kept = json.loads(path.read_text())
    assert list(kept) == ["name", "pointing", "files"]
    assert not points(kept, "candidate")
    assert points(kept, "references")
    assert set(kept["pointing"]) == {"candidate", "references"}


def test_photos_are_those_that_no_model_ever_saw(choices: Choices) -> None:
    never = (choices.folder / "coco" / coco_boxes.NEVER).read_text().split()
    assert [photo.image for photo in coco_boxes.boxed_photos(choices, 9)] == never[:-1]  # the last is no test photo


def test_large_boxes_and_words_that_are_not_read_are_no_cases() -> None:
    large = replace(PHOTO, boxes={"dog": np.array([[0.0, 0.0, 1.0, 0.5]]), "cup": np.zeros((0, 4))})
    assert not list(pointed(MAP, large, PHOTO.meant[0]))
    assert not list(pointed(MAP, PHOTO, [Meant(6, 9, ("dog",))]))  # "and" has no column


def test_inside_equals_a_plain_loop() -> None:
    dice = np.random.default_rng(0)
    points, corners = dice.random((50, 2)), dice.random((4, 2, 2))
    boxes = np.concatenate([corners.min(axis=1), corners.max(axis=1)], axis=1)
    slow = [any(x0 <= x <= x1 and y0 <= y <= y1 for x0, y0, x1, y1 in boxes) for x, y in points]
    assert inside(points, boxes).tolist() == slow
    assert centres(np.array([[0.0, 0.2, 1.0, 0.4]])).tolist() == [[0.5, pytest.approx(0.3)]]


def test_words_that_name_a_region() -> None:
    scores, hit = named(MAP, PHOTO, PHOTO.meant[0])
    assert hit.tolist() == [[False, False], [False, False], [False, True]]  # the first region is too small for its box
    found = compared([(scores, hit)])
    assert (found.truth, found.others, found.best, found.regions, found.skipped) == (1.0, 0.0, 1.0, 1, 2)


def test_attention_is_the_softmax_of_matching() -> None:
    alpha = MAP.attention().values
    plain = np.exp(MAP.values) / np.exp(MAP.values).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(alpha, plain, atol=1e-6)


def test_words_of_entities_are_content_words_of_their_chunk() -> None:
    labels = ["person", "person", None, "cup", "cup", "_"]
    found = coco_boxes._entity_words("a person with a cup here", labels)
    assert [(own.start, own.end, own.labels) for own in found] == [(2, 8, ("person",)), (16, 19, ("cup",))]


def test_boxes_beyond_the_photo_are_refused(choices: Choices, tmp_path: Path) -> None:
    data = json.loads((choices.folder / "coco-entities" / "coco_entities_release.json").read_text())
    data["500"]["a person with a small cup"]["detections"]["cup"] = [[1, [0.0, 0.0, 9000.0, 10.0]]]
    (tmp_path / "coco-entities").mkdir()
    (tmp_path / "coco-entities" / "coco_entities_release.json").write_text(json.dumps(data))
    with pytest.raises(InputError, match=r"image 500: a box of 'cup' lies outside its photo"):
        coco_boxes.entities(replace(choices, data=tmp_path), 5)


def need(*parts: str) -> None:
    for part in parts:
        if not (shipped.ROOT / part / "meta.json").is_file():
            pytest.skip(f"{part} is not in this checkout")


def test_maps_of_the_shipped_models(choices: Choices) -> None:
    need("faier", "scan")
    settings = Settings(images=choices.coco_photos())
    photos = coco_boxes.boxed_photos(choices, 2)
    first, _ = faier_maps([photo.sample(2) for photo in photos], settings)
    assert first is not None
    assert first.candidate.words() == ["a", "person", "with", "a", "cup"]
    assert len(first.references) == 2
    assert first.candidate.values.shape == (len(first.candidate.boxes), 5)
    check_triplets(first)
    maps = scan_maps([photo.sample(0) for photo in photos], settings)[0]
    assert maps is not None
    np.testing.assert_allclose(maps["attention"].values.sum(axis=1), 1.0, atol=1e-5)
    assert "cup" in maps["similarity"].words()


def check_triplets(maps: FaierMaps) -> None:
    """Each word of a triplet has its values; in a reference they are attention, which sums to one over triplets."""
    found = maps.candidate_triplets
    assert found is not None
    assert {"person", "cup"} <= set(found.words())
    one, other = (found.places(*span) for span in ((2, 8), (16, 19)))
    np.testing.assert_array_equal(found.values[:, one], found.values[:, other])  # "person with cup" is one triplet
    assert len(maps.reference_triplets) == 2
    assert all((own.values >= 0).all() and (own.values <= 1).all() for own in maps.reference_triplets)


def test_nouns_are_asked_for_one_by_one(choices: Choices) -> None:
    need("vse", "visual_words", "faier_plus")
    settings, photo = Settings(images=choices.coco_photos()), coco_boxes.boxed_photos(choices, 1)[0]
    captions, asked = {photo.image: photo.captions[0]}, {photo.image: [(2, 8), (16, 19)]}
    found = vse_maps(captions, asked, settings)[photo.image]
    assert found.words() == ["person", "cup"]
    assert found.values.shape == (len(found.boxes), 2)
    cells = visual_word_maps(captions, asked, settings)[photo.image]
    side = round(len(cells.boxes) ** 0.5)
    assert cells.boxes[side + 1].tolist() == pytest.approx([1 / side, 1 / side, 2 / side, 2 / side])
    (maps,) = plus_maps([photo.sample(1)], settings)
    assert maps is not None
    assert maps.candidate.places(16, 19)
    np.testing.assert_allclose(maps.references[0].values.sum(axis=1), 1.0, atol=1e-3)


def test_judgements_can_be_left_out(choices: Choices) -> None:
    need("faier", "scan", "vse", "faier_plus", "visual_words")
    found = reproduce("grounding", replace(choices, judged=False, limit=2))
    assert [table.title[:8] for table in found.tables] == ["Pointing", "FAIEr, T"]
    titles = [row[0] for row in found.tables[0].rows]
    assert len(titles) == 16
    assert {"SCAN, words states: attention", "SCAN, words alone: attention"} <= set(titles)
    assert sum("triplets" in title for title in titles) == 3


def test_of_two_models_in_a_folder_the_one_that_explanations_draw_is_noted(tmp_path: Path) -> None:
    """default#alone is a model of the shipped folder: its game is no figure of the maps that are drawn."""
    need("scan")
    folder = tmp_path / "scan"
    shutil.copytree(shipped.folder("scan"), folder)
    photos: list[BoxedPhoto] = []
    for way, kind in (("states", "attention"), ("alone", "")):
        given = Choices(models={"scan": f"{folder}#{way}"}, photos=tmp_path)
        found = dict(contestants._scan(photos, Settings(), given))
        assert [contestant.kind for contestant in found] == ["", kind]
        contestants.record({next(reversed(found)): Game(0.123, 0.1, 0.1, 10)}, given)
        kept = json.loads((folder / "meta.json").read_text())["pointing"]["attention"]
        assert kept["right"] == 0.123
    both = list(contestants._scan(photos, Settings(), Choices(models={"scan": str(folder)})))
    assert [contestant.kind for contestant, _ in both] == ["", "attention", "", ""]


def test_uniform_attention_is_uniform(choices: Choices, tmp_path: Path) -> None:
    need("faier", "scan")
    from vericap.models import faier, scan

    flat = faier.load(str(uniform.uniform_faier("default", tmp_path / "faier")))
    own = faier.load()
    dice = np.random.default_rng(0)
    visual, said = (dice.random((rows, own.config.d), dtype=np.float32) for rows in (3, 4))
    np.testing.assert_allclose(flat.attend("object", visual, said)[0], 0.25, atol=1e-6)
    kept = [name for name in own.weights if not name.startswith("attention.") and name != "offset.weight"]
    assert all(np.array_equal(own.weights[name], flat.weights[name]) for name in kept)
    assert flat.fingerprint == own.fingerprint
    grounding = scan.load(str(uniform.sharpened("default", tmp_path / "scan")))
    alpha = scan.weights(dice.random((1, 3, 4), dtype=np.float32), np.ones((1, 3), np.float32), grounding.attention)
    np.testing.assert_allclose(alpha, 0.25, atol=1e-6)
