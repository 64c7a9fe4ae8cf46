"""Comparisons: stars by adjusted p, the protocol in every form of output, and the gate."""

from __future__ import annotations

import csv
import io
import json
import time

import numpy as np
import pytest

import vericap
from vericap.core.errors import VericapError
from vericap.core.metric import Metric
from vericap.core.score import Score
from vericap.core.statistics import Statistics
from vericap.run import compare as module
from vericap.run import gate
from vericap.run.compare import compare_results, compare_samples
from vericap.run.engine import Run
from vericap.run.results import Result
from vericap.run.significance import RESAMPLES, aggregate


class Made(Metric):
    """A metric whose statistics are given."""

    name = "made"

    def statistics(self, batch, state=None):  # pragma: no cover - statistics are given
        return Statistics(np.zeros((len(batch), 1)))


class Wrong(Made):
    name, direction = "wrong", "lower"


def result(**columns) -> Result:
    """The result of a system from values by metric; `wrong` is a metric for which lower is better."""
    metrics = {name: (Wrong if name.startswith("wrong") else Made)(label=name) for name in columns}
    values = {name: np.asarray(own, dtype=float)[:, None] for name, own in columns.items()}
    found = Result([str(row) for row in range(len(next(iter(values.values()))))], metrics, {})
    for name, own in values.items():
        value = aggregate(metrics[name], own)
        shown = None if value != value else value
        found.statistics[name] = Statistics(own)
        found.corpus[name] = Score(name, shown, "signature", int((~np.isnan(own)).sum()), metrics[name].direction)
    return found


def systems(shift: float, *, count: int = 100, metrics: int = 1, seed: int = 0) -> dict[str, Result]:
    """Two systems; the second is better by `shift` standard deviations in every metric."""
    rng = np.random.default_rng(seed)
    old = {f"m{k}": rng.normal(size=count) for k in range(metrics)}
    new = {name: own + rng.normal(shift, 1.0, size=count) for name, own in old.items()}
    return {"old": result(**old), "new": result(**new)}


@pytest.mark.parametrize("test", ["bootstrap", "randomisation"])
def test_stars_follow_holm_over_metrics_and_systems(test: str) -> None:
    found = compare_results(systems(0.24, metrics=12), test=test)
    assert len(found.adjusted) == 12
    assert all(found.adjusted[pair] >= p for pair, p in found.p_values.items())
    alone = sum(p < 0.05 for p in found.p_values.values())
    stars = found.table().text().count("*") - 1  # one is in the note
    assert stars == sum(found.starred("new", metric) for metric in found.metrics)
    assert stars < alone


@pytest.mark.parametrize("details", [False, True])
@pytest.mark.parametrize("kind", ["text", "markdown", "latex", "csv", "json"])
def test_every_form_tells_test_resamples_adjustment_and_captions(kind: str, details: bool) -> None:
    found = compare_results(systems(1.0, metrics=2), resamples=3000)
    text = found.render(kind, details=details)
    for told in ("paired bootstrap", "3000", "Holm over 2 tests", "100"):
        assert told in text
    assert "0.0000" not in text


def test_small_p_values_have_a_bound() -> None:
    found = compare_results(systems(3.0), resamples=20_000)
    assert "<0.0001" in found.details().text()
    rows = json.loads(found.render("json"))["rows"]
    assert rows[1]["p"] == pytest.approx(1 / 20_001)
    assert rows[1]["adjusted p"] == rows[1]["p"]
    table = list(csv.DictReader(io.StringIO(found.render("csv", details=True))))
    assert float(table[1]["p"]) > 0
    assert table[1]["adjustment"] == "Holm over 1 tests"


def test_more_draws_are_taken_where_a_star_would_hang_on_them() -> None:
    clear = compare_results(systems(3.0))
    assert clear.resamples == RESAMPLES
    near = next(
        two
        for seed in range(500)
        if abs((two := compare_results(systems(0.2, seed=seed), resamples=2000)).p_values["new", "m0"] - 0.05) < 0.003
    )
    assert near.undecided() == [("new", "m0")]
    assert "another seed may decide otherwise" in near.table().text()
    again = compare_results(near.results)
    assert again.resamples == module.MORE or not again.undecided()


def test_equal_systems_do_not_differ() -> None:
    same = systems(0.0)["old"]
    found = compare_results({"a": same, "b": same})
    assert found.p_values["b", "m0"] == 1.0
    assert not found.starred("b", "m0")


def test_an_undefined_metric_has_no_test_and_leaves_the_others_alone() -> None:
    one = result(good=np.arange(30.0), empty=np.full(30, np.nan))
    two = result(good=np.arange(30.0) + 1, empty=np.full(30, np.nan))
    found = compare_results({"one": one, "two": two}, resamples=500)
    assert list(found.p_values) == [("two", "good")]
    assert "undefined" in found.table().text()
    assert json.loads(found.render("json"))["rows"][1]["value"] is None


@pytest.mark.parametrize(("argument", "message"), [({"test": "t"}, "test=t"), ({"level": 1.5}, "level=1.5")])
def test_what_cannot_be_meant_is_refused(argument, message: str) -> None:
    with pytest.raises(VericapError, match=message):
        compare_results(systems(0.0), **argument)


def test_the_diagnosis_comes_with_the_comparison() -> None:
    captions = [f"a dog number {i} runs" for i in range(4)]
    found = vericap.compare(
        {"plain": captions, "thinking": [f"<think>hm</think>{text}" for text in captions]},
        [[f"the dog {i} is running"] for i in range(4)],
        "rouge-l",
        resamples=100,
    )
    assert found.diagnosis["plain"] == []
    assert [one.name for one in found.diagnosis["thinking"]] == ["thinking"]
    assert json.loads(found.render("json"))["diagnosis"]["thinking"][0]["share"] == 1.0


