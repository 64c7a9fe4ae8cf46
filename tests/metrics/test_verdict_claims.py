from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vericap.core import shipped
from vericap.core.settings import Settings
from vericap.graphs.english import parse
from vericap.metrics.toolbox import words_of
from vericap.metrics.verdict.claims import Claim, claimed, content_form, sentences_of
from vericap.metrics.verdict.lexicon import Lexicon
from vericap.metrics.verdict.split import in_likely_order, known, out_of_order, reads_badly
from vericap.models import fluency
from vericap.models.visual_words import load
from vericap.run.analyses import Graphs
from vericap.run.runtime import Runtime
from vericap.text import ngram_lm
from vericap.text.ngram_lm import NgramModel


def claims(text: str) -> dict[str, set[str]]:
    """Kind -> what is claimed."""
    found: dict[str, set[str]] = {}
    for span in sentences_of(text):
        for claim in claimed(text, span, parse(text[span[0] : span[1]])).claims:
            found.setdefault(claim.kind, set()).add(claim.text)
    return found


def test_objects_attributes_counts_actions_and_relations_are_told_apart() -> None:
    found = claims("Two brown dogs are running on the beach next to a fire hydrant.")
    assert found["object"] == {"dog", "beach", "fire hydrant"}
    assert found["count"] == {"two"}
    assert found["attribute"] == {"brown"}
    assert found["action"] == {"run"}
    assert found["relation"] == {"on", "next to"}


def test_a_claim_knows_its_words_also_inside_compounds() -> None:
    text = "A man eats a hot dog"
    sentence = claimed(text, (0, len(text)), parse(text))
    compound = next(claim for claim in sentence.claims if claim.text == "hot dog")
    assert [sentence.words[place][0] for place in compound.words] == ["hot", "dog"]


@pytest.mark.parametrize("text", ["The image features a dog.", "A picture of a dog", "In this scene there is a dog"])
def test_talk_about_the_picture_is_no_claim(text: str) -> None:
    assert claims(text) == {"object": {"dog"}}


def test_places_are_those_of_the_whole_caption() -> None:
    text = "A dog runs. A cat sleeps."
    second = claimed(text, sentences_of(text)[1], parse("A cat sleeps."))
    assert [text[start:end] for _, start, end in second.words] == ["A", "cat", "sleeps"]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("A dog runs on grass.", 0),
        ("Another dog also runs.", 1),
        ("Two dogs run in the background.", 2),
        ("In addition, several dogs are visible.", 3),
        ("", 0),
    ],
)
def test_details_are_further_things_how_many_and_where(text: str, count: int) -> None:
    assert claimed(text, (0, len(text)), parse(text)).details() == count


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("There is no dog in the picture.", set()),
        ("No people are visible.", set()),
        ("No people are walking.", set()),
        ("A cat, not a dog.", {"cat"}),
        ("The cat is not wearing a collar.", {"cat"}),
        ("An empty chair without people.", {"chair", "empty"}),
        ("A cat isn't running and doesn't wear a hat.", {"cat"}),
        ("No one is riding the horse.", {"horse"}),
        ("A street with no big cars, trucks or people", {"street"}),
        ("A man without a shirt rides a horse", {"man", "ride", "horse"}),
        ("A dog and no fire hydrant", {"dog"}),
    ],
)
def test_what_is_said_to_be_absent_is_no_claim(text: str, said: set[str]) -> None:
    assert set().union(*(texts for kind, texts in claims(text).items() if kind != "relation")) == said


def test_sentences_end_at_semicolons_too() -> None:
    text = "A dog runs; a cat sleeps ;; A bird. It's ;)"
    assert [text[start:end] for start, end in sentences_of(text)] == [
        "A dog runs;",
        "a cat sleeps ;;",
        "A bird.",
        "It's ;",
    ]


def test_digits_are_read_as_numbers() -> None:
    assert claims("2 cats and 12 dogs")["count"] == {"two", "twelve"}


@pytest.mark.parametrize("text", ["", "...", "of the and", "xqz blorf"])
def test_a_text_that_says_little_is_no_error(text: str) -> None:
    assert isinstance(claims(text), dict)


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    return Lexicon(load(), Runtime.of(Settings(cache="off")).encoder().phrases)


@pytest.fixture(scope="module")
def shipped_lm() -> NgramModel:
    return ngram_lm.load(shipped.folder("lm"))


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        ("A red fire hydrant stands on the street next to two dogs.", False),
        ("A man riding a horse on a beach with a", False),  # cut off, but in order
        ("Two dog is sitting in front of a doors.", False),  # wrong, but in order
        ("red the stands on two fire hydrant A dogs to next street the.", True),
    ],
)
def test_order_is_what_a_parser_needs(shipped_lm: NgramModel, text: str, broken: bool) -> None:
    badly = reads_badly(fluency.load().texts([text])[0], (0, len(text)))
    assert (badly and out_of_order(shipped_lm, [[word for word, _, _ in words_of(text)]])[0]) is broken


