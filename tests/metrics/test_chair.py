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
from vericap.metrics.chair import Chair, ChairRecall, ChairS
from vericap.metrics.registry import resolve
from vericap.run.engine import Run
from vericap.run.plan import analysed
from vericap.run.significance import aggregate
from vericap.vision.caption_words import CaptionWords
from vericap.vision.mentions import class_of, class_words, mentions


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
        ("women's purses and men's ties", ["handbag", "tie"]),
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


@pytest.mark.parametrize(
    ("caption", "expected"),
    [
        # the fruit and the colour
        ("an orange and a banana", ["orange", "banana"]),
        ("an orange and banana", ["orange", "banana"]),
        ("an orange and white cat", ["cat"]),
        ("a red, orange, and yellow kite", ["kite"]),
        ("apple, orange, and banana", ["apple", "orange", "banana"]),
        ("The flowers are red and orange in color.", []),
        ("orange slices on a plate with a slice of orange", ["orange"]),
        ("a man in an orange vest", ["person"]),
        # other senses
        ("they tie a knot", []),
        ("a man ties his shoe", ["person"]),
        ("a man in a suit and tie", ["person", "tie"]),
        ("learning to train a dog", ["dog"]),
        ("standing next to train", ["train"]),
        ("the remote island", []),
        ("a remote beach with a remote sitting on a table", ["remote", "dining table"]),
        ("a bird's-eye view of the city", []),
        ("a birds eye view", []),
        ("salad on a bed of lettuce", []),
        # compounds
        ("a giraffe-patterned sofa", ["couch"]),
        ("a giraffe patterned sofa", ["couch"]),
        ("a horse-drawn carriage", ["horse"]),
        ("a semi-formal dinner in a two-man tent", []),
        ("a hot-dog", ["hot dog"]),
        ("a cat - a dog", ["cat", "dog"]),
        ("a tabby cat and a husky dog", ["cat", "dog"]),
        # owners
        ("a child's bedroom", []),
        ("the dogs' toys", ["dog"]),
        ("a man's hand holding a phone", ["person", "cell phone"]),
        ("the child's smile", ["person"]),
        ("several sandwich's sliced", ["sandwich"]),
        ("bananas at a farmer's market", ["banana"]),
        # no words of a caption
        ("https://dog.com/cat.jpg", []),
        ("dog.jpg", []),
    ],
)
def test_what_is_no_mention(caption: str, expected: list[str]) -> None:
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
    assert class_of("dining-table") == class_of("Dining_Table") == ("dining table",)
    assert class_of("hair-drier") == ("hair drier",)
    assert class_of("t-shirt") == ()


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
    # invented, mentions, any invented, objects mentioned, objects there, words
    assert found.values.tolist() == [[2, 3, 1, 1, 3, 8], [0, 2, 0, 2, 2, 5], [0, 0, 0, 0, 2, 3], [1, 2, 1, 1, 1, 5]]
    assert found.columns["hallucinated"].tolist() == ["cat, cat", "", "", "truck"]
    assert found.columns["missed"].tolist() == ["couch, person", "", "cup, dining table", ""]
    assert Chair().captions(found.values) == pytest.approx([2 / 3, 0, 0, 1 / 2])
    assert ChairS().captions(found.values).tolist() == [1, 0, 0, 1]
    assert aggregate(Chair(), found.values) == pytest.approx(3 / 7)  # invented mentions / mentions
    assert aggregate(ChairS(), found.values) == pytest.approx(2 / 4)
    assert aggregate(ChairRecall(), found.values) == pytest.approx(4 / 8)
    assert found.columns["recall"].tolist() == pytest.approx([1 / 3, 1, 0, 1])
    assert Chair().beside(found.values.sum(axis=0), 4) == pytest.approx(
        {"recall": 4 / 8, "mentions per caption": 7 / 4, "words per caption": 21 / 4}
    )


def test_an_object_that_is_named_twice_can_count_once(batch: Batch) -> None:
    found = judged(Chair(count="distinct"), batch)
    assert found.values[:, :3].tolist() == [[1, 2, 1], [0, 2, 0], [0, 0, 0], [1, 2, 1]]
    assert "|count:distinct|" in Chair(count="distinct").signature(batch)


def test_recall_and_length_stand_beside_the_score(batch: Batch) -> None:
    result = Run(resolve("chair,chair-recall"), batch.settings).score(SAMPLES)
    beside = result.corpus["chair"].as_dict()["beside"]
    assert beside["recall"] == float(result.corpus["chair-recall"]) == 0.5
    assert beside["words per caption"] == 21 / 4
    assert any("chair: recall 0.5, mentions per caption 1.75, words per caption 5.25" in note for note in result.notes)