# --- the four published systems ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def karpathy(data_dir):
    from vericap.core.samples import Sample
    from vericap.core.settings import Settings
    from vericap.metrics.registry import resolve

    folder = data_dir / "coco"
    if not (folder / "karpathy_test_references.json").is_file():
        pytest.skip(f"the Karpathy test split is not in {folder}")
    references = json.loads((folder / "karpathy_test_references.json").read_text("utf-8"))
    chosen = list(references)[:500]
    parts = {}
    for name in ("m2_transformer", "blip2", "llava15_brief", "llava15_default"):
        rows = json.loads((folder / f"karpathy_test_{name}.json").read_text("utf-8"))
        captions = {str(row["image_id"]): row["caption"] for row in rows}
        parts[name] = [Sample(key, captions[key], tuple(references[key])) for key in chosen]
    return parts, Run(resolve("coco"), Settings(cache="off"))


def test_stars_do_not_depend_on_the_seed(karpathy) -> None:
    parts, run = karpathy
    results = run.score_parts(parts)
    for test in ("bootstrap", "randomisation"):
        stars = set()
        for seed in range(10):
            found = compare_results(results, test=test, seed=seed)
            stars.add(tuple(found.starred(*pair) for pair in found.p_values))
        assert len(stars) == 1


def test_the_test_is_quick(karpathy) -> None:
    parts, run = karpathy
    results = run.score_parts(parts)
    start = time.process_time()
    compare_results(results, resamples=RESAMPLES)
    assert time.process_time() - start < 1.5  # about 0.2 s alone


# --- gate -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "metric", "amount"),
    [
        ("cider-d drops", "cider-d", 0.0),
        ("  cider-d   drops 0.02 ", "cider-d", 0.02),
        ("cider-d drops by .5", "cider-d", 0.5),
        ("mean(bleu-4, cider-d) drops 1", "mean(bleu-4, cider-d)", 1.0),
    ],
)
def test_conditions_are_read(text: str, metric: str, amount: float) -> None:
    assert gate.parse(text, ["cider-d", "mean(bleu-4, cider-d)"]) == gate.Condition(metric, amount)


@pytest.mark.parametrize(
    "text",
    ["", "cider-d", "drops", "cider-d falls", "cider-d drops -1", "cider-d drops 0.1 0.2", "bleu-4 drops",
     "cider-d drops __import__('os')", "cider-d drops 1e400x"],
)  # fmt: skip
def test_other_sentences_are_refused_with_what_is_possible(text: str) -> None:
    with pytest.raises(VericapError, match="cider-d"):
        gate.parse(text, ["cider-d"])


def judged(found, *texts: str) -> list[bool]:
    return [verdict.failed for verdict in gate.judge(found, [gate.parse(text, found.metrics) for text in texts])]


def test_the_gate_looks_at_direction_amount_and_significance() -> None:
    rng = np.random.default_rng(0)
    noise = rng.normal(size=200) * 0.1
    old = result(good=noise, wrong=noise, same=noise)
    new = result(good=noise - 0.1, wrong=noise + 0.1, same=noise + rng.normal(size=200) * 0.01)
    worse = compare_results({"old": old, "new": new}, resamples=2000)
    assert judged(worse, "good drops", "wrong drops", "same drops") == [True, True, False]
    assert judged(worse, "good drops 0.09", "good drops 0.11", "wrong drops 0.2") == [True, False, False]
    better = compare_results({"new": new, "old": old}, resamples=2000)
    assert judged(better, "good drops", "wrong drops") == [False, False]


def test_the_gate_counts_only_the_tests_it_names() -> None:
    found = compare_results(systems(-0.3, metrics=12))
    tested = gate.judge(found, [gate.Condition("m0")])[0].measured[0]
    assert tested.adjusted == tested.p == found.p_values["new", "m0"]
    both = gate.judge(found, [gate.Condition("m0"), gate.Condition("m0", 9.0)])
    assert both[1].measured[0].adjusted == tested.p  # the same test twice is one


def test_a_score_that_is_undefined_fails_the_gate() -> None:
    gone = result(good=np.full(30, np.nan))
    found = compare_results({"old": result(good=np.arange(30.0)), "new": gone}, resamples=100)
    verdict = gate.judge(found, [gate.Condition("good")])[0]
    assert verdict.failed
    assert "no score" in str(verdict)
    assert json.dumps(verdict.as_dict(), allow_nan=False)


def test_a_verdict_tells_its_numbers() -> None:
    found = compare_results(systems(-1.0), resamples=20_000)
    text = str(gate.judge(found, [gate.Condition("m0", 0.5)])[0])
    assert text.startswith("failed: m0 drops by more than 0.5: new is worse by ")
    assert "adjusted p <0.0001" in text


def test_systems_are_scored_on_what_they_share() -> None:
    from vericap.core.samples import Sample
    from vericap.metrics.registry import resolve

    parts = {
        "long": [Sample(str(i), "a dog", ("a dog",)) for i in range(5)],
        "short": [Sample(str(i), "a dog", ("a dog",)) for i in range(3)],
    }
    found = compare_samples(parts, Run(resolve("rouge-l")), resamples=50)
    assert found.captions == 3
    assert "long has 5 captions" in found.table().text()
