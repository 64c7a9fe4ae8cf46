"""Result and Comparison in Python: printed as tables, shown as small HTML, written as CSV, Markdown, LaTeX."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

import vericap
from vericap.cli import main

CANDIDATES = ["a dog runs on grass", "two cats sleep", "a red bus"]
REFERENCES = [["a dog is running", "the dog runs"], ["two cats are asleep"], ["a bus on a street", "the red bus"]]


@pytest.fixture
def result() -> vericap.Result:
    return vericap.score(CANDIDATES, REFERENCES, "rouge-l,cider-d", df="coco-val")


@pytest.fixture
def comparison():
    systems = {"old": CANDIDATES, "new": ["a dog", "two cats are asleep", "a bus"]}
    return vericap.compare(systems, REFERENCES, "rouge-l", resamples=200)


def test_a_result_writes_what_the_command_writes(result: vericap.Result, tmp_path: Path) -> None:
    records = [{"id": str(i), "candidate": c, "references": r} for i, (c, r) in enumerate(zip(CANDIDATES, REFERENCES))]
    source = tmp_path / "captions.jsonl"
    source.write_text("".join(json.dumps(record) + "\n" for record in records))
    words = ["score", str(source), "-m", "rouge-l,cider-d", "--df", "coco-val", "-q", "-o"]
    assert main([*words, str(tmp_path / "theirs.csv")]) == 0
    assert result.to_csv(tmp_path / "ours.csv") == (tmp_path / "theirs.csv").read_text("utf-8")
    assert (tmp_path / "ours.csv").read_bytes() == (tmp_path / "theirs.csv").read_bytes()


def test_a_result_as_a_table(result: vericap.Result, tmp_path: Path) -> None:
    assert str(result).splitlines()[0].split() == ["metric", "score", "captions"]
    assert result.to_markdown(tmp_path / "t.md").startswith("| metric | score | captions |")
    assert (tmp_path / "t.md").read_text("utf-8") == result.to_markdown()
    assert r"\begin{tabular}{lrr}" in result.to_latex()
    shown = result._repr_html_()
    assert shown.startswith("<table>")
    assert len(shown) < 2000
    value = result.corpus["rouge-l"].value
    assert value is not None
    assert f"{100 * value:.2f}" in result.scores(x100=True).text()
    assert "metric:rouge-l|" in result.scores(signatures=True).text()


def test_a_comparison_as_a_table(comparison, tmp_path: Path) -> None:
    assert str(comparison).splitlines()[0].split() == ["system", "rouge-l"]
    assert comparison.to_markdown().startswith("| system | rouge-l |")
    assert "System & ROUGE-L" in comparison.to_latex(tmp_path / "t.tex")
    assert (tmp_path / "t.tex").read_text("utf-8") == comparison.to_latex()
    rows = list(csv.DictReader(io.StringIO(comparison.to_csv())))
    assert [row["system"] for row in rows] == ["old", "new"]
    assert rows[0]["test"] == "paired bootstrap"
    assert "<b>" in comparison._repr_html_()
    assert [row["id"] for row in comparison.captions_table()] == ["0", "1", "2"]


def test_a_report_from_python(result: vericap.Result, tmp_path: Path) -> None:
    assert result.report(tmp_path / "report").read_text("utf-8").startswith("<!")
