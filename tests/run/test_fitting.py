"""Sets of metrics are taken as far as the input allows; what is named by itself is refused where it lacks its needs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import vericap
from vericap.cli import main
from vericap.core.errors import VericapError, VericapWarning
from vericap.core.shipped import ROOT

COFFEE = str(ROOT / "demo" / "photos" / "coffee.jpg")
FAMILY = ["fidelity", "adequacy", "fluency", "verdict"]
COMPARED = ["cider-d", "spice"]


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """Captions without references."""
    file = tmp_path / "bare.jsonl"
    file.write_text("".join(json.dumps({"id": n, "candidate": "A cup", "image": COFFEE}) + "\n" for n in range(8)))
    return file


@pytest.mark.parametrize("pieces", [[], ["--shard-records", "2"]])
def test_a_set_is_scored_without_what_needs_references(
    bare: Path, pieces: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    output = bare.with_name("scores.jsonl")
    assert main(["score", str(bare), "-m", "recommended", "--cache", "off", "--output", str(output), *pieces]) == 0
    assert "note: left out of the set recommended: cider-d, spice (no references)" in capsys.readouterr().err
    row = json.loads(output.read_text("utf-8").splitlines()[0])
    assert set(FAMILY) <= set(row)
    assert not set(COMPARED) & set(row)


def test_a_metric_named_by_itself_is_refused(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for names in ("cider-d", "recommended,cider-d", "cider-d,recommended", "coco"):
        assert main(["score", str(bare), "-m", names, "--cache", "off"]) == 2
        assert "needs references" in capsys.readouterr().err


def test_python_takes_sets_as_far_too() -> None:
    with pytest.warns(VericapWarning, match=r"left out of the set recommended: cider-d, spice \(no references\)"):
        found = vericap.score(["A cup"], metrics="recommended", image_names=[COFFEE], cache="off")
    assert list(found.corpus) == [*FAMILY, "chair"]
    with pytest.warns(VericapWarning, match=r"fidelity, adequacy, verdict, chair \(no images\)"):
        found = vericap.score(["A cup", "A red cup"], [["A cup"], ["A cup"]], metrics="recommended", cache="off")
    assert list(found.corpus) == ["fluency", *COMPARED]
    with pytest.raises(VericapError, match="needs references"):
        vericap.score(["A cup"], metrics="recommended,spice", image_names=[COFFEE], cache="off")


def test_comparisons_and_reports_take_sets_as_far_too(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(bare), str(bare), "-m", "fluency,meaning,spice", "--cache", "off"]) == 2
    assert "metric 'spice' needs references" in capsys.readouterr().err
    assert main(["compare", str(bare), str(bare), "-m", "fluency,meaning", "--cache", "off"]) == 0
    assert "left out of the set meaning: spice, spice-soft, sentence, wmd" in capsys.readouterr().err
    with pytest.warns(VericapWarning, match="left out of the set meaning"):
        found = vericap.compare({"a": ["A cup", "A cat"], "b": ["A dog", "A cat"]}, metrics="fluency,meaning")
    assert list(found.results["a"].corpus) == ["fluency"]
    page = str(bare.with_name("report"))
    assert main(["report", str(bare), "-m", "fluency,meaning", "--cache", "off", "--output", page]) == 0
    assert "left out of the set meaning" in capsys.readouterr().err
