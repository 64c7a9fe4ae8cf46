"""Wrong captions differ from the right ones in what they should, and in nothing else."""

from __future__ import annotations

import random
import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vericap.graphs.corruption_words import (
    KIND_OF_ATTRIBUTE,
    PLAIN_ATTRIBUTES,
    covers,
    inflect,
    noun_kind,
    plural,
    resembles,
)
from vericap.graphs.corruptions import KINDS, Pools, corrupt, corruptions
from vericap.graphs.scene_graph import SceneGraph

RIDER = "A man in a red shirt rides a brown horse on the beach ."
RIDER_GRAPH = SceneGraph.of(
    [("man",), ("shirt",), ("horse",), ("beach",), ("shirt", "red"), ("horse", "brown"), ("man", "in", "shirt"),
     ("man", "ride", "horse"), ("man", "ride on", "beach")],
    actions=[("man", "ride")],
)  # fmt: skip
DOGS = "Two dogs are running through the snow"
DOGS_GRAPH = SceneGraph.of(
    [("dog",), ("snow",), ("dog", "two"), ("dog", "run through", "snow")], actions=[("dog", "run")]
)
seeds = st.integers(0, 10_000)


def words(text: str) -> list[str]:
    return re.findall(r"[A-Za-z]+|[^\sA-Za-z]", text.lower())


def changes(right: str, wrong: str) -> list[tuple[str, str]]:
    """Words that differ, for captions of the same length."""
    before, after = words(right), words(wrong)
    assert len(before) == len(after)
    return [(a, b) for a, b in zip(before, after) if a != b]


@settings(max_examples=60, deadline=None)
@given(seeds)
def test_an_object_becomes_another_object(seed: int) -> None:
    wrong = corrupt(RIDER, RIDER_GRAPH, "object", random.Random(seed))
    assert wrong is not None
    [(old, new)] = changes(RIDER, wrong)
    assert old in RIDER_GRAPH.objects
    assert noun_kind(new)
    assert not resembles(new, old)
    assert not resembles(old, new)
    assert new not in RIDER_GRAPH.objects


@settings(max_examples=60, deadline=None)
@given(seeds)
def test_other_captions_are_not_contradicted_by_chance(seed: int) -> None:
    avoid = ["a woman near the lake", "a girl on a donkey wearing blue jeans and a hat"]
    wrong = corrupt(RIDER, RIDER_GRAPH, "object", random.Random(seed), avoid=avoid)
    assert wrong is not None
    [(_, new)] = changes(RIDER, wrong)
    assert new not in {"woman", "girl", "lady", "lake", "river", "donkey", "jeans", "hat", "cap"}


@settings(max_examples=60, deadline=None)
@given(seeds)
def test_an_attribute_becomes_another_of_its_kind(seed: int) -> None:
    wrong = corrupt(RIDER, RIDER_GRAPH, "attribute", random.Random(seed), avoid=["a blue thing and a grey one"])
    assert wrong is not None
    [(old, new)] = changes(RIDER, wrong)
    assert old in ("red", "brown")
    assert new in PLAIN_ATTRIBUTES["colour"]
    assert new not in ("red", "brown", "blue", "gray")


@settings(max_examples=60, deadline=None)
@given(seeds)
def test_a_relation_becomes_another(seed: int) -> None:
    wrong = corrupt(RIDER, RIDER_GRAPH, "relation", random.Random(seed))
    assert wrong is not None
    before, after = words(RIDER), words(wrong)
    lost = Counter(before) - Counter(after)
    assert wrong != RIDER
    assert set(lost) <= {"in", "on", "rides"}
    assert sum(lost.values()) <= 1  # "in front of" for "in" loses no word
    kept = [word for word in before if word not in ("in", "on", "rides")]
    assert Counter(kept) - Counter(after) == Counter()


@settings(max_examples=40, deadline=None)
@given(seeds)
def test_numbers_agree_with_nouns_and_verbs(seed: int) -> None:
    wrong = corrupt(DOGS, DOGS_GRAPH, "number", random.Random(seed))
    assert wrong in {
        "Three dogs are running through the snow", "Four dogs are running through the snow",
        "Five dogs are running through the snow", "One dog is running through the snow",
    }  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(seeds)
def test_one_becomes_several(seed: int) -> None:
    wrong = corrupt(RIDER, RIDER_GRAPH, "number", random.Random(seed))
    assert wrong is not None
    changed = changes(RIDER, wrong)
    assert changed[0][0] == "a"
    assert changed[0][1] in ("two", "three", "four", "five")
    old, new = changed[1]
    assert new == plural(old)
    assert changed[2:] in ([], [("rides", "ride")])


@settings(max_examples=40, deadline=None)
@given(seeds, st.sampled_from([(RIDER, RIDER_GRAPH), (DOGS, DOGS_GRAPH)]))
def test_order_keeps_the_words(seed: int, case: tuple[str, SceneGraph]) -> None:
    text, graph = case
    wrong = corrupt(text, graph, "order", random.Random(seed))
    assert wrong is not None
    assert wrong != text
    assert sorted(words(wrong)) == sorted(words(text))


def test_swap_exchanges_subject_and_object() -> None:
    graph = SceneGraph.of([("dog", "chase", "cat")])
    assert corrupt("A dog chases a cat.", graph, "swap", random.Random(0)) == "A cat chases a dog."


def test_articles_keep_their_sound() -> None:
    graph = SceneGraph.of([("elephant",)])
    for seed in range(30):
        wrong = corrupt("an elephant", graph, "object", random.Random(seed))
        assert wrong is None or wrong.split()[1][0] in "aeiou"


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_to_change(kind: str) -> None:
    for text in ("", "Outside .", "...", "\N{SNOWMAN}"):
        assert corrupt(text, SceneGraph(), kind, random.Random(0)) is None


