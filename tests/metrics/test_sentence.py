from __future__ import annotations

import numpy as np
import pytest

from vericap.errors import VericapError
from vericap.metrics.registry import make
from vericap.run.batch import Batch, Settings
from vericap.run.engine import score_batch
from vericap.samples import Sample
from vericap.text.encoder import Encoder

REFERENCES = ("a dog runs across the grass", "two people ride bicycles on a road")
SAMPLES = [
    Sample("same", REFERENCES[0], (REFERENCES[0],)),
    Sample("near", "a puppy is running on a lawn", REFERENCES),
    Sample("far", "a plate of food on a table", REFERENCES),
    Sample("alone", "a plate of food on a table"),
    Sample("empty", " ", REFERENCES),
]


def test_scores_follow_meaning_and_are_cosines_of_the_encoder() -> None:
    result = score_batch(SAMPLES, "sentence,sentence:pool=best")
    mean, best = result["sentence"], result["sentence:pool=best"]
    assert mean[0] == pytest.approx(1.0, abs=1e-5)
    assert best[1] > best[2] + 0.3
    vectors = Encoder().encode([SAMPLES[1].candidate, *REFERENCES])
    cosines = vectors[1:] @ vectors[0]
    assert mean[1] == pytest.approx(cosines.mean(), abs=1e-5)
    assert best[1] == pytest.approx(cosines.max(), abs=1e-5)
    assert np.isnan(mean[3])
    assert mean[4] == 0.0
    reasons = {SAMPLES[row].id: why for row, why in result.statistics["sentence"].problems.items()}
    assert "no reference" in reasons["alone"]
    assert "empty" in reasons["empty"]
    assert "gte-small" in result.corpus["sentence"].signature


def test_order_of_references_and_samples_does_not_matter() -> None:
    metric = make("sentence")
    forward = metric.statistics(Batch.of(SAMPLES[:3])).values
    turned = [Sample(s.id, s.candidate, s.references[::-1]) for s in SAMPLES[:3]][::-1]
    assert metric.statistics(Batch.of(turned)).values[::-1] == pytest.approx(forward, abs=1e-6)


def test_japanese_uses_its_own_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys
    import types

    module = types.ModuleType("vericap.text.japanese")
    module.encode = lambda texts: np.array([[len(t), 1.0] for t in texts])  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "vericap.text.japanese", module)
    batch = Batch.of([Sample("1", "犬", ("犬が走る",))], Settings(lang="ja"))
    wanted = (1 * 4 + 1) / (np.sqrt(2) * np.sqrt(17))
    assert make("sentence").statistics(batch).values[0, 0] == pytest.approx(wanted)


def test_other_languages_are_refused() -> None:
    batch = Batch.of([Sample("1", "ein Hund", ("Hund",))], Settings(lang="de"))
    with pytest.raises(VericapError, match="de"):
        make("sentence").statistics(batch)
