"""Graphs: tuples, merge, JSON, packing, drawing."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vericap.graphs.scene_graph import SceneGraph

WORDS = st.sampled_from(["man", "dog", "red", "on", "ride", "hot dog", "犬", "<&>", "ball"])
TUPLES = st.lists(st.one_of(st.tuples(WORDS), st.tuples(WORDS, WORDS), st.tuples(WORDS, WORDS, WORDS)), max_size=12)


def graph() -> SceneGraph:
    return SceneGraph.of([("man",), ("horse", "brown"), ("man", "ride", "horse")], actions=[("man", "ride")])


def test_objects_of_longer_tuples_are_objects() -> None:
    assert graph().tuples() == [("man",), ("horse",), ("horse", "brown"), ("man", "ride", "horse")]
    assert graph().tuples(actions=True)[3] == ("man", "ride")


def test_triplets_and_phrases() -> None:
    assert graph().triplets() == ["man ride horse"]
    assert graph().phrases() == ["man", "horse", "brown horse", "man ride horse"]
    assert graph().phrases(full=True)[-1] == "man ride brown horse"


@given(TUPLES)
def test_json_and_packing_keep_everything(tuples: list[tuple[str, ...]]) -> None:
    made = SceneGraph.of(tuples, reason="" if tuples else "empty", actions=[("man", "sit")])
    assert SceneGraph.from_json(made.to_json()) == made
    assert SceneGraph.unpack(made.pack()) == made


@given(TUPLES, TUPLES)
def test_merge_is_the_union(one: list[tuple[str, ...]], two: list[tuple[str, ...]]) -> None:
    merged = SceneGraph.of(one).merge(SceneGraph.of(two))
    assert set(merged.tuples()) == set(SceneGraph.of(one).tuples()) | set(SceneGraph.of(two).tuples())
    assert len(merged.objects) == len(set(merged.objects))


@given(TUPLES)
def test_every_drawing_is_well_formed_and_says_every_word(tuples: list[tuple[str, ...]]) -> None:
    made = SceneGraph.of(tuples)
    picture = ElementTree.fromstring(made.draw(title="a <title>"))
    said = [node.text for node in picture.iter("{http://www.w3.org/2000/svg}text")]
    names = [*made.objects, *(a for _, a in made.attributes), *(r for _, r, _ in made.relations)]
    assert all(name in said for name in names)


def test_empty_drawing_gives_the_reason() -> None:
    assert "no noun" in SceneGraph(reason="no noun was found").draw()


def test_labels_of_a_row_do_not_overlap() -> None:
    made = SceneGraph.of([("a long object name", "is standing right next to", "b"), ("b", "on", "c")])
    picture = ElementTree.fromstring(made.draw())
    boxes = [node for node in picture.iter("{http://www.w3.org/2000/svg}rect") if node.get("rx")]
    spans = [(float(box.get("y", 0)), float(box.get("x", 0)), float(box.get("width", 0))) for box in boxes]
    for i, (y, x, width) in enumerate(spans):
        for other_y, other_x, other_width in spans[i + 1 :]:
            assert y != other_y or x + width <= other_x or other_x + other_width <= x


def test_a_tuple_of_four_is_refused() -> None:
    with pytest.raises(ValueError, match="one, two or three"):
        SceneGraph.of([("a", "b", "c", "d")])
