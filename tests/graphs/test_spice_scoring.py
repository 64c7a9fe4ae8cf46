"""SPICE's scoring stage: equal to the original on its own proposals, and what must hold whatever the tuples."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vericap.graphs.concepts import ConceptGraph, meteor_synsets, no_synsets
from vericap.graphs.spice import CATEGORIES, score_tuples

WORDS = st.sampled_from(["man", "person", "dog", "bike", "bicycle", "red", "two", "big", "on", "ride", "sit on"])
TUPLES = st.lists(st.one_of(st.tuples(WORDS), st.tuples(WORDS, WORDS), st.tuples(WORDS, WORDS, WORDS)), max_size=8)


def read(folder: Path, name: str) -> list[dict[str, Any]]:
    with gzip.open(folder / "spice" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


def concepts(item: Any) -> tuple[frozenset[str], ...]:
    """Words of each slot; a word may itself hold a slash ("cow/bull")."""
    return tuple(frozenset("/".join(slot).split("/")) for slot in item)


def test_merging_equals_the_original(golden_dir: Path) -> None:
    records = [record for record in read(golden_dir, "captions") if "proposals" in record]
    for record in records[::3]:
        graph = ConceptGraph.of(record["proposals"])
        ours = sorted(str(concepts([c.words for c in item])) for item in graph.tuples())
        theirs = sorted(str(concepts([[slot] for slot in item])) for item in record["tuples"])
        assert {frozenset(x) for x in ours} == {frozenset(x) for x in theirs}, record["caption"]
        assert len(ours) == len(theirs), record["caption"]


def test_flickr8k_expert_equals_the_original(golden_dir: Path) -> None:
    known = {r["id"]: r for r in read(golden_dir, "captions") if r["source"] == "flickr8k"}
    texts = {r["id"]: r["proposals"] for r in known.values() if "proposals" in r}
    compared = 0
    for row in read(golden_dir, "flickr8k_expert")[::7]:
        keys = [row["caption_id"], *(f"{row['image']}#{i}" for i in range(5))]
        if not all(key in texts for key in keys):  # another caption has the same words and stands for it
            continue
        counts = score_tuples(texts[keys[0]], [texts[key] for key in keys[1:]]).counts
        for theirs, ours in (("All", "all"), ("Object", "object"), ("Color", "color"), ("Cardinality", "count"),
                             ("Size", "size"), ("Relation", "relation"), ("Attribute", "attribute")):  # fmt: skip
            want, got = row["spice"][theirs], counts[ours]
            assert (got.tp, got.fp, got.fn) == (want["tp"], want["fp"], want["fn"]), row["id"]
            assert got.defined == (want["f"] is not None)
            assert got.f == pytest.approx(want["f"] or 0.0, abs=1e-6)
        compared += 1
    assert compared > 700


def test_synonyms_match_and_can_be_switched_off() -> None:
    assert score_tuples([["bike"]], [[["bicycle"]]]).f == 1.0
    assert score_tuples([["bike"]], [[["bicycle"]]], synonyms=no_synsets).f == 0.0
    assert meteor_synsets("hot dog") == meteor_synsets("hot_dog")


def test_a_leading_be_falls_off() -> None:
    assert score_tuples([["dog", "be on", "bed"]], [[["dog", "on", "bed"]]]).counts["relation"].f == 1.0


def test_example_by_hand() -> None:
    score = score_tuples(
        [["dog"], ["dog", "brown"], ["dog", "run in", "grass"], ["grass"]],
        [[["dog"], ["dog", "brown"], ["field"]], [["dog", "two"], ["dog", "run in", "field"]]],
    )
    assert score.counts["all"].tp == 2  # dog; dog brown
    assert (score.precision, score.recall) == (2 / 4, 2 / 5)
    assert score.counts["color"].f == 1.0
    assert score.counts["count"].f == 0.0
    assert not score.counts["size"].defined


@given(TUPLES)
def test_a_graph_matches_itself(tuples: list[tuple[str, ...]]) -> None:
    score = score_tuples(tuples, [tuples])
    assert score.f == (1.0 if tuples else 0.0)
    assert not score.missing


@given(TUPLES, TUPLES)
def test_bounds_and_counts(one: list[tuple[str, ...]], two: list[tuple[str, ...]]) -> None:
    score = score_tuples(one, [two])
    for name in CATEGORIES:
        counts = score.counts[name]
        assert 0 <= counts.matched <= counts.candidate
        assert 0.0 <= counts.precision <= 1.0
    kinds = ("object", "attribute", "relation")
    assert score.counts["all"].matched == sum(score.counts[kind].matched for kind in kinds)
    assert sum(partner is not None for partner in score.partners) == score.counts["all"].matched


@given(TUPLES)
def test_an_empty_side_scores_zero(tuples: list[tuple[str, ...]]) -> None:
    assert score_tuples([], [tuples]).f == 0.0
    assert score_tuples(tuples, [[]]).f == 0.0


def test_wrong_tuples_are_refused() -> None:
    with pytest.raises(ValueError, match="one, two or three"):
        score_tuples([["a", "b", "c", "d"]], [[["a"]]])
