"""Captions with a known error: the edits themselves, and what REO says of them on real captions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from vericap.core import shipped
from vericap.core.settings import Settings
from vericap.graphs.english import pipeline
from vericap.meta.catalogue import load
from vericap.reproduce import edits as caption_edits
from vericap.reproduce import reo_errors
from vericap.reproduce.edits import Captions


def cut_out(text: str) -> set[str]:
    return {phrase.text(phrase.noun.doc) for phrase in caption_edits.phrases(pipeline()(text))}


def test_phrases_that_can_be_cut_out() -> None:
    assert "with a frisbee" in cut_out("a dog with a frisbee in the snow")
    assert "in front of a house" in cut_out("a man stands in front of a house")
    assert "next to a red car" in cut_out("a woman next to a red car")
    assert "and a cat" in cut_out("a dog and a cat on a sofa")
    assert not cut_out("a group of people")  # a group alone says nothing
    assert not cut_out("a dog runs")


DATA = Captions(
    ["one", "two"],
    [
        ["a dog with a frisbee in the snow", "a dog holds a frisbee", "dogs and frisbees", "a brown dog", "an animal"],
        ["a man on a horse near a barn", "a man rides a horse", "a rider on a horse", "a man", "someone outside"],
    ],
)


def test_a_dropped_object_is_one_the_others_speak_of() -> None:
    first, second = caption_edits.dropped(DATA, 5)
    assert (first.after, first.noun, first.words) == ("a dog in the snow", "frisbee", ("frisbee",))
    assert (second.after, second.noun) == ("a man near a barn", "horse")
    assert first.before not in first.references
    assert len(first.references) == 4


def test_an_added_phrase_is_of_something_else() -> None:
    for case in caption_edits.added(DATA, 5):
        assert case.after == f"{case.before} {case.phrase}"
        assert case.noun not in " ".join([case.before, *case.references])


def test_an_error_is_compared_with_the_words_of_the_edit() -> None:
    class Space:
        def __call__(self, words: list[str]) -> np.ndarray:
            axes = {"dog": 0, "frisbee": 1, "snow": 2}
            return np.eye(3, dtype=np.float32)[[axes[word] for word in words]]

    found = reo_errors.judge(np.array([0, 3, 4], np.float32), ["frisbee"], "a dog with a frisbee", Space())  # type: ignore[arg-type]
    assert (found.nearest, found.right) == ("frisbee", True)
    assert found.cosine == pytest.approx(0.6)
    assert found.others == pytest.approx(0.0)


@pytest.fixture(scope="module")
def some(data_dir: Path) -> tuple[Captions, Settings]:
    if not (shipped.ROOT / "scan" / "meta.json").is_file():
        pytest.skip("scan is not in this checkout")
    if not (data_dir / "flickr8k" / "Images").is_dir():
        pytest.skip("the Flickr8k photos are not at hand")
    dev = Captions.of(load("flickr8k-dev", data_dir))  # type: ignore[arg-type]
    return Captions(dev.keys[:40], dev.captions[:40]), Settings(images=data_dir / "flickr8k" / "Images")


def test_real_captions_go_the_right_way(some: tuple[Captions, Settings]) -> None:
    data, settings = some
    right = reo_errors.right(caption_edits.added(data, 30), settings)
    assert right["reo-extraness"]["both"] >= 0.8  # 96 % of 500
    right = reo_errors.right(caption_edits.dropped(data, 30), settings)
    assert right["reo-omission"]["both"] >= 0.8  # 95 %


def test_the_orthogonal_part_names_the_error(some: tuple[Captions, Settings]) -> None:
    data, settings = some
    found = reo_errors.findings(caption_edits.added(data, 20), "extra", settings)["caption"]
    assert np.mean([row.right for row in found]) > 0.9
    assert np.mean([row.cosine for row in found]) > 0.6
