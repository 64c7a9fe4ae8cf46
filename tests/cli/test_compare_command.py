"""`vericap compare`: output that tells how it was tested, the gate, and suspicious captions."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from vericap.cli import main

WHO = ("dog", "cat", "horse", "woman", "child", "surfer", "bird", "sheep", "pilot", "cook")
WHERE = ("beach", "kitchen", "street", "forest", "market", "garden")
KINDS = ("text", "markdown", "latex", "csv", "json")


def write(path: Path, change) -> str:
    """Sixty records whose captions are changed."""
    rows = []
    for i in range(60):
        who, where = WHO[i % 10], WHERE[i * 7 % 6]
        text = change(i, f"a {who} number {i} waits at the {where}")
        rows.append({"id": i, "candidate": text, "references": [f"the {who} {i} waits at the {where} on a sunny day"]})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    return {
        "old": write(tmp_path / "old.jsonl", lambda i, text: text),
        "bad": write(tmp_path / "bad.jsonl", lambda i, text: text.replace("waits", "sings") if i % 2 else text),
        "same": write(tmp_path / "same.jsonl", lambda i, text: text.replace("a ", "one ") if i == 3 else text),
        "thinking": write(tmp_path / "thinking.jsonl", lambda i, text: f"<think>what?</think> {text}"),
    }


def compare(*words: str) -> int:
    return main(["compare", *words, "-m", "rouge-l,bleu-1", "--resamples", "500"])


@pytest.mark.parametrize("details", [[], ["--details"]])
@pytest.mark.parametrize("kind", KINDS)
def test_every_form_tells_how_it_was_tested(files, capsys, kind: str, details: list[str]) -> None:
    assert compare(files["old"], files["bad"], "--table", kind, *details) == 0
    out = capsys.readouterr().out
    for told in ("paired bootstrap", "500", "Holm over 2 tests", "60"):
        assert told in out
    if kind == "json":
        assert json.loads(out)["captions"] == 60
    if kind == "csv":
        assert {len(row) for row in csv.reader(out.splitlines())} == {len(out.splitlines()[0].split(","))}


@pytest.mark.parametrize("suffix", [".csv", ".json"])
def test_files_tell_it_too(files, tmp_path: Path, suffix: str) -> None:
    out = tmp_path / f"details{suffix}"
    assert compare(files["old"], files["bad"], "--output", str(out)) == 0
    text = out.read_text("utf-8")
    rows = json.loads(text)["rows"] if suffix == ".json" else list(csv.DictReader(text.splitlines()))
    assert 0 < float(rows[2]["p"]) <= float(rows[2]["adjusted p"])
    assert "Holm over 2 tests" in text
    assert "paired bootstrap" in text


def test_by_default_there_are_enough_resamples(files, capsys) -> None:
    assert main(["compare", files["old"], files["bad"], "-m", "rouge-l", "--details"]) == 0
    out = capsys.readouterr().out
    assert "20000 resamples" in out
    assert "<0.0001" in out
    assert "0.0000" not in out


@pytest.mark.parametrize(
    ("condition", "code"),
    [("rouge-l drops", 1), ("rouge-l drops 0.02", 1), ("rouge-l drops by 0.5", 0), ("bleu-1 drops", 1)],
)
def test_the_gate_exits_with_1_where_a_system_is_worse(files, capsys, condition: str, code: int) -> None:
    assert compare(files["old"], files["bad"], "--fail-if", condition) == code
    out = capsys.readouterr().out
    assert f"{'failed' if code else 'passed'}: {condition.split()[0]} drops" in out
    assert "bad is worse by" in out
    assert compare(files["bad"], files["old"], "--fail-if", condition) == 0
    assert compare(files["old"], files["same"], "--fail-if", condition) == 0


def test_several_conditions_give_a_line_each_and_stay_out_of_json(files, capsys) -> None:
    words = [files["old"], files["bad"], "--fail-if", "rouge-l drops", "--fail-if", "bleu-1 drops 0.9"]
    assert compare(*words) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines[-2:]] == ["failed", "passed"]
    assert compare(*words, "--json") == 1
    shown = capsys.readouterr()
    assert [one["failed"] for one in json.loads(shown.out)["gate"]] == [True, False]
    assert "failed: rouge-l drops" in shown.err


def test_a_stricter_level_lets_more_pass(files) -> None:
    words = [files["old"], files["bad"], "--fail-if", "rouge-l drops", "--level"]
    assert compare(*words, "0.05") == 1
    assert compare(*words, "0.001") == 0  # 500 resamples cannot show a p below 1/501


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--fail-if", "cider-d drops"], "there are: rouge-l, bleu-1"),
        (["--fail-if", "rouge-l sinks"], "say 'METRIC drops'"),
        (["--level", "5"], "--level 5.0 is not between 0 and 1"),
    ],
)
def test_usage_exits_with_2(files, capsys, words: list[str], message: str) -> None:
    assert compare(files["old"], files["bad"], *words) == 2
    assert message in capsys.readouterr().err


def test_suspicious_captions_are_told_and_strict_makes_them_an_error(files, tmp_path: Path, capsys) -> None:
    assert compare(files["old"], files["thinking"]) == 0
    assert "suspicious: thinking: 100 % of the captions hold tags of thinking" in capsys.readouterr().out
    out = tmp_path / "details.json"
    assert compare(files["old"], files["thinking"], "--strict", "-o", str(out)) == 1
    assert json.loads(out.read_text("utf-8"))["diagnosis"]["thinking"][0]["name"] == "thinking"
    capsys.readouterr()
    assert compare(files["old"], files["bad"], "--strict") == 0
    assert "suspicious" not in capsys.readouterr().out
    assert compare(files["old"], files["thinking"], "--table", "csv") == 0
    shown = capsys.readouterr()
    assert "suspicious" not in shown.out
    assert "suspicious: thinking" in shown.err


def test_score_tells_what_is_suspicious(files, tmp_path: Path, capsys) -> None:
    words = ["score", files["thinking"], "-m", "rouge-l"]
    assert main(words) == 0
    assert "suspicious: 100 % of the captions hold tags of thinking" in capsys.readouterr().out
    out = tmp_path / "scores.csv"
    assert main([*words, "--strict", "--json", "--quiet", "-o", str(out)]) == 1
    assert json.loads(capsys.readouterr().out)["diagnosis"][0]["ids"] == ["0", "1"]
    assert out.is_file()
    assert main(["score", files["old"], "-m", "rouge-l", "--strict"]) == 0


def test_frequencies_are_named_as_the_command_line_says_them(tmp_path: Path, capsys) -> None:
    rows = [{"id": i, "candidate": "a dog runs", "references": ["a dog runs on grass"]} for i in range(30)]
    file = tmp_path / "one.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert main(["score", str(file), "-m", "cider-d"]) == 0
    assert "--df coco-val" in capsys.readouterr().out
