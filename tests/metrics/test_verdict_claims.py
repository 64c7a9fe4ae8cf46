from __future__ import annotations

import pytest

from vericap.graphs.english import parse
from vericap.metrics.verdict.claims import claimed, sentences_of


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


@pytest.mark.parametrize("text", ["", "...", "of the and", "xqz blorf"])
def test_a_text_that_says_little_is_no_error(text: str) -> None:
    assert isinstance(claims(text), dict)
