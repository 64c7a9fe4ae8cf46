"""WordNet 3.0 from the compact tables."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vericap.text import wordnet


def test_synsets_and_lemmas() -> None:
    assert wordnet.synsets("dog", "n")[0] == "02084071-n"
    assert wordnet.synsets("hot dog") == wordnet.synsets("hot_dog")
    assert wordnet.lemmas("03790512-n") == ["bike", "motorcycle"]
    assert wordnet.synsets("nosuchword") == []


@pytest.mark.parametrize(
    ("word", "pos", "base"),
    [
        ("riding", "v", "ride"), ("children", "n", "child"), ("surfboards", "n", "surfboard"),
        ("better", "a", "better"),
        ("benches", "n", "bench"), ("ran", "v", "run"), ("smallest", "a", "small"), ("boxesful", "n", "boxful"),
        ("zzzs", "n", None), ("grass", "n", "grass"),
    ],
)  # fmt: skip
def test_morphy(word: str, pos: str, base: str | None) -> None:
    assert wordnet.morphy(word, pos) == base


def test_every_base_form_is_given() -> None:
    assert wordnet.base_forms("cows", "n") == ["cows", "cow"]
    assert "leaf" in wordnet.base_forms("leaves", "n")


def test_hypernyms() -> None:
    dog = wordnet.synsets("dog", "n")[0]
    assert wordnet.hypernyms(dog) == ["02083346-n", "01317541-n"]
    assert "00001740-n" in wordnet.ancestors(dog)  # entity
    assert wordnet.topic(dog) == "noun.animal"
    assert wordnet.hypernyms("99999999-n") == []


def test_size_of_wordnet() -> None:
    assert len(wordnet.english().lexicon.words) == 147306
    assert len(wordnet.english()._relations["synsets"]) == 117659


def test_loading_is_quick() -> None:
    start = time.process_time()
    wordnet.WordNet()
    assert time.process_time() - start < 1.0


@given(st.text(max_size=20))
def test_any_text_is_accepted(word: str) -> None:
    base = wordnet.morphy(word)
    assert base is None or wordnet.synsets(base)
