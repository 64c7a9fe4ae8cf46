"""Files that raters saved, read back as ratings: joined by digests, with what does not belong there named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vericap.core import shipped
from vericap.core.errors import InputError
from vericap.core.samples import Sample
from vericap.meta.datasets.campaign import gather, is_campaign, read, status_table
from vericap.report.annotation import write_campaign

PHOTOS = shipped.ROOT / "demo" / "photos"
QUESTIONS = ("fidelity", "adequacy", "fluency")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    texts = {"one": ["a cat", "a cup of coffee"], "two": ["a cat", "a dog"]}
    systems = {
        name: [Sample("cat", own[0], ("the cat",), "chelsea.jpg"), Sample("cup", own[1], ("a cup",), "coffee.jpg")]
        for name, own in texts.items()
    }
    write_campaign(systems, tmp_path / "campaign", images=PHOTOS)
    return tmp_path / "campaign"


def captions(folder: Path) -> list[str]:
    return [one["caption"] for one in json.loads((folder / "campaign.json").read_text())["captions"]]


def answers(caption: str, *ratings: Any, **more: Any) -> list[dict[str, Any]]:
    return [
        {"id": "x", "caption": caption, "question": question, "rating": rating, "seconds": 1.5} | more
        for question, rating in zip(QUESTIONS, ratings)
        if rating is not None
    ]


def document(folder: Path, rater: str, given: list[Any], **more: Any) -> dict[str, Any]:
    campaign = json.loads((folder / "campaign.json").read_text())["campaign"]
    head = {"format": "vericap ratings", "version": 1, "campaign": campaign, "rater": rater, "session": rater * 4}
    return head | {"started": "2026-01-01T00:00:00Z", "saved": "2026-01-01T01:00:00Z", "answers": given} | more


def save(folder: Path, rater: str, given: list[Any], name: str = "", **more: Any) -> Path:
    path = folder / (name or f"ratings-{rater}.json")
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(document(folder, rater, given, **more)))
    return path


def test_raters_are_columns_and_questions_are_aspects(folder: Path) -> None:
    cat, cat_too, cup, dog = captions(folder)
    assert cat == cat_too  # both systems said the same: it is rated once and counts for both
    save(folder, "ben", answers(cat, 5, 4, 3) + answers(dog, 1, 1, 5))
    save(folder, "ana", answers(cat, 4, None, 5) + answers(cup, 2, 2, 2), name="ratings/ratings-ana.json")
    found = read(folder)
    assert found.name == "campaign"
    assert found.ids == ["cat/one", "cat/two", "cup/one", "cup/two"]
    assert found.systems == ["one", "two", "one", "two"]
    assert found.candidates == ["a cat", "a cat", "a cup of coffee", "a dog"]
    assert found.images == ["chelsea.jpg", "chelsea.jpg", "coffee.jpg", "coffee.jpg"]
    nan = np.nan
    np.testing.assert_array_equal(found.aspect("fidelity"), [[4, 5], [4, 5], [2, nan], [nan, 1]])
    np.testing.assert_array_equal(found.aspect("adequacy"), [[nan, 4], [nan, 4], [2, nan], [nan, 1]])
    # Ana's answers on the cat are not complete: no overall rating, but aspects.
    np.testing.assert_allclose(found.ratings, [[nan, 4], [nan, 4], [2, nan], [nan, 7 / 3]])
    np.testing.assert_array_equal(found.seconds, [[3, 4.5], [3, 4.5], [4.5, nan], [nan, 4.5]])
    assert found.raters == [["ana", "ben"], ["ana", "ben"], ["ana", ""], ["", "ben"]]
    assert found.scale == (1, 5)
    assert found.image_folder == folder / "photos"
    assert not found.problems


def captions_in_order(folder: Path) -> list[str]:
    return list(dict.fromkeys(captions(folder)))


def test_lines_and_the_later_file_of_a_rater(folder: Path) -> None:
    cat, cup, dog = captions_in_order(folder)
    whole = document(folder, "ana", answers(cat, 1, 1, 1))
    save(folder, "ana", answers(cat, 1, 1, 1))
    head = {key: value for key, value in whole.items() if key != "answers"} | {"saved": "2026-01-02T00:00:00Z"}
    later = [head | answer for answer in answers(cat, 5, 5, 5) + answers(cup, 3, 3, 3)]
    (folder / "ratings-ana.jsonl").write_text("".join(json.dumps(line) + "\n" for line in later))
    found = read(folder)
    assert found.ratings.tolist() == [[5], [5], [3]]
    assert "1 of its captions have no rating yet" in str(found.problems[0])
    # Named alone, the earlier file counts; the campaign is found beside it.
    assert read(folder / "ratings-ana.json").ratings.tolist() == [[1], [1]]
    assert read(folder, folder / "ratings-ana.json").ratings.tolist() == [[1], [1]]
    one_line = folder / "ratings-one.jsonl"
    one_line.write_text(json.dumps(head | answers(dog, 2)[0]))
    assert gather([one_line]).raters[0].ratings == {(dog, "fidelity"): 2.0}


def test_two_people_with_one_name(folder: Path) -> None:
    cat = captions(folder)[0]
    save(folder, "ana", answers(cat, 1, 1, 1))
    save(folder, "ana", answers(cat, 5, 5, 5), name="ratings-ana (1).json", session="other")
    assert read(folder).raters == [["ana", "ana (2)"]] * 2


def test_what_does_not_belong_is_named(folder: Path) -> None:
    cat = captions(folder)[0]
    wrong = [
        "text",
        {"id": "?", "caption": ["a list"], "question": "fidelity", "rating": 3},
        *answers("0000000000000000", 3),
        *answers(cat, 9, True, "4"),
        *answers(cat, float("nan")),
        {"id": "x", "caption": cat, "question": "beauty", "rating": 5},
    ]
    save(folder, "ana", [*answers(cat, 5, 5, 5, seconds="soon"), *wrong])
    save(folder, "ben", answers(cat, 1, 1, 1), campaign="0" * 32)
    save(folder, "eva", answers(cat, 1, 1, 1), version=2)
    save(folder, "kim", answers(cat, 1, 1, 1), session="")
    save(folder, "lea", [], answers="none")
    (folder / "ratings-mia.json").write_text('{"format": "other"}')
    (folder / "ratings-zoe.json").write_text("{broken")
    found = gather([folder])
    assert [rater.name for rater in found.raters] == ["ana"]
    told = "\n".join(map(str, found.problems))
    for reason in (
        "belongs to another campaign",
        "version 2 is not 1",
        "has no session",
        "its answers are not a list",
        "not a file of ratings",
        "ratings-zoe.json: cannot be read",
        "not a caption of this campaign",
        "fidelity rating '9' is not a number from 1 to 5",
        "adequacy rating 'True'",
        "fluency rating '4'",
        "fidelity rating 'nan'",
        "does not ask 'beauty'",
    ):
        assert reason in told
    assert len(found.problems) == 14
    ratings = read(folder)
    assert ratings.ratings.tolist() == [[5], [5]]
    assert ratings.seconds is not None
    assert np.isnan(ratings.seconds).all()


def test_nothing_to_read(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no ratings are there"):
        read(folder)
    with pytest.raises(InputError, match="no such file"):
        read(folder / "ratings-x.json")
    alone = tmp_path / "downloads" / "ratings-ana.json"
    alone.parent.mkdir()
    alone.write_text(json.dumps(document(folder, "ana", answers(captions(folder)[0], 1, 2, 3))))
    with pytest.raises(InputError, match=r"no campaign\.json is there"):
        read(alone)
    with pytest.raises(InputError, match="one campaign"):
        read(folder, alone)
    (folder / "campaign.json").write_text("[]")
    with pytest.raises(InputError, match="not a campaign"):
        read(folder)


def test_what_is_a_campaign(folder: Path, tmp_path: Path) -> None:
    path = save(folder, "ana", [])
    assert is_campaign(folder)
    assert is_campaign(path)
    assert not is_campaign(tmp_path)
    assert not is_campaign(tmp_path / "absent.json")
    other = tmp_path / "ratings.jsonl"
    other.write_text('{"image": "a", "candidate": "b", "rating": 3}\n')
    assert not is_campaign(other)


def test_status(folder: Path) -> None:
    cat, cup, dog = captions_in_order(folder)
    first = answers(cat, 5, 4, 3, comment="a fine cat") + answers(cup, 5, 2, 2) + answers(dog, 5, 1, 1)
    again = answers(cat, 5, 4, 1, repeat=True)
    skipped = {"id": "x", "caption": dog, "question": None, "rating": None, "seconds": None, "skipped": True}
    save(folder, "ana", first + again)
    save(folder, "ben", [*answers(cat, 1, 1, 1), skipped])
    rows = {row[0]: row[1:] for row in status_table(gather([folder])).rows}
    assert rows["ana"][:5] == (3, 0, 1, 4.5, 1)
    assert rows["ana"][5:] == (pytest.approx(2 / 3), pytest.approx(2 / 3), "always fidelity 5")
    assert rows["ben"] == (1, 1, 0, 4.5, 0, None, None, "")
