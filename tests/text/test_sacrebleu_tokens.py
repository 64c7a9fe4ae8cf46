"""Tokens and BLEU of other languages beside what sacrebleu printed (golden_sacrebleu.json says how)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from vericap.core.errors import UnknownName, VericapError
from vericap.core.languages import LANGUAGES, tokenizer_of
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.metrics.registry import resolve
from vericap.run.engine import Run
from vericap.text.tokens import tokenize

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parent / "golden_sacrebleu.json").read_text("utf-8"))


@pytest.mark.parametrize("name", ["intl", "char", "zh"])
def test_tokens_are_those_of_sacrebleu(name: str) -> None:
    found = tokenize(GOLDEN["texts"], name)
    assert [found[row] for row in range(len(found))] == GOLDEN["tokens"][name]


@pytest.mark.parametrize(("lang", "name"), [("de", "intl"), ("zh", "zh"), ("th", "char")])
def test_corpus_bleu_is_that_of_sacrebleu(lang: str, name: str) -> None:
    corpus = GOLDEN["corpora"][name]
    pairs = zip(corpus["candidates"], corpus["references"])
    samples = [Sample(str(row), text, tuple(references)) for row, (text, references) in enumerate(pairs)]
    result = Run(resolve("bleu-4,rouge-l,cider-d,meteor"), Settings(lang=lang)).score(samples)
    assert 100 * float(result.corpus["bleu-4"]) == pytest.approx(corpus["bleu"], rel=1e-6)
    assert f"|tok:{name}|" in result.corpus["bleu-4"].signature
    assert all(float(score) > 0 for score in result.corpus.values())


def test_words_of_languages_without_blanks_are_explained_one_by_one() -> None:
    sample = Sample("1", "一只狗在奔跑", ("一只狗",))
    (found,) = Run(resolve("rouge-l"), Settings(lang="zh")).explain([sample])["rouge-l"]
    assert found is not None
    assert [(word.text, word.support) for word in found.words] == [
        ("一", 1.0), ("只", 1.0), ("狗", 1.0), ("在", 0.0), ("奔", 0.0), ("跑", 0.0),
    ]  # fmt: skip


def test_every_language_has_a_tokeniser_and_no_other_is_taken() -> None:
    assert {"en", "ja", "zh", "de", "fr", "th", "sw"} <= LANGUAGES
    assert len(LANGUAGES) == 184
    assert Settings(lang="fr").tokenizer == tokenizer_of("fr") == "intl"
    for wrong in ("zz", "", "english", "EN"):
        with pytest.raises(VericapError, match="is no language"):
            Settings(lang=wrong)
    with pytest.raises(UnknownName, match="intl, char, zh"):
        tokenize(["a"], "13a")
