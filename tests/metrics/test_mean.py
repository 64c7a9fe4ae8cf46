from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest

from vericap.core.batch import Batch
from vericap.core.errors import VericapError
from vericap.core.samples import Sample
from vericap.metrics.mean import Mean
from vericap.metrics.registry import make, resolve
from vericap.metrics.scales import known_scales
from vericap.run.engine import Run
from vericap.run.plan import analysed

SAMPLES = [
    Sample("1", "a dog runs on grass", ("a dog on the grass", "a brown dog"), objects={"dog": 1}),
    Sample("2", "a man rides a horse", ("a man on a horse",), objects={"horse": 1, "person": 1}),
    Sample("3", "a red bus", ("a bus on a street",), objects={"car": 1}),
]


def test_mean_of_captions_and_of_corpus_scores() -> None:
    result = Run(resolve("rouge-l,bleu-2,mean(rouge-l,bleu-2)")).score(SAMPLES, confidence=True, resamples=20)
    joined = result["mean(rouge-l,bleu-2)"]
    assert joined == pytest.approx((result["rouge-l"] + result["bleu-2"]) / 2)
    corpus = {name: float(score) for name, score in result.corpus.items()}
    # BLEU's corpus score comes from summed counts: the mean is of corpus scores, not of captions
    assert corpus["mean(rouge-l,bleu-2)"] == pytest.approx((corpus["rouge-l"] + corpus["bleu-2"]) / 2)


def test_metrics_with_a_state_and_options_inside() -> None:
    result = Run(resolve("vifidel:p=1,cider-d,mean(vifidel:p=1,cider-d)")).score(SAMPLES)
    joined = "mean(vifidel:p=1,cider-d)"
    assert result[joined] == pytest.approx((result["vifidel:p=1"] + result["cider-d"]) / 2)
    signature = result.corpus[joined].signature
    assert "metric:vifidel" in signature
    assert "metric:cider-d" in signature
    assert set(result.statistics[joined].columns) == {"vifidel:p=1", "cider-d"}


def test_a_row_one_part_cannot_judge_is_undefined_with_the_part_named() -> None:
    samples = [*SAMPLES, Sample("4", "a dog", ("a dog",))]
    result = Run(resolve("mean(vifidel,rouge-l)")).score(samples)
    assert np.isnan(result["mean(vifidel,rouge-l)"][3])
    assert any("vifidel" in problem.reason for problem in result.problems if problem.record == "4")


def test_states_of_shards_are_merged_part_by_part() -> None:
    metric = make("mean(cider-d,rouge-l)")

    def ready(samples: list[Sample]) -> Batch:
        batch = Batch.of(samples)
        return analysed(batch, *metric.requires(batch.settings))

    batch = ready(SAMPLES)
    whole = metric.prepare(batch)
    parts = [metric.prepare(ready(SAMPLES[:1])), metric.prepare(ready(SAMPLES[1:]))]
    one, two = (metric.captions(metric.statistics(batch, s).values) for s in (whole, metric.merge(parts)))
    assert one == pytest.approx(two)


def test_nested_means_and_needs() -> None:
    metric = make("mean(wmd,mean(rouge-l,vifidel))")
    assert set(metric.needs) == {"references", "objects"}
    assert metric.range == (0.0, 1.0)


def test_opposite_directions_are_refused() -> None:
    with pytest.raises(VericapError, match="lower is better"):
        Mean(["chair", "rouge-l"])


NORMAL = NormalDist()


def standing(metric: str, score: float, kind: int = 0) -> float:
    """Share of human captions below a score, from the shipped means and spreads, by Python's own normal curve."""
    scale = known_scales()[metric]
    return NORMAL.cdf((score - scale.means[kind]) / scale.spreads[kind])


def test_a_metric_without_bounds_brings_all_to_one_scale() -> None:
    """log-probabilities differ ten times as much as VIFIDEL's scores: their plain mean is the language model alone."""
    result = Run(resolve("vifidel,lm,mean(vifidel,lm)")).score(SAMPLES, confidence=True, resamples=20)
    joined = result["mean(vifidel,lm)"]
    wanted = [
        (standing("vifidel", vifidel, 1) + standing("lm", lm)) / 2
        for vifidel, lm in zip(result["vifidel"], result["lm"])
    ]
    assert joined == pytest.approx(wanted)
    assert float(result.corpus["mean(vifidel,lm)"]) == pytest.approx(np.mean(wanted))
    assert result.corpus["mean(vifidel,lm)"].signature.startswith("metric:mean|scale:coco-human-1|")
    assert make("mean(vifidel,lm)").range == (0.0, 1.0)
    assert result.statistics["mean(vifidel,lm)"].columns["lm"] == pytest.approx(result["lm"])


def test_scores_with_and_without_references_have_scales_of_their_own() -> None:
    bare = [Sample(s.id, s.candidate, (), objects=s.objects) for s in SAMPLES]
    result = Run(resolve("vifidel,lm,mean(vifidel,lm)")).score(bare)
    wanted = [
        (standing("vifidel", vifidel, 0) + standing("lm", lm)) / 2
        for vifidel, lm in zip(result["vifidel"], result["lm"])
    ]
    assert result["mean(vifidel,lm)"] == pytest.approx(wanted)


def test_both_parts_of_a_scaled_mean_move_it() -> None:
    objects = {"dog": 1, "frisbee": 1}
    good, untrue, broken = Run(resolve("mean(vifidel,lm)")).score(
        [
            Sample("good", "a dog catching a frisbee in the grass", objects=objects),
            Sample("untrue", "a man riding a wave on top of a surfboard", objects=objects),
            Sample("broken", "the frisbee dog grass a a in catching", objects=objects),
        ]
    )["mean(vifidel,lm)"]
    assert good > untrue + 0.1
    assert good > broken + 0.1


def test_a_part_whose_scale_is_not_known_is_refused() -> None:
    with pytest.raises(VericapError, match=r"lm has no bounds.*that of vse is not known"):
        make("mean(lm,vse)")
    alone = Run(resolve("lm,mean(lm)")).score(SAMPLES)
    assert alone["mean(lm)"] == pytest.approx(alone["lm"])


def test_reasons_of_the_parts_stand_together() -> None:
    (found,) = Run(resolve("mean(meteor,bleu-2)")).explain(SAMPLES[:1])["mean(meteor,bleu-2)"]
    assert found is not None
    assert [word.text for word in found.words] == ["a", "dog", "runs", "on", "grass"]
    assert set(found.facts) == {"meteor", "bleu-2"}
    assert found.matches
    assert Run(resolve("mean(meteor,bleu-2)")).score(SAMPLES, explain=True).explanations["mean(meteor,bleu-2)"]
