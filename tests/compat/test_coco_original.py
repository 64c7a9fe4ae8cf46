"""The COCO tool's shapes beside the COCO tool itself: types, order and numbers of what comes back.

Needs pycocoevalcap 1.2 and Java: pip install pycocoevalcap==1.2. SPICE of the original needs models it downloads; its
form (spice.py of the package: `scores[i][category]["f"]`) is checked below without it.
"""

from __future__ import annotations

import math
import shutil

import numpy as np
import pytest

from vericap.compat import coco as ours
from vericap.core.errors import InputError

CAPTIONS = {
    9: ("Two cats sleep, on a bed.", ["two cats are asleep on the bed", "cats (two) on a bed!"]),
    3: ("A dog runs on grass", ["A dog is running on the green grass.", "the dog runs"]),
    5: ("a red bus", ["a bus drives down the street", "a red double-decker bus", "bus"]),
}
GTS = {key: [{"caption": text, "image_id": key} for text in references] for key, (_, references) in CAPTIONS.items()}
RES = {key: [{"caption": text, "image_id": key}] for key, (text, _) in CAPTIONS.items()}


@pytest.fixture(scope="module")
def tokens() -> tuple[dict[int, list[str]], dict[int, list[str]]]:
    tokenizer = ours.PTBTokenizer()
    return tokenizer.tokenize(GTS), tokenizer.tokenize(RES)


@pytest.fixture
def original():
    if shutil.which("java") is None:
        pytest.skip("the COCO tool needs Java")
    return pytest.importorskip("pycocoevalcap.eval", reason="needs pycocoevalcap 1.2")


def same(found: object, wanted: object) -> None:
    """Equal in type, length, order and value, down to the last list."""
    if isinstance(wanted, list | np.ndarray):
        assert type(found) is type(wanted)
        assert len(found) == len(wanted)  # type: ignore[arg-type]
        for one, other in zip(found, wanted):  # type: ignore[call-overload]
            same(one, other)
    else:
        assert float(found) == pytest.approx(float(wanted), abs=1e-9)  # type: ignore[arg-type]


def test_tokens(original, tokens) -> None:
    theirs = original.PTBTokenizer()
    assert (theirs.tokenize(GTS), theirs.tokenize(RES)) == tokens


@pytest.mark.parametrize("name", ["Bleu", "Rouge", "Cider", pytest.param("Meteor", marks=pytest.mark.slow)])
def test_scorers(name: str, original, tokens) -> None:
    theirs, own = getattr(original, name)(), getattr(ours, name)()
    assert own.method() == theirs.method()
    for found, wanted in zip(own.compute_score(*tokens), theirs.compute_score(*tokens)):
        same(found, wanted)


@pytest.mark.slow
def test_evaluation(original, tokens, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    class Annotations:
        """What the tool reads of pycocotools' class."""

        def __init__(self, found: dict) -> None:
            self.imgToAnns = found

        def getImgIds(self) -> list[int]:
            return list(self.imgToAnns)

    class Left:
        """Stands where the original would download models; SPICE is left out of the comparison."""

        def method(self) -> str:
            return "SPICE"

        def compute_score(self, gts: dict, res: dict) -> tuple[float, list[float]]:
            return 0.0, [0.0] * len(gts)

    monkeypatch.setattr(original, "Spice", Left)
    theirs = original.COCOEvalCap(Annotations(GTS), Annotations(RES))
    theirs.evaluate()
    own = ours.COCOEvalCap(Annotations(GTS), Annotations(RES))
    own.evaluate()
    assert "CIDEr: " in capsys.readouterr().out
    assert own.params == theirs.params
    assert list(own.eval) == list(theirs.eval)
    assert list(own.imgToEval) == list(theirs.imgToEval)
    assert [item["image_id"] for item in own.evalImgs] == [item["image_id"] for item in theirs.evalImgs]
    for name in own.eval:
        if name != "SPICE":
            assert own.eval[name] == pytest.approx(theirs.eval[name], abs=1e-9)
            for key, item in own.imgToEval.items():
                assert item[name] == pytest.approx(theirs.imgToEval[key][name], abs=1e-9)


def test_spice_by_category(tokens, capsys: pytest.CaptureFixture[str]) -> None:
    value, scores = ours.Spice().compute_score(*tokens)
    assert value == pytest.approx(np.mean([one["All"]["f"] for one in scores]))
    assert list(scores[0]) == ["All", "Relation", "Cardinality", "Attribute", "Size", "Color", "Object"]
    assert all(list(one) == ["pr", "re", "f", "fn", "numImages", "fp", "tp"] for one in scores[0].values())
    dog, bus, cats = scores  # sorted ids: 3, 5, 9
    assert dog["Color"] == {"pr": 0.0, "re": 0.0, "f": 0.0, "fn": 1.0, "numImages": 1.0, "fp": 0.0, "tp": 0.0}
    assert bus["Color"]["f"] == 1.0
    assert cats["Cardinality"]["tp"] == 1.0
    assert math.isnan(cats["Size"]["f"])
    for one in scores:
        every = one["All"]
        assert every["pr"] == pytest.approx(every["tp"] / (every["tp"] + every["fp"]))
        assert every["re"] == pytest.approx(every["tp"] / (every["tp"] + every["fn"]))
    evaluation = ours.COCOEvalCap(GTS, RES, metrics=["SPICE", "CIDEr"])
    evaluation.evaluate()
    assert evaluation.imgToEval[3]["SPICE"]["All"]["f"] == pytest.approx(dog["All"]["f"])
    assert list(evaluation.eval) == ["SPICE", "CIDEr"]


def test_cider_takes_the_originals_arguments_and_frequencies(tokens) -> None:
    corpus, coco = (
        ours.Cider(n=4, sigma=6.0).compute_score(*tokens),
        ours.Cider(n=4, df="coco-val").compute_score(*tokens),
    )
    assert corpus[0] != coco[0]
    assert ours.Cider(None, None, 4, 6.0).compute_score(*tokens)[0] == corpus[0]
    with pytest.raises(InputError, match="n=4"):
        ours.Cider(n=2)
    with pytest.raises(InputError, match="vericap df"):
        ours.Cider(df="coco-train-idxs.p")