def test_recall_needs_something_that_is_there() -> None:
    samples = [Sample("1", "a dog", objects={}), Sample("2", "a dog", objects={"dog": 1, "cat": 1})]
    result = Run(resolve("chair-recall")).score(samples)
    assert np.isnan(result["chair-recall"][0])
    assert result["chair-recall"][1] == 0.5
    assert [problem.record for problem in result.problems] == ["1"]


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
    words = CaptionWords.of(caption)
    for start, end in map(words.span, range(len(words.tokens))):
        assert 0 <= start < end <= len(caption)


def test_letters_that_grow_in_lower_case_keep_their_place() -> None:
    caption = "\u0130\u0130 a dog"
    (found,) = mentions(caption)
    assert caption[found.start : found.end] == "dog"


@pytest.mark.parametrize("text", ["", "   ", "???", "\U0001f600", "https://dog.com/cat.jpg", "www.a.org/b ", "dog.png"])
def test_a_text_that_says_nothing_is_not_judged(text: str) -> None:
    """A caption of nothing must not be a perfect one."""
    samples = [Sample("1", text, objects={"dog": 1}), Sample("2", "a cat", objects={"dog": 1})]
    result = Run(resolve("chair,chair-s,chair-recall")).score(samples)
    for metric in ("chair", "chair-s", "chair-recall"):
        assert np.isnan(result[metric][0])
        assert result.corpus[metric].count == 1
    assert [problem.record for problem in result.problems] == ["1"]
    assert "no word" in result.problems[0].reason


def test_references_can_be_left_out_or_stand_alone(batch: Batch) -> None:
    alone = judged(Chair(references=False), batch)
    assert alone.columns["missed"].tolist()[0] == "couch"
    told = judged(Chair(objects="references"), batch)
    assert told.values[:, 0].tolist() == [2, 1, 0, 2]  # coffee stands in a cup
    assert not judged(Chair(objects="references"), Batch.of([Sample("1", "a dog", ("a dog",))])).problems


def test_only_the_classes_that_were_annotated_are_judged(batch: Batch) -> None:
    found = judged(Chair(classes="voc"), batch)
    assert found.values[:, :3].tolist() == [[2, 3, 1], [0, 1, 0], [0, 0, 0], [0, 1, 0]]  # no cup, no truck in VOC


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
    assert "|words:2|" in result.corpus["chair"].signature


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
    assert judged(Chair(), batch).values[:, :3].tolist() == [[2, 2, 1]]


def test_labels_outside_the_classes_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "gold.json").write_text('{"a": ["unicorn", "Dog", "lamp post"]}')
    batch = Batch.of([Sample("1", "a dog", (), "a")], Settings(objects=str(tmp_path / "gold.json")))
    found = judged(Chair(), batch)
    assert found.values[:, :3].tolist() == [[0, 1, 0]]
    assert found.columns["missed"].tolist() == [""]


def test_other_languages_are_refused() -> None:
    with pytest.raises(VericapError, match="language en or ja, not 'de'"):
        Run(resolve("chair:objects=references"), Settings(lang="de"))


LABELS = ["dog", "cat", "person", "car", "hot dog", "teddy bear"]


@given(st.lists(st.sampled_from(LABELS), max_size=4), st.sets(st.sampled_from(LABELS)), st.sampled_from(LABELS))
def test_more_objects_never_invent_more(said: list[str], there: set[str], extra: str) -> None:
    caption = ", ".join(f"a {label}" for label in said)

    def values(objects: set[str]) -> list[float]:
        sample = Sample("1", caption or "a view", objects=dict.fromkeys(objects, 1))
        return judged(Chair(), Batch.of([sample])).values[0, :3].tolist()

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


def test_the_open_variant_judges_every_object_by_the_photo() -> None:
    captions = ("A saucer and a giraffe", "A cup of coffee")
    samples = [Sample(str(n), caption, (), "coffee.jpg") for n, caption in enumerate(captions)]
    run = Run([Chair(classes="open")], Settings(images=shipped.ROOT / "demo" / "photos", cache="off"))
    found = run.score(samples, explain=True)
    (values,) = found.statistics.values()
    assert values.columns["hallucinated"].tolist() == ["giraffe", ""]
    (told,) = found.explanations.values()
    assert told[0] is not None
    assert told[0].facts["mentions"] == 2
