"""The command line as a user meets it: tables, files, exit codes, messages without tracebacks."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from vericap import __version__
from vericap.cli import main

RECORDS = [
    {
        "id": "1",
        "candidate": "a dog runs on grass",
        "references": ["a dog is running", "the dog runs on grass"],
    },
    {"id": "2", "candidate": "two cats sleep", "references": ["two cats are asleep", "cats sleep"]},
    {"id": "3", "candidate": "a red bus", "references": ["a bus on a street", "the red bus"]},
]


@pytest.fixture
def captions(tmp_path: Path) -> Path:
    path = tmp_path / "captions.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in RECORDS), encoding="utf-8")
    return path


def test_table_and_exit_code(captions: Path, capsys) -> None:
    assert main(["score", str(captions), "--metrics", "bleu-4,rouge-l", "--confidence"]) == 0
    out = capsys.readouterr().out
    assert "bleu-4" in out
    assert "95 % interval" in out
    assert "tok:ptb" not in out
    assert main(["score", str(captions), "--metrics", "bleu-4,rouge-l", "--signatures"]) == 0
    assert "\nmetric:bleu-4|tok:ptb|" in capsys.readouterr().out


def test_json_is_machine_readable(captions: Path, capsys) -> None:
    assert main(["score", str(captions), "-m", "rouge-l", "--json", "--quiet"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["captions"] == 3
    assert 0 < found["scores"]["rouge-l"]["value"] < 1
    assert "signature" in found["scores"]["rouge-l"]


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet", ".json"])
def test_output_has_a_row_per_caption(captions: Path, tmp_path: Path, suffix: str) -> None:
    out = tmp_path / f"scores{suffix}"
    assert main(["score", str(captions), "-m", "rouge-l,cider-d", "-o", str(out)]) == 0
    if suffix == ".parquet":
        rows = pq.read_table(out).to_pylist()
    elif suffix == ".csv":
        rows = list(csv.DictReader(out.open(encoding="utf-8")))
    elif suffix == ".json":
        rows = json.loads(out.read_text("utf-8"))["rows"]
    else:
        rows = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert [row["id"] for row in rows] == ["1", "2", "3"]
    assert all(float(row["rouge-l"]) > 0 for row in rows)


def test_bad_records_are_reported_kept_and_change_the_exit_code(captions: Path, tmp_path: Path, capsys) -> None:
    with captions.open("a", encoding="utf-8") as stream:
        stream.write('{"id": "4", "candidate": \n')
        stream.write('{"id": "5", "candidate": 5, "references": ["x"]}\n')
    out = tmp_path / "scores.jsonl"
    assert main(["score", str(captions), "-m", "rouge-l", "-o", str(out)]) == 1
    err = capsys.readouterr().err
    assert "line 4: malformed JSON" in err
    assert "line 5 (id 5): the candidate is a int" in err
    rows = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert len(rows) == 5
    assert [row["problem"] is None for row in rows] == [True, True, True, False, False]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["score", "nothing.json"], "no such file"),
        (["score", "{captions}", "--metrics", "blue-4"], "did you mean bleu-4"),
        (["score", "{captions}", "--output", "x.xlsx"], "choose one of these extensions"),
        (["score", "{captions}", "--output", "nowhere/x.csv"], "does not exist"),
        (["score", "{captions}", "--images", "nowhere"], "no such folder"),
        (["score", "{captions}", "--tokenizer", "magic"], "magic"),
        (["scroe"], "did you mean 'score'"),
        ([], "usage"),
    ],
)
def test_mistakes_exit_with_2_and_a_sentence(captions: Path, capsys, words: list[str], message: str) -> None:
    assert main([word.format(captions=captions) for word in words]) == 2
    shown = capsys.readouterr()
    assert message in shown.err + shown.out
    assert "Traceback" not in shown.err


def test_compare_marks_a_real_difference(tmp_path: Path, capsys) -> None:
    names = []
    for name, ending in (("good", "on grass"), ("bad", "zebra")):
        rows = [
            {"id": i, "candidate": f"a dog {i} runs {ending}", "references": [f"a dog {i} runs on grass"]}
            for i in range(30)
        ]
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
        names.append(str(path))
    for test in ("bootstrap", "randomisation"):
        assert main(["compare", *names, "-m", "rouge-l", "--test", test, "--resamples", "200"]) == 0
        assert "*" in capsys.readouterr().out.splitlines()[3]
    assert main(["compare", *names, "-m", "rouge-l", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert rows[1]["p"] < 0.05
    assert main(["compare", names[0], "-m", "rouge-l"]) == 2


def test_compare_uses_common_captions(tmp_path: Path, capsys) -> None:
    names = []
    for name, count in (("long", 5), ("short", 3)):
        rows = [{"id": i, "candidate": "a dog", "references": ["a dog"]} for i in range(count)]
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
        names.append(str(path))
    assert main(["compare", *names, "-m", "rouge-l"]) == 0
    assert "3 captions in common" in capsys.readouterr().out


def test_metrics_list_and_cards(capsys) -> None:
    from vericap.metrics.registry import METRICS

    assert main(["metrics"]) == 0
    out = capsys.readouterr().out
    for name in METRICS:
        assert name in out
        assert main(["metrics", name]) == 0
    assert main(["metrics", "blue"]) == 2


def test_a_caption_of_ten_thousand_words_is_scored(tmp_path: Path, capsys) -> None:
    path = tmp_path / "long.jsonl"
    rows = [{"id": "long", "candidate": "a dog runs " * 3400, "references": ["a dog runs"]}, RECORDS[0]]
    path.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    assert main(["score", str(path), "-m", "coco", "--json", "--quiet"]) == 0
    found = json.loads(capsys.readouterr().out)["scores"]
    assert all(score["count"] == 2 for score in found.values())


def test_missing_cells_of_a_table_are_named(tmp_path: Path, capsys) -> None:
    import pyarrow as pa

    path = tmp_path / "captions.parquet"
    columns = {"id": ["1", "2", "3"], "candidate": ["a dog", None, "a cat"], "references": [["a dog"], ["x"], None]}
    pq.write_table(pa.table(columns), path)
    assert main(["score", str(path), "-m", "rouge-l"]) == 1
    err = capsys.readouterr().err
    assert "row 2 (id 2): the candidate is missing" in err
    assert "row 3 (id 3): references are missing" in err


def test_version_is_quick_and_import_is_light() -> None:
    start = time.perf_counter()
    shown = subprocess.run([sys.executable, "-m", "vericap", "--version"], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == f"vericap {__version__}"
    assert time.perf_counter() - start < 3.0  # CI machines are busy; benchmarks/ measures the real figure
    code = "import sys, vericap; print([m for m in ('numpy', 'torch', 'spacy') if m in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"


def test_scoring_never_imports_torch(captions: Path) -> None:
    code = (
        "import sys; from vericap.cli import main; "
        f"main(['score', {str(captions)!r}, '-m', 'coco']); print('torch' in sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip().endswith("False")


def test_photos_that_are_all_missing_are_named(tmp_path, capsys):
    (tmp_path / "x.jsonl").write_text('{"id": "1", "candidate": "a dog", "image": "nowhere.jpg"}\n')
    (tmp_path / "photos").mkdir()
    command = ["score", str(tmp_path / "x.jsonl"), "--images", str(tmp_path / "photos"), "--metrics", "vse,reo"]
    assert main([*command, "--explain", "--output", str(tmp_path / "out.jsonl")]) == 1
    assert "no image 'nowhere.jpg'" in "".join(capsys.readouterr())
    assert "no image" in (tmp_path / "out.jsonl").read_text()


def test_reasons_of_the_worst_captions_are_printed(captions: Path, capsys) -> None:
    assert main(["score", str(captions), "-m", "spice,rouge-l", "--explain", "--worst", "2", "--quiet"]) == 0
    out = capsys.readouterr().out
    assert "The 2 worst captions by spice:" in out
    assert "left out:" in out
    assert "a dog runs on grass" not in out  # the best of the three


def test_reasons_are_a_column_of_the_output(captions: Path, tmp_path: Path) -> None:
    out = tmp_path / "scores.jsonl"
    assert main(["score", str(captions), "-m", "meteor", "--explain", "-o", str(out), "--quiet"]) == 0
    record = json.loads(out.read_text("utf-8").splitlines()[0])
    assert record["meteor.explanation"]["version"] == 1
    assert [word["text"] for word in record["meteor.explanation"]["words"]] == ["a", "dog", "runs", "on", "grass"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-m", "vse"], "with --images DIR"),
        (["-m", "vse", "--lang", "ja"], "say --lang en if the captions are"),
    ],
)
def test_messages_of_the_library_name_flags_here(captions: Path, capsys, words: list[str], message: str) -> None:
    assert main(["score", str(captions), *words]) == 2
    assert message in capsys.readouterr().err


def test_signatures_are_in_csv_and_parquet(captions: Path, tmp_path: Path) -> None:
    for suffix in (".csv", ".parquet"):
        assert main(["score", str(captions), "-m", "rouge-l", "-o", str(tmp_path / f"scores{suffix}"), "--quiet"]) == 0
    first, second, _ = csv.DictReader((tmp_path / "scores.csv").open(encoding="utf-8"))
    assert json.loads(first["signatures"])["rouge-l"].startswith("metric:rouge-l|")
    assert second["signatures"] == ""
    stored = json.loads(pq.read_schema(tmp_path / "scores.parquet").metadata[b"vericap.signatures"])
    assert stored == json.loads(first["signatures"])


@pytest.mark.parametrize("word", ["off", "none"])
def test_cache_off_leaves_nothing(captions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["score", str(captions), "-m", "spice", "--cache", word, "--quiet"]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["captions.jsonl"]
