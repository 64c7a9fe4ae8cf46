"""The engine: each text once, shards change nothing, every undefined row has a reason."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vericap.core.analysis import Analysis
from vericap.core.batch import Batch, UndeclaredAnalysis
from vericap.core.errors import UnknownName, VericapError
from vericap.core.metric import Metric, Option
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.core.statistics import Statistics
from vericap.metrics.registry import make, resolve, split
from vericap.run import plan
from vericap.run.analyses import NGrams, Tokens
from vericap.run.engine import Run
from vericap.run.results import Result

WORDS = ("a", "dog", "cat", "runs", "sleeps", "on", "grass", "red")
captions = st.lists(st.sampled_from(WORDS), max_size=7).map(" ".join)
corpora = st.lists(st.tuples(captions, st.lists(captions, min_size=1, max_size=3)), min_size=1, max_size=12)


def score_batch(samples, metrics, settings=None, **options) -> Result:
    return Run(resolve(metrics), settings).score(list(samples), **options)


def samples(rows) -> list[Sample]:
    return [Sample(str(i), candidate, tuple(references)) for i, (candidate, references) in enumerate(rows)]


def test_batch_keeps_each_text_and_image_once() -> None:
    batch = Batch.of(
        [
            Sample("1", "a dog", ("a dog", "x"), "i.jpg"),
            Sample("2", "x", ("a dog",), "i.jpg"),
            Sample("3", "x"),
        ]
    )
    assert batch.texts == ["a dog", "x"]
    assert batch.image_keys == ["i.jpg"]
    assert batch.images.tolist() == [0, 0, -1]
    assert batch.reference_texts(0) == ["a dog", "x"]
    assert batch.reference_summary() == "0-2"
    assert batch.sample(1) == Sample("2", "x", ("a dog",), "i.jpg")


@settings(max_examples=25, deadline=None)
@given(corpora)
def test_shards_change_nothing(rows) -> None:
    metrics = "bleu,rouge-l,cider-d,cider"
    whole = score_batch(samples(rows), metrics)
    before = plan.BUDGET, plan.KEPT
    for kept in (before[1], 0):  # the corpus is looked at twice: with analyses held in between, and without
        plan.BUDGET, plan.KEPT = 5_000, kept
        try:
            parts = score_batch(samples(rows), metrics)
        finally:
            plan.BUDGET, plan.KEPT = before
        for name in whole.metrics:
            np.testing.assert_allclose(parts[name], whole[name], rtol=0, atol=1e-12)
            assert parts.corpus[name].value == pytest.approx(whole.corpus[name].value, abs=1e-12)


@settings(max_examples=25, deadline=None)
@given(corpora, corpora)
def test_systems_scored_together_score_as_alone(rows, others) -> None:
    metrics = "bleu,rouge-l,cider-d,mean(bleu-4,cider-d)"
    systems = {"one": samples(rows), "two": samples(others)}
    found = Run(resolve(metrics)).score_parts(systems)
    for name, own in systems.items():
        alone = score_batch(own, metrics)
        assert found[name].ids == alone.ids
        for metric in alone.metrics:
            np.testing.assert_allclose(found[name][metric], alone[metric], rtol=0, atol=1e-12)
            assert found[name].corpus[metric].signature == alone.corpus[metric].signature


def test_parts_keep_their_own_order() -> None:
    """Systems may list their captions in any order, and an id may occur twice."""
    one = [Sample("1", "a dog", ("a dog",)), Sample("2", "a cat", ("a dog",))]
    two = [Sample("2", "a cat", ("a dog",)), Sample("1", "a dog", ("a dog",)), Sample("2", "a dog", ("a dog",))]
    found = Run(resolve("bleu-1,cider-d:df=coco-val")).score_parts({"one": one, "two": two})
    assert found["two"].ids == ["2", "1", "2"]
    np.testing.assert_allclose(found["two"]["bleu-1"], [0.5, 1.0, 1.0], atol=1e-6)
    assert found["two"]["cider-d:df=coco-val"].argmin() == 0


class PerImage(Analysis[int]):
    index = "image"
    cost = 100

    def compute(self, batch, runtime):
        return len(batch.image_keys)


class Seeing(Metric):
    name, needs = "seeing", ()

    def requires(self, settings):
        return (PerImage(),)

    def statistics(self, batch, state=None):
        return Statistics(np.full(len(batch), batch[PerImage()]))


def test_what_is_costly_decides_how_much_goes_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "BUDGET", 200)
    given = [Sample(str(n), "a dog", ("a",), image) for n, image in enumerate("aabccccd")]
    result = score_batch(given, [Seeing()])
    np.testing.assert_array_equal(result["seeing"], [2, 2, 2, 2, 2, 2, 2, 2])  # images in each sample's shard
    assert [list(span) for span in plan.Plan((Seeing(),), Settings()).shards(Batch.of(given))] == [
        [0, 1, 2], [3, 4, 5, 6, 7],
    ]  # fmt: skip


class Nosy(Metric):
    name, needs = "nosy", ()

    def requires(self, settings):
        return (NGrams(),)

    def statistics(self, batch, state=None):
        return Statistics(np.array([len(batch[Tokens()][i]) for i in batch.candidates]))


def test_reading_what_is_not_declared_fails() -> None:
    with pytest.raises(UndeclaredAnalysis, match="metric 'nosy' reads Tokens"):
        score_batch([Sample("1", "x")], [Nosy()])


def test_records_that_cannot_be_read_keep_their_place() -> None:
    given = [Sample("1", "a dog", ("a dog",)), Sample("2", "", problem="the candidate is missing")]
    result = score_batch([given[1], given[0]], "rouge-l,chair:objects=references")
    assert np.isnan(result["rouge-l"][0])
    assert result["rouge-l"][1] == pytest.approx(1.0)
    assert [str(problem) for problem in result.problems] == ["2: the candidate is missing"]
    with pytest.raises(VericapError, match="nothing to score: the candidate is missing"):
        score_batch(given[1:], "rouge-l")


@settings(max_examples=25, deadline=None)
@given(corpora, st.randoms())
def test_order_of_references_changes_nothing(rows, random) -> None:
    shuffled = [(c, random.sample(r, len(r))) for c, r in rows]
    one, two = (score_batch(samples(r), "bleu,rouge-l,cider-d,cider") for r in (rows, shuffled))
    for name in one.metrics:
        np.testing.assert_allclose(one[name], two[name], rtol=0, atol=1e-12)


def test_sample_without_references_is_reported_and_the_rest_scored() -> None:
    result = score_batch([Sample("1", "a dog", ("a dog",)), Sample("2", "a cat")], "rouge-l")
    assert result.corpus["rouge-l"].value == pytest.approx(1.0)
    assert result.corpus["rouge-l"].count == 1
    assert [problem.record for problem in result.problems] == ["2"]
    assert next(r for r in result.records() if r["id"] == "2")["rouge-l"] is None


def test_metric_that_needs_what_is_nowhere_is_refused_before_work() -> None:
    with pytest.raises(VericapError, match="needs references"):
        score_batch([Sample("1", "a dog")], "bleu-4")
    with pytest.raises(VericapError, match="nothing to score"):
        score_batch([], "bleu-4")


class Undefined(Metric):
    name = "undefined"
    needs = ()

    def statistics(self, batch, state=None):
        return Statistics(np.full(len(batch), np.nan))


def test_undefined_is_never_without_a_reason() -> None:
    result = score_batch([Sample("1", "x")], [Undefined()])
    score = result.corpus["undefined"]
    assert score.value is None
    assert score.reason
    assert result.problems


def test_cider_warns_on_one_image() -> None:
    result = score_batch([Sample("1", "a dog", ("a dog",))], "cider-d")
    assert result.corpus["cider-d"].value == 0
    assert any("idf" in text or "document freq" in text for text in result.warnings)


def test_intervals_hold_the_value() -> None:
    rows = [("a dog runs", ["a dog runs"]), ("a cat", ["a red cat sleeps"]), ("on grass", ["a dog"])] * 5
    result = score_batch(samples(rows), "rouge-l,bleu-2", confidence=True, resamples=200)
    for score in result.corpus.values():
        low, high = score.interval
        assert low <= score.value <= high


def test_names_options_and_suggestions() -> None:
    assert [m.label for m in resolve("bleu,rouge-l:beta=1,bleu-4")] == [
        "bleu-1", "bleu-2", "bleu-3", "bleu-4", "rouge-l:beta=1",
    ]  # fmt: skip
    assert split("mean(a,b),c") == ["mean(a,b)", "c"]
    with pytest.raises(UnknownName, match="did you mean rouge-l"):
        make("rouge-k")
    with pytest.raises(UnknownName, match="no option 'betta'; its options: beta"):
        make("rouge-l:betta=1")
    with pytest.raises(VericapError, match="not a valid float"):
        make("rouge-l:beta=much")
    with pytest.raises(VericapError, match="is not option=value"):
        make("rouge-l:beta")
    with pytest.raises(VericapError, match="no metric was named"):
        resolve("")


def test_option_types() -> None:
    flag = Option(True, "a switch")
    assert flag.parse("no", metric="m", name="f") is False
    with pytest.raises(VericapError, match="not one of a, b"):
        Option("a", "choice", ("a", "b")).parse("c", metric="m", name="o")


def test_signature_names_every_choice() -> None:
    result = score_batch([Sample("1", "a", ("a",))], "rouge-l:beta=1", Settings(tokenizer="none"))
    signature = result.corpus["rouge-l:beta=1"].signature
    for part in ("metric:rouge-l", "beta:1.0", "tok:none", "refs:1", "version:"):
        assert part in signature
