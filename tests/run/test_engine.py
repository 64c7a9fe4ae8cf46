"""The engine: each text once, shards change nothing, every undefined row has a reason."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vericap.errors import UnknownName, VericapError
from vericap.metrics.base import Metric, Option, Statistics
from vericap.metrics.registry import make, resolve, split
from vericap.run import engine
from vericap.run.batch import Batch, Settings
from vericap.run.engine import score_batch
from vericap.samples import Sample

WORDS = ("a", "dog", "cat", "runs", "sleeps", "on", "grass", "red")
captions = st.lists(st.sampled_from(WORDS), max_size=7).map(" ".join)
corpora = st.lists(st.tuples(captions, st.lists(captions, min_size=1, max_size=3)), min_size=1, max_size=12)


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
    before, engine.SHARD = engine.SHARD, 3
    try:
        parts = score_batch(samples(rows), metrics)
    finally:
        engine.SHARD = before
    for name in whole.metrics:
        np.testing.assert_allclose(parts[name], whole[name], rtol=0, atol=1e-12)
        assert parts.corpus[name].value == pytest.approx(whole.corpus[name].value, abs=1e-12)


def test_metrics_that_read_regions_see_few_samples_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: dict[str, list[int]] = {"seeing": [], "plain": []}

    class Counting(Metric):
        needs = ()

        def statistics(self, batch: Batch, state: object = None) -> Statistics:
            sizes[self.label].append(len(batch))
            return Statistics(np.arange(len(batch), dtype=float))

    class Seeing(Counting):
        name = "seeing"
        analyses = ("regions",)

    class Plain(Counting):
        name = "plain"

    monkeypatch.setattr(engine, "IMAGES", 2)
    given = [Sample(str(n), "a dog", ("a",), image) for n, image in enumerate("aabccccd")]
    result = score_batch(given, [Seeing(), Plain()])
    assert sizes == {"seeing": [3, 4, 1], "plain": [8]}  # two images at most, and twice as many samples
    assert list(result.metrics) == ["seeing", "plain"]
    np.testing.assert_array_equal(result["seeing"], [0, 1, 2, 0, 1, 2, 3, 0])


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
        make("rouge")
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
