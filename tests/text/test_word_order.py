from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from vericap.core import shipped
from vericap.text import ngram_lm, word_order
from vericap.text.ngram_lm import NgramModel
from vericap.text.word_order import likely_orders


@pytest.fixture(scope="module")
def model() -> NgramModel:
    return ngram_lm.load(shipped.folder("lm"))


def chance(model: NgramModel, words: list[str]) -> float:
    scores, _, _ = model.token_scores([[word.lower() for word in words]])
    return float(scores.sum(dtype=np.float64))


@pytest.mark.parametrize(
    "text", ["dogs two running", "horse a man riding a", "the table wooden on a cat", "xqz blorf dog a", "dog"]
)
def test_the_likeliest_of_all_orders_is_found(model: NgramModel, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(word_order, "BEAM", 10_000)
    words = text.split()
    (order,) = likely_orders(model, [words])
    assert sorted(order) == list(range(len(words)))
    best = max(chance(model, list(own)) for own in permutations(words))
    assert chance(model, [words[place] for place in order]) == pytest.approx(best, abs=1e-4)


def test_a_narrow_beam_puts_words_where_people_say_them(model: NgramModel) -> None:
    texts = ["vase a sitting next couple of swans to a flowers filled with A", "grass dog in running the brown A"]
    found = [
        [text.split()[place].lower() for place in order]
        for text, order in zip(texts, likely_orders(model, [text.split() for text in texts]))
    ]
    assert found[1] == ["a", "brown", "dog", "running", "in", "the", "grass"]
    assert "couple of swans" in " ".join(found[0])


def test_texts_do_not_change_each_other_and_long_ones_go_in_parts(model: NgramModel) -> None:
    long = ["dog", "a", "grass", "the", "on", "Two"] * 20
    texts = [["dogs", "two"], [], long, ["a", "cat"]]
    together = likely_orders(model, texts)
    assert together == [likely_orders(model, [words])[0] for words in texts]
    assert [sorted(order) for order in together] == [list(range(len(words))) for words in texts]
    first = together[2][: word_order.LONGEST]
    assert sorted(first) == list(range(word_order.LONGEST))
