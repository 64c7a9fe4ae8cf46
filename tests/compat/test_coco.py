"""The COCO tool's shapes give the engine's numbers."""

from __future__ import annotations

import pytest

import vericap
from vericap.compat.coco import Bleu, Cider, COCOEvalCap, Meteor, PTBTokenizer, Rouge
from vericap.core.errors import InputError

GTS = {7: [{"caption": "A dog runs."}, {"caption": "The dog, running!"}], 9: [{"caption": "Two cats"}]}
RES = {7: [{"caption": "A dog is running."}], 9: [{"caption": "Two cats sleep"}]}
TITLES = {"bleu-4": "Bleu_4", "meteor": "METEOR", "rouge-l": "ROUGE_L", "cider-d": "CIDEr"}


def plain(found):
    return {key: [item["caption"] for item in items] for key, items in found.items()}


def test_scorers_on_tokenised_captions_equal_the_engine_on_raw_ones() -> None:
    tokenizer = PTBTokenizer()
    gts, res = tokenizer.tokenize(GTS), tokenizer.tokenize(RES)
    assert res == {7: ["a dog is running"], 9: ["two cats sleep"]}
    whole = vericap.score(plain(RES), plain(GTS), metrics="coco")
    values, scores = Bleu(4).compute_score(gts, res)
    assert values[3] == pytest.approx(whole.corpus["bleu-4"].value, abs=1e-12)
    assert scores[1] == pytest.approx(whole["bleu-2"].tolist(), abs=1e-12)
    for scorer, name in ((Rouge(), "rouge-l"), (Cider(), "cider-d"), (Meteor(), "meteor")):
        value, per_image = scorer.compute_score(gts, res)
        assert value == pytest.approx(whole.corpus[name].value, abs=1e-12)
        assert list(per_image) == pytest.approx(whole[name].tolist(), abs=1e-12)


def test_evaluation_class(capsys) -> None:
    evaluation = COCOEvalCap(GTS, RES, metrics=list(TITLES))
    evaluation.evaluate()
    whole = vericap.score(plain(RES), plain(GTS), metrics=list(TITLES))
    assert evaluation.eval == {TITLES[n]: pytest.approx(s.value) for n, s in whole.corpus.items()}
    assert evaluation.imgToEval[9]["image_id"] == 9
    assert len(evaluation.evalImgs) == 2
    assert "CIDEr" in capsys.readouterr().out


def test_mistakes() -> None:
    with pytest.raises(InputError, match="2 candidates"):
        Rouge().compute_score({1: ["a"]}, {1: ["a", "b"]})
    with pytest.raises(InputError, match="no reference"):
        Rouge().compute_score({}, {1: ["a"]})


def test_a_result_without_references_is_named() -> None:
    """The usual script evaluates the images of the results, whatever has references."""
    evaluation = COCOEvalCap(GTS, {**RES, 11: [{"caption": "A bus"}]})
    evaluation.params["image_id"] = [7, 9, 11]
    with pytest.raises(InputError, match=r"image 11 has a candidate .* no reference"):
        evaluation.evaluate()
