"""CHAIR by hand: which words are objects, which objects are invented, and how shares add up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vericap.core import shipped
from vericap.core.batch import Batch
from vericap.core.errors import VericapError
from vericap.core.explanation import Explanation
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.core.statistics import Statistics
from vericap.metrics.chair import Chair, ChairS
from vericap.metrics.registry import resolve
from vericap.run.engine import Run
from vericap.run.plan import analysed
from vericap.run.significance import aggregate
from vericap.vision.mentions import class_of, class_words, mentions, spans


def judged(metric: Chair, batch: Batch) -> Statistics:
    return metric.statistics(analysed(batch, *metric.requires(batch.settings)))


def named(caption: str) -> list[str]:
    return [mention.classes[0] for mention in mentions(caption)]


@pytest.mark.parametrize(
    ("caption", "expected"),
    [
        ("A man eats a hot dog next to a dog.", ["person", "hot dog", "dog"]),
        ("Two hotdogs and three dogs", ["hot dog", "dog"]),
        ("a teddy bear beside a bear", ["teddy bear", "bear"]),
        ("a stuffed bear and a toy car", ["teddy bear"]),
        ("a toy truck, a model train and a rubber duck", []),
        ("a bronze statue of a horse near a cow statue", []),
        ("a painting of two boats on a wall", []),
        ("a picture of two boats", ["boat"]),
        ("a street with no people and without any cars", []),
        ("a train pulls into the train station", ["train"]),
        ("people wait at the bus stop", ["person"]),
        ("a double-decker bus", ["bus"]),
        ("a toilet bowl and toilet paper", ["toilet"]),
        ("wine glasses and glasses of wine", ["wine glass", "wine glass"]),
        ("a coffee table and a dining room table", ["dining table"]),
        ("an orange cat in an orange shirt", ["cat"]),
        ("an apple and an orange on a plate", ["apple", "orange"]),
        ("oranges in a bowl", ["orange", "bowl"]),
        ("an apple laptop", ["laptop"]),
        ("carrot cake with baby carrots", ["cake"]),
        ("a baby elephant", ["elephant"]),
        ("women's purses and men's ties", ["person", "handbag", "person", "tie"]),
        ("knives, mice, geese, sheep and buses", ["knife", "mouse", "bird", "sheep", "bus"]),
        ("A tv. Remote controls", ["tv", "remote"]),
        ("a couple of birds", ["bird"]),
        ("a couple on a bench", ["person", "bench"]),
        ("a skier beside a ski lift", ["person"]),
        ("", []),
        ("!!! ... ???", []),
    ],
)
def test_mentions(caption: str, expected: list[str]) -> None:
    assert named(caption) == expected


def test_a_word_of_several_classes_lists_them() -> None:
    assert mentions("a bike")[0].classes == ("bicycle", "motorcycle")


def test_the_table_covers_every_class_and_the_detector_speaks_it() -> None:
    table = class_words()
    assert len(table.classes) == 80
    assert set(shipped.meta("detector")["labels"]) == set(table.classes)
    for name in table.classes:
        assert class_of(name) == (name,)
        assert name in {label for classes in table.phrases.values() for label in classes}
    assert class_of("sofa") == ("couch",)
    assert class_of("TVmonitor") == ("tv",)
    assert class_of("man") == ("person",)
    assert class_of("unicorn") == ()


SAMPLES = [
    # there: dog, couch (gold), person (reference). Invented: cat. Missed: couch, person
    Sample("1", "A dog chases a cat and another cat.", ("A man with his dog.",), "a"),
    # there: dining table, cup. Nothing invented
    Sample("2", "A cup on a table.", ("Coffee.",), "b"),
    # no object word at all
    Sample("3", "A sunny afternoon.", ("A quiet day.",), "b"),
    # bike may be either; truck is invented
    Sample("4", "A bike and a truck.", ("Nothing.",), "c"),
]
GOLD = {"a": ["dog", "sofa"], "b": {"diningtable": 1, "cup": 2}, "c": ["motorbike"]}


@pytest.fixture
def batch(tmp_path: Path) -> Batch:
    (tmp_path / "gold.json").write_text(json.dumps(GOLD))
    return Batch.of(SAMPLES, Settings(objects=str(tmp_path / "gold.json")))


def test_by_hand(batch: Batch) -> None:
    found = judged(Chair(), batch)
    assert found.values.tolist() == [[2, 3, 1], [0, 2, 0], [0, 0, 0], [1, 2, 1]]
    assert found.columns["hallucinated"].tolist() == ["cat, cat", "", "", "truck"]
    assert found.columns["missed"].tolist() == ["couch, person", "", "cup, dining table", ""]
    assert Chair().captions(found.values) == pytest.approx([2 / 3, 0, 0, 1 / 2])
    assert ChairS().captions(found.values).tolist() == [1, 0, 0, 1]
    assert aggregate(Chair(), found.values) == pytest.approx(3 / 7)  # invented mentions / mentions
    assert aggregate(ChairS(), found.values) == pytest.approx(2 / 4)


def test_the_explanation_gives_the_verdict_of_every_mention(batch: Batch) -> None:
    run = Run(resolve("chair"), batch.settings)
    first, second, third, fourth = run.explain(SAMPLES)["chair"]
    assert first is not None
    assert [(word.text, word.support) for word in first.words] == [
        ("A", None), ("dog", 1.0), ("chases", None), ("a", None), ("cat", 0.0), ("and", None), ("another", None),
        ("cat", 0.0),
    ]  # fmt: skip
    assert [(item.text, item.source) for item in first.missing] == [("couch", "image"), ("person", "references")]
    assert first.facts == {"objects": ["couch", "dog", "person"], "hallucinated": ["cat", "cat"], "mentions": 3}
    assert second is not None
    assert third is not None
    assert fourth is not None
    assert [item.text for item in third.missing] == ["cup", "dining table"]
    for found in (first, second, third, fourth):
        assert Explanation.from_dict(json.loads(json.dumps(found.as_dict()))).as_dict() == found.as_dict()


def explained(caption: str, objects: Any, *references: str) -> Explanation:
    (found,) = Run(resolve("chair")).explain([Sample("1", caption, references, objects=objects)])["chair"]
    assert found is not None
    return found


def test_all_words_of_a_mention_have_its_verdict() -> None:
    found = explained("A double-decker bus, two HOT dogs and the women's tie", ["hot dog"])
    support = {word.text: word.support for word in found.words if word.support is not None}
    assert support == {"double-decker": 0.0, "bus": 0.0, "HOT": 1.0, "dogs": 1.0, "women's": 0.0, "tie": 0.0}


def test_evidence_says_who_tells_and_where() -> None:
    objects = {"labels": ["dog", "sofa"], "boxes": [[10, 20, 50, 40], [0, 0, 100, 25]], "size": [100, 50]}
    found = explained("a dog and a cup", objects, "a cup of tea")
    dog, cup = (next(word for word in found.words if word.text == name) for name in ("dog", "cup"))
    assert (dog.source, dog.region) == ("image", (0.1, 0.4, 0.5, 0.8))
    assert (cup.support, cup.source, cup.region) == (1.0, "references", None)
    assert [(item.text, item.region) for item in found.missing] == [("couch", (0.0, 0.0, 1.0, 0.5))]


@given(st.text(max_size=30))
def test_letters_of_words_are_letters_of_the_caption(caption: str) -> None:
    for start, end in spans(caption):
        assert 0 <= start < end <= len(caption)


def test_letters_that_grow_in_lower_case_keep_their_place() -> None:
    caption = "\u0130\u0130 a dog"
    start = mentions(caption)[0].start
    assert caption[slice(*spans(caption)[start])] == "dog"


@pytest.mark.parametrize("text", ["", "   ", "???", "\U0001f600"])
def test_texts_without_a_word_mention_nothing(text: str) -> None:
    result = Run(resolve("chair,chair-s")).score([Sample("1", text, objects=["dog"])])  # type: ignore[arg-type]
    assert [found.values.tolist() for found in result.statistics.values()] == [[[0, 0, 0]]] * 2
    assert result.problems == []


def test_references_can_be_left_out_or_stand_alone(batch: Batch) -> None:
    alone = judged(Chair(references=False), batch)
    assert alone.columns["missed"].tolist()[0] == "couch"
    told = judged(Chair(objects="references"), batch)
    assert told.values[:, 0].tolist() == [2, 1, 0, 2]  # coffee stands in a cup
    assert not judged(Chair(objects="references"), Batch.of([Sample("1", "a dog", ("a dog",))])).problems


def test_only_the_classes_that_were_annotated_are_judged(batch: Batch) -> None:
    found = judged(Chair(classes="voc"), batch)
    assert found.values.tolist() == [[2, 3, 1], [0, 1, 0], [0, 0, 0], [0, 1, 0]]  # no cup, no truck in VOC


def test_a_baby_in_the_references_brings_no_zoo() -> None:
    found = judged(
        Chair(objects="references"), Batch.of([Sample("1", "a zebra and a baby", ("A mother with her baby.",))])
    )
    assert found.columns["hallucinated"].tolist() == ["zebra"]


def test_references_are_read_generously() -> None:
    samples = [
        Sample("1", "a laptop on a table", ("A computer on a desk.",)),
        Sample("2", "a table", ("A low coffee table.",)),
        Sample("3", "a car and a horse", ("A toy car beside a statue of a horse.",)),
        Sample("4", "a cup", ("No cup here.",)),
    ]
    found = judged(Chair(objects="references"), Batch.of(samples))
    assert found.values[:, 0].tolist() == [0, 0, 0, 1]
    assert found.columns["missed"].tolist() == [""] * 4  # what is only likely is not held against a caption


def test_images_without_objects_are_reported_and_the_rest_scored(batch: Batch) -> None:
    samples = [*SAMPLES, Sample("5", "a dog", (), "unknown"), Sample("6", "a dog")]
    more = Batch.of(samples, batch.settings)
    found = judged(Chair(), more)
    assert np.isnan(found.values[4:]).all()
    assert "no objects are given" in found.problems[4]
    assert "names no image" in found.problems[5]
    assert aggregate(Chair(), found.values) == pytest.approx(3 / 7)
    result = Run(resolve("chair,chair-s"), batch.settings).score(samples, confidence=True, resamples=50)
    assert result.corpus["chair"].value == pytest.approx(3 / 7)
    assert result.corpus["chair-s"].value == pytest.approx(2 / 4)
    assert "|objects:gold.json:" in result.corpus["chair"].signature
    assert "|words:1|" in result.corpus["chair"].signature


def test_the_signature_names_where_objects_come_from() -> None:
    record = Batch.of([Sample("1", "a dog", objects=["dog"])])  # type: ignore[arg-type]
    assert "|objects:record|" in Chair().signature(record)
    mixed = Batch.of([Sample("1", "a dog", objects=["dog"]), Sample("2", "a dog", image="a")])  # type: ignore[arg-type]
    assert "|objects:record+efficientdet-lite2/1@0.35|" in Chair().signature(mixed)
    assert "|objects:efficientdet-lite2/1@0.5|" in Chair(objects="detector@0.5").signature(record)
    told = Batch.of([Sample("1", "a dog", ("a dog",))], Settings(objects="references"))
    assert "|objects:references|" in Chair().signature(told) + "|"
    assert "|objects:references|" in Chair(objects="references").signature(record)


def test_an_image_without_objects_makes_every_mention_invented(tmp_path: Path) -> None:
    (tmp_path / "gold.json").write_text('{"a": []}')
    batch = Batch.of([Sample("1", "a dog and a cat", (), "a")], Settings(objects=str(tmp_path / "gold.json")))
    assert judged(Chair(), batch).values.tolist() == [[2, 2, 1]]


def test_labels_outside_the_classes_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "gold.json").write_text('{"a": ["unicorn", "Dog", "lamp post"]}')
    batch = Batch.of([Sample("1", "a dog", (), "a")], Settings(objects=str(tmp_path / "gold.json")))
    found = judged(Chair(), batch)
    assert found.values.tolist() == [[0, 1, 0]]
    assert found.columns["missed"].tolist() == [""]


def test_only_english() -> None:
    with pytest.raises(VericapError, match="language"):
        Run(resolve("chair:objects=references"), Settings(lang="ja"))


LABELS = ["dog", "cat", "person", "car", "hot dog", "teddy bear"]


@given(st.lists(st.sampled_from(LABELS), max_size=4), st.sets(st.sampled_from(LABELS)), st.sampled_from(LABELS))
def test_more_objects_never_invent_more(said: list[str], there: set[str], extra: str) -> None:
    caption = ", ".join(f"a {label}" for label in said)

    def values(objects: set[str]) -> list[float]:
        sample = Sample("1", caption, objects=dict.fromkeys(objects, 1))
        return judged(Chair(), Batch.of([sample])).values[0].tolist()

    invented, count, any_invented = values(there)
    assert count == len(said)
    assert invented == sum(label not in there for label in said)
    assert any_invented == (invented > 0)
    assert values(there | {extra})[0] <= invented
    assert values(set(LABELS))[0] == 0


def test_statistics_add_up(batch: Batch) -> None:
    whole = judged(Chair(), batch).values
    parts = [judged(Chair(), batch.select(rows)).values for rows in ([0, 1], [2, 3])]
    assert np.array_equal(np.concatenate(parts), whole)


def test_systems_on_real_captions_keep_their_order(data_dir: Path) -> None:
    folder = data_dir / "coco"
    references = json.loads((folder / "karpathy_test_references.json").read_text())
    scores = {}
    for system in ("blip2", "llava15_default"):
        rows = json.loads((folder / f"karpathy_test_{system}.json").read_text())[:400]
        samples = [Sample(str(r["image_id"]), r["caption"], tuple(references[str(r["image_id"])])) for r in rows]
        scores[system] = aggregate(Chair(), judged(Chair(objects="references"), Batch.of(samples)).values)
    assert 0.01 < scores["blip2"] < 0.08
    assert 0.12 < scores["llava15_default"] < 0.25
