"""The recurrent language model against its equations, and its files."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from vericap.core.errors import InputError
from vericap.models import recurrent_lm
from vericap.models.recurrent_lm import RecurrentLm
from vericap.text.ngram_lm import MARKS

WORDS = [*MARKS, "a", "dog", "on", "the", "grass", "runs"]
EMBEDDING, HIDDEN = 5, 7


def model(seed: int = 0) -> RecurrentLm:
    draw = np.random.default_rng(seed)
    shapes = {
        "embedding": (len(WORDS), EMBEDDING), "weight_ih": (3 * HIDDEN, EMBEDDING), "weight_hh": (3 * HIDDEN, HIDDEN),
        "bias_ih": (3 * HIDDEN,), "bias_hh": (3 * HIDDEN,), "project": (EMBEDDING, HIDDEN), "bias": (len(WORDS),),
    }  # fmt: skip
    arrays = {name: draw.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    shares = draw.random(len(WORDS)) + 0.1
    return RecurrentLm(WORDS, {**arrays, "frequency": np.log(shares / shares.sum())}, "small")


def by_hand(lm: RecurrentLm, words: list[str]) -> list[float]:
    """log p of every word but the first, by the equations of a gated recurrent unit."""
    weights = {name: array.astype(np.float64) for name, array in lm.weights.items()}
    numbers, state, found = [lm.vocabulary[word] for word in words], np.zeros(HIDDEN), []
    for given, wanted in pairwise(numbers):
        inputs = weights["weight_ih"] @ weights["embedding"][given] + weights["bias_ih"]
        carried = weights["weight_hh"] @ state + weights["bias_hh"]
        reset, update = (
            1 / (1 + np.exp(-(inputs[part] + carried[part]))) for part in (slice(0, HIDDEN), slice(HIDDEN, 2 * HIDDEN))
        )
        new = np.tanh(inputs[2 * HIDDEN :] + reset * carried[2 * HIDDEN :])
        state = (1 - update) * new + update * state
        logits = weights["embedding"] @ (weights["project"] @ state) + weights["bias"]
        found.append(float(logits[wanted] - np.log(np.exp(logits).sum())))
    return found


def test_chances_are_those_of_the_equations() -> None:
    lm, texts = model(), [["a", "dog", "on", "the", "grass"], ["runs"], [], ["the", "dog"]]
    found = lm.text_scores(texts)
    for text, scores in zip(texts, found):
        if text:
            assert scores.tokens == [*text, "</s>"]
            assert scores.inside == pytest.approx(by_hand(lm, ["<s>", *text, "</s>"]), abs=1e-5)
            numbers = [lm.vocabulary[token] for token in scores.tokens]
            assert scores.alone == pytest.approx(lm.weights["frequency"][numbers])
        else:
            assert scores.tokens == []


def test_an_unknown_word_neither_predicts_nor_earns() -> None:
    lm = model()
    (scores,) = lm.text_scores([["a", "dog", "xqz", "on", "the", "grass"]])
    assert scores.inside[:2] == pytest.approx(by_hand(lm, ["<s>", "a", "dog"]), abs=1e-5)
    assert scores.gain[2] <= 0
    assert scores.gain[3] == 0  # behind it nothing is known
    assert scores.inside[4:] == pytest.approx(by_hand(lm, ["on", "the", "grass", "</s>"]), abs=1e-5)
    (other,) = lm.text_scores([["runs", "wug", "on", "the", "grass"]])
    assert other.inside[2:] == pytest.approx(scores.inside[3:])


def test_scores_do_not_depend_on_company() -> None:
    lm = model()
    alone = lm.text_scores([["a", "dog"]])[0]
    among = lm.text_scores([["the", "grass", "xqz"], ["a", "dog"], ["xqz"]])[1]
    assert among.inside == pytest.approx(alone.inside)


def test_a_file_of_bytes_says_nearly_the_same(tmp_path: Path) -> None:
    lm, texts = model(), [["a", "dog", "on", "the", "grass"]]
    recurrent_lm.save(lm, tmp_path, captions=3)
    again = recurrent_lm.load(tmp_path)
    assert recurrent_lm.is_model(tmp_path)
    assert recurrent_lm.version(tmp_path).startswith("small-")
    assert again.vocabulary == lm.vocabulary
    assert again.text_scores(texts)[0].inside == pytest.approx(lm.text_scores(texts)[0].inside, abs=0.15)


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    recurrent_lm.save(model(), tmp_path)
    file = tmp_path / recurrent_lm.FILE
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(InputError, match="damaged"):
        recurrent_lm.load(tmp_path)
