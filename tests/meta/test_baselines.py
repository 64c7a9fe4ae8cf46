"""What metrics are held against: baselines, parts of the data, each other, their cost and their training."""

from __future__ import annotations

import json

import numpy as np
import pytest

from vericap.core.settings import Settings
from vericap.meta import baselines
from vericap.meta.agreement import correlation
from vericap.meta.baselines import baseline_scores, not_above, place_scores
from vericap.meta.breakdowns import by_kind, by_length, by_system, detail_tables
from vericap.meta.cost import processor_seconds
from vericap.meta.evaluation import BASELINE, evaluate
from vericap.meta.exposure import SOURCES, TRAININGS, parts_of, seen
from vericap.meta.judgements import Pairs, Ratings
from vericap.meta.redundancy import largest, metric_correlations, same_table
from vericap.meta.scoring import metrics_of
from vericap.meta.summary import overview, ranks, trainings

WORDS = ["the", "dog", "runs", "over", "a", "green", "field", "near", "two", "trees", "in", "summer"]


def rated(count=240, seed=0, **options):
    generator = np.random.default_rng(seed)
    sizes = generator.integers(1, len(WORDS) + 1, count)
    return Ratings(
        name="made",
        candidates=[" ".join(WORDS[:size]) for size in sizes],
        references=[("a dog runs", "the field")] * count,
        ratings=np.clip(sizes // 2 + generator.integers(-2, 3, count), 1, 5).astype(float),
        scale=(1, 5),
        images=[f"i{row // 4}" for row in range(count)],
        **options,
    )


def pairs(preference=(0.0, 0.0, 1.0), **options):
    first, second = ["a dog", "a b c", "x"], ["a", "a b", "x y"]
    return Pairs("made", list("ijk"), first, second, [("a",)] * 3, {"preference": np.array(preference)}, **options)


def test_baselines_are_rows_of_the_table_and_no_metrics():
    found = evaluate(rated(), ["rouge-l"], resamples=50)
    lengths = np.array([len(text.split()) for text in found.task.data.candidates], dtype=float)
    own = {line.metric: line for line in found.baselines}
    assert set(own) == {baselines.WORDS, baselines.CONTENT, baselines.RANDOM}
    assert own[baselines.WORDS].value == pytest.approx(correlation("tau-c", lengths, found.task.judgement))
    assert own[baselines.WORDS].interval is not None
    assert {line.kind for line in found.baselines} == {BASELINE}
    assert [line.metric for line in found.lines] == ["rouge-l"]  # no part of the tests and their adjustment
    text = found.table().text()
    assert "(content words)" in text
    assert "Not above the best baseline, (words)" in text
    assert not_above(evaluate(rated(), scores={"judge": rated().ratings[:, 0]}, resamples=0)) == ""


def test_content_words_are_those_without_stop_words():
    data = Ratings("made", ["The dog, on a field.", "two dogs"], [()] * 2, np.array([1.0, 2.0]), (1, 5))
    scores = baseline_scores(evaluate(data, scores={"x": [1, 2]}, resamples=0).task)
    assert scores[baselines.CONTENT].tolist() == [2.0, 2.0]
    assert scores[baselines.WORDS].tolist() == [5.0, 2.0]
    data.lang = "ja"
    assert set(baseline_scores(evaluate(data, scores={"x": [1, 2]}, resamples=0).task)) == {"(characters)", "(random)"}


def test_always_the_first():
    found = evaluate(pairs(), scores={"x": [1, 2, 3, 4, 5, 6]}, resamples=0)
    own = {line.metric: line.value for line in found.baselines}
    assert own[baselines.FIRST] == pytest.approx(2 / 3)
    assert own[baselines.WORDS] == 1.0
    settled = evaluate(pairs((0.0, 0.0, 0.0)), scores={"x": [1, 2, 3, 4, 5, 6]}, resamples=0)
    assert baselines.FIRST not in {line.metric for line in settled.baselines}


def test_place_of_a_passage_in_its_text():
    assert place_scores(["t", "t", "u", "t", "u"]).tolist() == [0, -1, 0, -2, -1]


def test_agreement_by_length_and_kind():
    data = rated()
    data.kinds = ["object" if row % 3 else "number" for row in range(len(data))]
    found = evaluate(data, ["rouge-l"], resamples=0)
    lengths = np.array([len(text.split()) for text in data.candidates])
    table = by_length(found)
    short = lengths <= np.quantile(lengths, 1 / 3)
    assert table.columns[1] == f"1-{lengths[short].max()} words ({short.sum()})"
    expected = correlation("tau-c", found.scores["rouge-l"][short], found.task.judgement[short])
    assert table.rows[0][1].value == pytest.approx(expected)
    kinds = by_kind(found)
    assert kinds.columns == ["metric", "object (160)", "number (80)"]
    assert by_system(found) is None
    assert len(detail_tables(found)) == 2


def test_agreement_at_the_level_of_systems():
    systems = [f"s{row % 4}" for row in range(240)]
    found = evaluate(
        rated(systems=systems), scores={"judge": rated().ratings[:, 0], "rows": np.arange(240)}, resamples=50
    )
    table = by_system(found)
    assert table.rows[0][1].value == pytest.approx(1.0)
    assert "4 systems" in table.notes[0]
    means = [[values[k::4].mean() for k in range(4)] for values in (np.arange(240.0), found.task.judgement)]
    assert table.rows[1][1].value == pytest.approx(np.corrcoef(*means)[0, 1])


def test_systems_that_fight():
    data = pairs()
    data.systems = [("one", "two"), ("one", "three"), ("three", "two")]
    found = evaluate(data, scores={"people": [1, 1, 0, 0, 0, 1], "other": [0, 0, 1, 1, 1, 0]}, resamples=0)
    table = by_system(found)
    assert table.rows[0][1].value == pytest.approx(1.0)  # one wins twice, two once, three never
    assert table.rows[1][1].value == pytest.approx(-1.0)


def test_metrics_that_say_the_same():
    base = np.random.default_rng(0).normal(0, 1, 240)
    given = {"one": base, "two": np.exp(base), "other": np.random.default_rng(1).normal(0, 1, 240)}
    found = evaluate(rated(), scores=given, resamples=0)
    names, matrix = metric_correlations(found)
    assert matrix[names.index("one"), names.index("two")] == pytest.approx(1.0)
    table = same_table(found)
    assert [row[:2] for row in table.rows] == [("one", "two")]
    assert "1 of 3 pairs" in table.notes[0]
    assert largest([found, evaluate(rated(40), scores={"x": np.arange(40)}, resamples=0)]) is found


def test_ranks_come_with_their_interval():
    data = rated()
    generator = np.random.default_rng(2)
    human = data.ratings[:, 0]
    given = {"a": human + generator.normal(0, 0.1, 240), "b": human + generator.normal(0, 3, 240)}
    given["c"] = given["b"] + generator.normal(0, 0.2, 240)
    found = evaluate(data, scores=given, resamples=200)
    placed = ranks(found)
    assert placed["a"] == (1, 1, 1)
    assert {placed["b"][0], placed["c"][0]} == {2, 3}
    assert placed["b"][1:] == (2, 3)
    table = overview([found], {"a": 0.5})
    assert table.rows[0][:2] == ("a", 1.0)
    assert table.rows[0][-2:] == ("0.5", None)
    assert "; 1" in table.rows[0][2]


def test_what_was_trained_on_what(tmp_path):
    settings = Settings(images=tmp_path)
    rouge, lm, faier, vse = metrics_of("rouge-l,lm,faier,vse")
    assert parts_of(rouge, settings) == {}
    assert list(parts_of(lm, settings)) == ["lm"]
    assert seen(lm, "human-machine", settings) == ["lm"]
    assert seen(lm, "flickr8k-expert", settings) == []
    assert "faier" in parts_of(faier, settings)
    assert {"vse", "encoder", "backbone"} <= set(seen(vse, "flickr8k-expert", settings))
    assert seen(vse, "pascal50s", settings) == []
    assert "faier" in seen(faier, "flickr8k-expert", settings)
    assert {source for own in TRAININGS.values() for source in own.sources} >= {
        source for sources in SOURCES.values() for source in sources
    }


@pytest.mark.parametrize(
    ("metric", "part"),
    [("vse", "vse"), ("tiger", "scan"), ("faier-plus", "faier_plus"), ("fidelity", "verdict"), ("sentence", "encoder")],
)
def test_what_was_tuned_on_peoples_ratings_says_so(metric, part, tmp_path):
    settings = Settings(images=tmp_path)
    (made,) = metrics_of(metric)
    found = parts_of(made, settings)
    assert "cxc" in found[part].sources
    assert "Crisscrossed Captions" in found[part].what
    assert part in seen(made, "cxc-sits", settings)
    assert metric in ("fidelity", "sentence") or {"backbone", "encoder"} <= set(found)


def test_a_model_says_itself_what_it_was_trained_on(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "meta.json").write_text(json.dumps({"name": "mine", "trained_on": ["flickr8k-train", "vg-train"]}))
    (mine,) = metrics_of([f"vse:model={folder}"])
    own = parts_of(mine, Settings(images=tmp_path))
    assert own[str(folder)].sources == ("flickr8k", "vg")
    (folder / "meta.json").write_text(json.dumps({"name": "mine"}))
    assert str(folder) in seen(mine, "pascal50s", Settings(images=tmp_path))  # nobody wrote it down


def test_the_page_of_trainings_names_the_readers():
    found = evaluate(rated(), ["rouge-l", "lm"], resamples=0)
    assert trainings([found]) == ["lm, read by lm: COCO training captions (meta.json of vericap/data/lm)."]


def test_cost_is_processor_time_for_a_thousand_captions():
    samples = evaluate(rated(), ["rouge-l"], resamples=0).task.samples(0)
    rouge, meteor, vse = metrics_of("rouge-l,meteor,vse")
    costs = [min(processor_seconds(metric, samples, Settings()) for _ in range(3)) for metric in (rouge, meteor)]
    assert 0 < costs[0] < costs[1]
    assert processor_seconds(vse, samples, Settings()) is None  # no photos: the table says so