def test_words_without_order_are_read_in_their_likeliest() -> None:
    text = "Nice. hydrant a dogs standing fire brown two to next"
    span = (6, len(text))
    found = in_likely_order([text], [(0, span)], Runtime.of(Settings(cache="off")), Graphs())[0, span]
    assert {(claim.kind, claim.text, claim.subject) for claim in found.claims} >= {
        ("object", "dog", ""),
        ("object", "fire hydrant", ""),
        ("count", "two", "dog"),
        ("attribute", "brown", "dog"),
        ("action", "stand", "dog"),
    }
    assert all(text[start:end] == word for word, start, end in found.words)
    (hydrant,) = (claim for claim in found.claims if claim.text == "fire hydrant")
    assert [found.words[place][0] for place in hydrant.words] == ["hydrant", "fire"]  # where they stand
    assert found.read(text) == "two brown dogs standing next to a fire hydrant"
    assert found.without(text, hydrant) == "two brown dogs standing next to a"


def test_a_sentence_without_what_a_claim_says() -> None:
    text = "Nice. A big fire hydrant and a dog. Good."
    sentence = claimed(text, sentences_of(text)[1], parse("A big fire hydrant and a dog."))
    (hydrant,) = (claim for claim in sentence.claims if claim.text == "fire hydrant")
    assert sentence.read(text) == "A big fire hydrant and a dog."
    assert sentence.without(text, hydrant) == "A big and a dog."


@given(st.lists(st.text(min_size=1, max_size=8), max_size=6).map(" ".join))
def test_words_are_cut_alike_when_they_are_joined_anew(text: str) -> None:
    words = [word for word, _, _ in words_of(text)]
    assert [word for word, _, _ in words_of(" ".join(words))] == words


@pytest.mark.parametrize(
    "word", ["dog", "Dogs", "selfie", "wetsuit", "two-tiered", "12", "hydrant's", "sousaphone", "hoodies"]
)
def test_words_are_known(lexicon: Lexicon, word: str) -> None:
    assert lexicon.knows(word)


@pytest.mark.parametrize("word", ["xqz", "fnord", "whikle", "schnee"])
def test_words_that_nobody_knows(lexicon: Lexicon, word: str) -> None:
    assert not lexicon.knows(word)
    text = f"A {word} dog runs"
    strange = known(claimed(text, (0, len(text)), parse(text)), lexicon.knows)
    assert all(strange.words[place][0] != word for claim in strange.claims for place in claim.words)
    assert any(claim.text == "run" for claim in strange.claims)


@pytest.mark.parametrize("number", ["nine", "twelve", "twenty"])
def test_the_nearest_number_stands_for_one_the_vocabulary_lacks(lexicon: Lexicon, number: str) -> None:
    claim = Claim("count", number, (0,), "dog")
    lexicon.learn([claim])
    found = lexicon[claim]
    assert found is not None
    assert found.near == ("eight",)


def test_a_synonym_of_wordnet_stands_for_an_unknown_object(lexicon: Lexicon) -> None:
    claim = Claim("object", "hair drier", (0, 1))
    lexicon.learn([claim])
    found = lexicon[claim]
    assert found is not None
    assert found.near == ("dryer",)
    assert found.likeness == 1


@pytest.mark.parametrize(
    ("words", "form"),
    [
        ("building buildings", "building"),
        ("ride rides riding rode", "ride"),
        ("ground", "ground"),
        ("stove stoves", "stove"),
        ("cookie cookies", "cookie"),
        ("vase vases vase's", "vase"),
        ("sky skies", "sky"),
        ("vest", "vest"),
        ("dresser", "dresser"),
        ("number numbers", "number"),
        ("wear wore worn wearing", "wear"),
        ("man men", "man"),
        ("painting paintings", "painting"),
    ],
)
def test_forms_of_a_word_count_as_one_that_people_know(words: str, form: str) -> None:
    assert {content_form(word) for word in words.split()} == {form}


@pytest.mark.parametrize(
    ("word", "known"),
    [
        ("owl", "bird"),
        ("gull", "seagull"),
        ("bunny", "animal"),
        ("rabbit", "animal"),
        ("eggplant", "vegetable"),
        ("tugboat", "boat"),
        ("armchair", "chair"),
        ("tulip", "flower"),
        ("marine", "soldier"),
        ("poodle", "dog"),
        ("paris", "city"),
        ("whiskers", "beard"),
        ("mango", "fruit"),
        ("president", "person"),
    ],
)
def test_an_unknown_object_is_seen_as_what_it_is_a_kind_of(lexicon: Lexicon, word: str, known: str) -> None:
    claim = Claim("object", word, (0,))
    lexicon.learn([claim])
    found = lexicon[claim]
    assert found is not None
    assert found.near == (known,)


@pytest.mark.parametrize(
    ("word", "absurd"),
    [
        ("shuttle", "bird"),
        ("trio", "leash"),
        ("kale", "bread"),
        ("scale", "table"),
        ("accordion", "box"),
        ("owl", "night"),
    ],
)
def test_rare_senses_and_parts_of_names_stand_for_nothing(lexicon: Lexicon, word: str, absurd: str) -> None:
    claim = Claim("object", word, (0,))
    lexicon.learn([claim])
    found = lexicon[claim]
    assert found is not None
    assert absurd not in found.near


def test_words_of_place_are_no_content() -> None:
    words = [word for word, _, _ in words_of("A dog sits next to the left side of two cars in front of a house")]
    assert [content_form(word) for word in words if content_form(word)] == ["dog", "sit", "two", "car", "house"]
