"""The `graphs` analysis: cached by content and parser version, the same with several processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from vericap.errors import VericapError
from vericap.graphs import analysis, english
from vericap.run.batch import Batch, Settings
from vericap.samples import Sample

CAPTIONS = ["A man rides a brown horse.", "Two dogs play in the snow.", "hello", ""]


def batch(**settings: object) -> Batch:
    samples = [Sample(str(i), text, (CAPTIONS[0],)) for i, text in enumerate(CAPTIONS)]
    return Batch.of(samples, Settings(**settings))  # type: ignore[arg-type]


def test_graphs_come_in_the_order_of_texts(tmp_path: Path) -> None:
    own = batch(cache=tmp_path)
    assert own.analysis("graphs") == english.parse_many(own.texts)


def test_a_second_run_parses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = analysis.analyse(batch(cache=tmp_path))
    monkeypatch.setattr(english, "parse_many", lambda texts, **_: pytest.fail(f"parsed again: {texts}"))
    assert analysis.analyse(batch(cache=tmp_path)) == first


def test_other_rules_parse_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    analysis.analyse(batch(cache=tmp_path))
    monkeypatch.setattr(english, "VERSION", "next")
    calls = []
    parse = english.parse_many
    monkeypatch.setattr(english, "parse_many", lambda texts, **kw: calls.append(texts) or parse(texts, **kw))
    analysis.analyse(batch(cache=tmp_path))
    assert calls


def test_two_processes_give_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analysis, "_WORTH_PROCESSES", 2)
    monkeypatch.setattr(analysis, "_CHUNK", 2)
    texts = batch().texts
    alone = analysis.parse_texts(texts, Settings(cache=tmp_path / "one"))
    assert analysis.parse_texts(texts, Settings(cache=tmp_path / "two", workers=2)) == alone


def test_an_unknown_language_is_refused(tmp_path: Path) -> None:
    with pytest.raises(VericapError, match="English"):
        analysis.parse_texts(["ein Hund"], Settings(lang="de", cache=tmp_path))


def test_the_parser_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert analysis.chosen_parser(Settings()) == english.SHIPPED
    assert analysis.chosen_parser(Settings(extra={"parser": "en_core_web_trf"})) == "en_core_web_trf"
    monkeypatch.setenv("VERICAP_PARSER", "en_core_web_lg")
    assert analysis.chosen_parser(Settings()) == "en_core_web_lg"
    assert analysis.chosen_parser(Settings(), "en_core_web_md") == "en_core_web_md"