def test_unknown_kind_is_named() -> None:
    with pytest.raises(ValueError, match=r"'colour'.*object, attribute"):
        corrupt(RIDER, RIDER_GRAPH, "colour", random.Random(0))


def test_the_seed_decides_and_neighbours_do_not() -> None:
    both = corruptions([RIDER, DOGS], [RIDER_GRAPH, DOGS_GRAPH], seed=4)
    assert both == corruptions([RIDER, DOGS], [RIDER_GRAPH, DOGS_GRAPH], seed=4)
    assert both[0] == corruptions([RIDER], [RIDER_GRAPH], seed=4)[0]
    assert both != corruptions([RIDER, DOGS], [RIDER_GRAPH, DOGS_GRAPH], seed=5)
    assert set(both[0]) == set(KINDS)
    only = corruptions([RIDER], [RIDER_GRAPH], ["order"], seed=4)[0]
    assert only == {"order": both[0]["order"]}


def test_pools_come_from_captions() -> None:
    texts = ["a llama and a horse", "two llamas", "a horse"]
    graphs = [SceneGraph.of([("llama",), ("horse",)]), SceneGraph.of([("llama",)]), SceneGraph.of([("horse",)])]
    pools = Pools.of(texts, graphs, minimum=1)
    graph = SceneGraph.of([("dog",)])
    made = {corrupt("a dog", graph, "object", random.Random(seed), pools=pools) for seed in range(40)}
    assert made == {"a llama", "a horse"}
    assert corrupt("two dogs", graph, "object", random.Random(0), pools=pools) == "two llamas"
    assert corrupt("a dog", graph, "object", random.Random(0), pools=Pools.of(texts, graphs, minimum=3)) is None


@pytest.mark.parametrize(("word", "many"), [("man", "men"), ("bus", "buses"), ("baby", "babies"), ("glass", "glasses"),
                                           ("toy", "toys"), ("fisherman", "fishermen"), ("fish", "fish")])  # fmt: skip
def test_plurals(word: str, many: str) -> None:
    assert plural(word) == many


@pytest.mark.parametrize(("verb", "forms"), [("lie", "lies lying lay"), ("run", "runs running ran"),
                                            ("carry", "carries carrying carried"), ("push", "pushes pushing pushed"),
                                            ("ride", "rides riding rode"), ("see", "sees seeing saw")])  # fmt: skip
def test_inflections(verb: str, forms: str) -> None:
    assert [inflect(verb, form) for form in ("s", "ing", "past")] == forms.split()


def test_every_plain_attribute_has_its_kind() -> None:
    for kind, plain in PLAIN_ATTRIBUTES.items():
        assert all(any(k == kind for k, _ in KIND_OF_ATTRIBUTE[word]) for word in plain)


def test_parsed_captions() -> None:
    from vericap.graphs.english import parse_many

    texts = ["A little girl wearing a white dress stands next to a tall woman .", "A man is sitting on a bench"]
    made = corruptions(texts, parse_many(texts), seed=1)
    assert set(made[0]) >= {"object", "attribute", "relation", "number", "order"}
    assert all(wrong != text for text, kinds in zip(texts, made) for wrong in kinds.values())


def test_the_verb_of_the_subject_agrees_wherever_it_stands() -> None:
    text = "A boy in a vest stands on a dock"
    graph = SceneGraph.of([("boy", "in", "vest"), ("boy", "stand on", "dock")], actions=[("boy", "stand")])
    made = {corrupt(text, graph, "number", random.Random(seed)) for seed in range(40)}
    assert "Two boys in a vest stand on a dock" in made
    assert all("stands" in wrong for wrong in made if wrong and "boys" not in wrong)


@settings(max_examples=40, deadline=None)
@given(seeds)
def test_neighbouring_colours_are_not_exchanged(seed: int) -> None:
    graph = SceneGraph.of([("shirt", "black")])
    wrong = corrupt("a black shirt", graph, "attribute", random.Random(seed))
    assert wrong is not None
    assert "gray" not in wrong


@settings(max_examples=40, deadline=None)
@given(seeds)
def test_verbs_keep_their_object(seed: int) -> None:
    graph = SceneGraph.of([("girl", "wear", "dress")], actions=[("girl", "wear")])
    wrong = corrupt("A girl wears a dress", graph, "relation", random.Random(seed))
    assert wrong is not None
    assert not any(f" {verb}s " in wrong for verb in ("soar", "kneel", "sleep", "dance"))


@pytest.mark.parametrize(
    ("word", "other"),
    [
        ("board", "snowboard"),
        ("snowboard", "board"),
        ("board", "longboard"),
        ("surf board", "surfboard"),
        ("truck", "fire truck"),
        ("man", "fireman"),
        ("shoe", "shoes"),
        ("motorbike", "motorcycle"),
        ("plane", "jet"),
        ("donut", "doughnut"),
        ("dog", "labrador"),
        ("feline", "cat"),
    ],
)
def test_one_word_may_be_said_of_what_another_names(word: str, other: str) -> None:
    assert covers(word, other)


@pytest.mark.parametrize(
    ("word", "other"),
    [
        ("chair", "hair"),
        ("train", "rain"),
        ("tree", "street"),
        ("bear", "beard"),
        ("apple", "pineapple"),
        ("horse", "seahorse"),
        ("bear", "teddy bear"),
        ("snow", "snowboard"),
        ("man", "snowman"),
    ],
)
def test_letters_of_a_word_inside_another_are_not_that_word(word: str, other: str) -> None:
    assert not covers(word, other)
    assert not covers(other, word)
