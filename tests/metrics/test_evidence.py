"""Reasons that text metrics share: places of tokens, support of words, sizes."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vericap.core.explanation import Explanation, Match, MissingContent
from vericap.metrics.evidence import LIMIT, claim_evidence, places, shortened, token_evidence
from vericap.text.tokens import tokenize


def found(text: str, tokens: list[str]) -> list[str | None]:
    return [None if span is None else text[slice(*span)] for span in places(text, tokens)]


def test_tokens_are_found_as_they_are_written() -> None:
    text = "Don't stop, the (big) DOG!"
    assert found(text, ["do", "n't", "stop", "the", "-lrb-", "big", "-rrb-", "dog"]) == [
        "Do", "n't", "stop", "the", None, "big", None, "DOG"
    ]  # fmt: skip
    assert found("２人の男性", ["2人", "の", "男性"]) == ["２人", "の", "男性"]
    assert found("a café", ["a", "café"]) == ["a", "café"]


def test_a_token_is_not_looked_for_behind_other_words() -> None:
    assert found("a cat and a dog", ["a", "dog", "and"]) == ["a", None, "and"]
    assert found("a cat", ["", "a"]) == [None, "a"]


@given(st.text(max_size=40))
def test_places_lie_in_the_text_in_order(text: str) -> None:
    spans = [span for span in places(text, tokenize([text])[0]) if span is not None]
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert spans == sorted(spans)


def test_a_word_has_the_least_support_of_its_tokens() -> None:
    words = token_evidence("It isn't a dog?", ["it", "is", "n't", "a"], [1.0, 1.0, 0.25, 0.5])
    assert [(word.text, word.support) for word in words] == [("It", 1.0), ("isn't", 0.25), ("a", 0.5), ("dog", None)]
    ja = token_evidence("犬が走る", ["犬", "が", "走る"], [1.0, 0.0, 0.5], lang="ja")
    assert [(word.text, word.start) for word in ja] == [("犬", 0), ("が", 1), ("走る", 2)]


def test_claims_are_found_by_base_form_and_nothing_is_guessed() -> None:
    claims = [("dog", 1.0), ("run on", 0.0), ("brown", 1.0), ("brown", 0.0)]
    words = claim_evidence("Brown dogs ran on a brown lawn", claims)
    assert [word.support for word in words] == [0.5, 1.0, 0.0, None, None, 0.5, None]
    assert claim_evidence("Ein Hund", claims) == ()


def test_long_reasons_are_cut_and_say_so() -> None:
    missing = tuple(MissingContent(f"content number {i}") for i in range(60))
    matches = tuple(Match((f"word {i}",), (), 0.0, "object") for i in range(10))
    whole = Explanation("spice", missing=missing, matches=matches, facts={"recall": 0.5, "tokens": ["a"] * 50})
    short = shortened(whole, spare=("tokens",))
    assert len(json.dumps(short.as_dict())) <= LIMIT
    assert short.missing == missing[: len(short.missing)]
    assert short.facts == {"recall": 0.5, "left_out": {"missing": 60 - len(short.missing)}}
    assert shortened(whole, full=True) is whole
    assert shortened(Explanation("spice", missing=missing[:3])).facts == {}


@pytest.mark.parametrize("name", ["bleu-4", "cider", "reo-omission", "lm"])
def test_cards_of_metrics_and_families(name: str) -> None:
    from vericap.metrics.cards import card

    assert card(name).startswith("#")


def test_a_metric_may_bring_its_own_card(monkeypatch: pytest.MonkeyPatch) -> None:
    from vericap.metrics import cards, registry

    own = type("Own", (registry.metric_class("rouge-l"),), {"name": "own", "card": "# Own\n\nCounts words.\n"})
    monkeypatch.setattr(cards, "metric_class", {"own": own}.__getitem__)
    assert cards.card("own:beta=1").startswith("# Own\n\nCounts words.\n\n## Options\n\n- `beta=1.2`")
