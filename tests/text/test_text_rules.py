"""Rules on texts and cleaning: what each finds, what it leaves alone; languages against spaCy's example sentences."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vericap.text.clean import clean
from vericap.text.languages import UNKNOWN, language
from vericap.text.rules import RULES


@pytest.mark.parametrize(
    ("rule", "yes", "no"),
    [
        ("url", ["see http://a.b/c", "www.shop.com", "buy at shop.com/x now"], ["grass.in the park", "a.m. and p.m."]),
        ("email", ["write to a.b@c.org"], ["a dog @ the beach"]),
        ("filename", ["IMG_1234", "dog.jpg", "DSC00012.JPG", "my photo(1).png"], ["a jpg of a dog", "img of a dog"]),
        (
            "markup",
            ["a&nbsp;dog", "<b>dog</b>", "<br/>", "&#39;", "[url=x]dog[/url]"],
            ["<3", "a < b", "R&B; jazz", "a & b"],
        ),
        ("emoji", ["dog 🐶", "☀ sun"], ["dog :)", "犬"]),
        ("hashtag", ["a dog #cute"], ["number #1", "c# code"]),
        ("shouting", ["A DOG ON GRASS"], ["BBC NEWS", "A dog ON grass", "犬が走る"]),
        ("wordless", ["", "???", "🐶"], ["a", "1"]),
    ],
)
def test_marks(rule: str, yes: list[str], no: list[str]) -> None:
    assert RULES[rule].column(yes).tolist() == [True] * len(yes)
    assert RULES[rule].column(no).tolist() == [False] * len(no)


def test_counts() -> None:
    texts = ["a black-and-white dog", "", "犬が走る", "A 12 dog dog dog dog"]
    assert RULES["words"].column(texts).tolist() == [3, 0, 4, 6]
    assert RULES["digits"].column(texts).tolist() == [0, 0, 0, 2]
    assert RULES["characters"].column(texts).tolist() == [21, 0, 4, 20]
    assert RULES["longest-word"].column(texts).tolist() == [15, 0, 1, 3]
    assert RULES["uppercase"].column(["aB", "12"]).tolist() == [0.5, 0.0]
    assert RULES["symbols"].column(["a !", ""]).tolist() == [0.5, 0.0]
    # 5 pairs: (a,12) (12,dog) and three times (dog,dog)
    assert RULES["repetition"].column(texts)[3] == pytest.approx(2 / 5)
    assert RULES["words"].column([]).dtype == np.float64


def test_english_captions_are_english(data_dir: Path) -> None:
    file = data_dir / "flickr8k" / "Flickr8k.token.txt"
    texts = [line.split("\t")[1].strip() for line in file.read_text(encoding="utf-8").splitlines()[::20]]
    assert np.mean(RULES["lang"].column(texts) == "en") > 0.999


def test_other_languages_are_not_english() -> None:
    """Sentences that spaCy ships for its tests: an outside witness."""
    right = wrong = total = 0
    codes = ("de", "fr", "es", "it", "pt", "nl", "sv", "da", "nb", "fi", "pl", "cs", "ro", "hu", "tr", "id", "vi", "ja")
    codes += ("zh", "ko", "ru", "uk", "el", "ar", "he", "hi")
    for code in codes:
        sentences = importlib.import_module(f"spacy.lang.{code}.examples").sentences
        found = [language(sentence) for sentence in sentences]
        total += len(found)
        right += found.count(code)
        wrong += found.count("en")
    assert total > 200
    assert wrong <= 2  # 'London er en stor by' and a sentence about Apple's startup
    assert right / total > 0.8
    assert all(language(text) == "en" for text in importlib.import_module("spacy.lang.en.examples").sentences)


def test_nothing_is_said_of_what_says_nothing() -> None:
    assert [language(text) for text in ("", "123", "???", "zzz qqq")] == [UNKNOWN] * 4


@pytest.mark.parametrize(
    ("given_text", "wanted"),
    [
        ("A&nbsp;dog &amp; a cat", "A dog & a cat"),
        ("a &amp;amp;quot;dog&amp;amp;quot;", 'a "dog"'),
        ("a <b>red</b> bus<br/>on a street <!-- ad -->", "a red bus on a street"),
        ("&lt;p&gt;a dog&lt;/p&gt;", "a dog"),
        ("a dog | http://shop.com/a?b=c", "a dog"),
        ("see (www.x.com) a dog", "see a dog"),
        ("a dog.jpg", "a dog"),
        ("IMG_20190304_1123.jpg", ""),
        ("uploads/2019/red-car_2.jpg", "red car"),
        ("a8f9e2c0.png", ""),
        ("a   dog\u00a0\u3000on\tgrass\n", "a dog on grass"),
        ("a\u200bdog\ufeff", "adog"),
        ("TWO DOGS ON A BEACH", "two dogs on a beach"),
        ("USA TODAY", "USA TODAY"),
        ("AT&T and R&B, 3 < 4 <3", "AT&T and R&B, 3 < 4 <3"),
        ("- a dog , a cat .", "- a dog , a cat ."),
        ("on the grass.in the park", "on the grass.in the park"),
    ],
)
def test_cleaning(given_text: str, wanted: str) -> None:
    assert clean(given_text) == wanted


def test_clean_captions_stay_as_they_are(data_dir: Path) -> None:
    file = data_dir / "flickr8k" / "Flickr8k.token.txt"
    texts = [line.split("\t")[1].strip() for line in file.read_text(encoding="utf-8").splitlines()[::20]]
    changed = [text for text in texts if clean(text) != text]
    assert all("  " in text or ".com" in text for text in changed)
    assert len(changed) < 20


@given(st.text(max_size=60) | st.text(alphabet="aB <>/&;#amp.jpgIMG_1-www.com:()|", max_size=40))
@settings(max_examples=400, deadline=None)
def test_cleaning_once_is_enough(text: str) -> None:
    found = clean(text)
    assert clean(found) == found
    assert found == " ".join(found.split())
