"""What a user sees in a terminal: tables that fit it, colours, x100, reasons, files that can be pasted."""

from __future__ import annotations

import csv
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import warnings
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from vericap.cli import main
from vericap.core.layout import width
from vericap.core.shipped import ROOT

WHO = ("dog", "cat", "horse", "woman", "child", "surfer", "bird", "sheep", "pilot", "cook")
MANY = "bleu-1,bleu-2,bleu-3,bleu-4,rouge-l,cider-d,cider,chair"


def write(path: Path, verb: str) -> str:
    rows = [
        {"id": i, "candidate": f"a {who} {verb} at the beach {i}", "references": [f"the {who} waits at the beach {i}"],
         "objects": {"person": 1}}
        for i, who in enumerate(WHO * 4)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    return [write(tmp_path / "old.jsonl", "waits"), write(tmp_path / "new.jsonl", "sings")]


def in_terminal(columns: int, *words: str, **environment: str) -> str:
    """What a command prints in a terminal of so many columns."""
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    own = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS")}
    process = subprocess.Popen(
        [sys.executable, "-m", "vericap", *words], stdin=child, stdout=child, stderr=child,
        env={**own, "TERM": "xterm", **environment},
    )  # fmt: skip
    os.close(child)
    found = b""
    while True:
        try:
            piece = os.read(parent, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        found += piece
    process.wait()
    os.close(parent)
    text = found.decode("utf-8").replace("\r\n", "\n")
    return re.sub(r"[^\n]*\r\x1b\[K", "", text)  # progress that was taken away again


def bare(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def test_a_comparison_fits_the_terminal_in_colour(files: list[str]) -> None:
    shown = {columns: in_terminal(columns, "compare", *files, "-m", MANY) for columns in (80, 160)}
    for columns, text in shown.items():
        assert max(map(width, bare(text).splitlines())) <= columns
        assert "\x1b[31m ▼*\x1b[0m" in text
        assert re.search(r"\x1b\[1m[0-9.]+\x1b\[0m", text)
        assert "chair ↓" in text
    assert bare(shown[80]).count("\nnew ") == 2
    assert bare(shown[160]).count("\nnew ") == 1


def test_no_colour_is_respected(files: list[str]) -> None:
    words = ("score", files[1], "-m", "rouge-l,chair", "--explain", "--worst", "1", "-q")
    text = in_terminal(80, *words)
    assert "\x1b[1m" in text
    plain = in_terminal(80, *words, NO_COLOR="1")
    assert "\x1b[" not in plain
    assert bare(text) == plain


def test_a_pipe_gets_neither_colour_nor_folded_lines(files: list[str], capsys) -> None:
    assert main(["compare", *files, "-m", MANY]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert len(out.splitlines()[2].split("  ")) > 8  # one block


def test_marks_become_plain_where_they_cannot_be_printed(files: list[str]) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"}
    words = [sys.executable, "-m", "vericap", "compare", *files, "-m", "rouge-l,chair", "-q"]
    done = subprocess.run(words, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    text = done.stdout.decode("latin-1")
    assert "chair v" in text
    assert "+ better, - worse than old; v lower is better" in text


# --- x100 -------------------------------------------------------------------------------------------------------


def number(text: str, row: str, column: int = 0) -> float:
    line = next(line for line in text.splitlines() if line.startswith(row))
    return float(re.findall(r"\d+\.\d+", line)[column])


def test_x100_means_the_same_in_score_and_compare(files: list[str], tmp_path: Path, capsys) -> None:
    found = []
    for words in (["score", files[0], "-m", "rouge-l"], ["compare", *files, "-m", "rouge-l"]):
        row = "rouge-l" if words[0] == "score" else "old"
        for switch in ("--no-x100", "--x100"):
            assert main([*words, switch]) == 0
            found.append(number(capsys.readouterr().out, row))
            assert main([*words, switch, "--json"]) == 0
            read = json.loads(capsys.readouterr().out)
            value = read["scores"]["rouge-l"]["value"] if words[0] == "score" else read["rows"][0]["value"]
            assert value == pytest.approx(found[-1], abs=0.01)
            assert read.get("x100", False) == (switch == "--x100")
        assert main(words) == 0
        assert number(capsys.readouterr().out, row) == found[-2]  # by default they are as they are
    assert found[0] < 1 < found[1]
    assert found[:2] == found[2:]
    assert found[1] == pytest.approx(100 * found[0], abs=0.01)
    assert main(["score", files[0], "-m", "rouge-l", "--x100", "-o", str(tmp_path / "rows.csv")]) == 0
    with (tmp_path / "rows.csv").open() as stream:
        assert all(float(row["rouge-l"]) <= 1 for row in csv.DictReader(stream))  # rows never are


# --- reasons ----------------------------------------------------------------------------------------------------


def test_reasons_are_printed_or_in_the_json(files: list[str], capsys) -> None:
    words = ["score", files[1], "-m", "rouge-l,cider-d", "--explain", "--worst", "3", "-q"]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "The 3 worst captions by rouge-l:" in out
    assert out.count("rouge-l: ") >= 3
    assert main([*words, "--json"]) == 0
    worst = json.loads(capsys.readouterr().out)["worst"]
    assert len(worst) == 3
    assert worst[0]["rouge-l"] <= worst[1]["rouge-l"]
    assert worst[0]["rouge-l.explanation"]["version"] == 1
    assert main([word for word in words if word not in ("--worst", "3")]) == 0
    assert "The 5 worst captions" in capsys.readouterr().out  # the default


# --- files of a comparison --------------------------------------------------------------------------------------


def test_a_row_per_caption_with_every_systems_scores(files: list[str], tmp_path: Path) -> None:
    rows = {}
    for suffix in (".jsonl", ".csv", ".parquet", ".json"):
        path = tmp_path / f"captions{suffix}"
        assert main(["compare", *files, "-m", "cider-d,rouge-l", "-q", "--captions", str(path)]) == 0
        if suffix == ".parquet":
            rows[suffix] = pq.read_table(path).to_pylist()
        elif suffix == ".csv":
            with path.open(encoding="utf-8") as stream:
                rows[suffix] = list(csv.DictReader(stream))
        elif suffix == ".json":
            rows[suffix] = json.loads(path.read_text("utf-8"))["rows"]
        else:
            rows[suffix] = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    columns = ["id", *(f"{system}.{name}" for system in ("old", "new") for name in ("candidate", "cider-d", "rouge-l"))]
    for found in rows.values():
        assert [name for name in found[0] if name != "signatures"] == columns
        assert [row["id"] for row in found] == [str(number) for number in range(40)]
        assert found[3]["new.candidate"] == "a woman sings at the beach 3"
    for system, file in zip(("old", "new"), files):  # the same numbers as alone
        out = tmp_path / f"{system}.out.jsonl"
        assert main(["score", file, "-m", "cider-d,rouge-l", "-q", "-o", str(out)]) == 0
        alone = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
        for name in ("cider-d", "rouge-l"):
            assert [row[f"{system}.{name}"] for row in rows[".jsonl"]] == pytest.approx([row[name] for row in alone])


@pytest.mark.parametrize(
    ("suffix", "start"), [(".tex", r"\begin{tabular}"), (".md", "| system |"), (".html", "<table>")]
)
def test_a_table_to_paste(files: list[str], tmp_path: Path, suffix: str, start: str, capsys) -> None:
    out = tmp_path / f"table{suffix}"
    assert main(["compare", *files, "-m", "rouge-l,chair", "-q", "-o", str(out)]) == 0
    assert out.read_text("utf-8").startswith(start)
    if suffix == ".tex":
        assert r"System & ROUGE-L & CHAIR-i $\downarrow$ \\" in out.read_text("utf-8")
        assert "$^{*}$ differs from old with adjusted p $<$ 0.05" in out.read_text("utf-8")
        capsys.readouterr()
        assert main(["compare", *files, "-m", "rouge-l,chair", "-q", "--table", "latex"]) == 0
        assert capsys.readouterr().out == out.read_text("utf-8")


def test_details_in_the_terminal_fit(files: list[str]) -> None:
    text = in_terminal(80, "compare", *files, "-m", "rouge-l,cider-d", "--details", "-q")
    assert max(map(width, bare(text).splitlines())) <= 80
    assert "new, rouge-l: people agree in" in " ".join(text.split())


COMMANDS = [
    ["score", "{old}", "-m", "rouge-l", "-o", "{out}"],
    ["compare", "{old}", "{new}", "-m", "rouge-l", "-o", "{out}"],
    ["compare", "{old}", "{new}", "-m", "rouge-l", "--captions", "{out}"],
    ["meta", "{old}", "-m", "rouge-l", "-o", "{out}"],
    ["meta", "{old}", "-m", "rouge-l", "--gaps", "{out}"],
    ["meta", "{old}", "--export", "{out}"],
    ["meta", "all", "--page", "{out}"],
    ["verify", "-o", "{out}"],
    ["filter", "{old}", "{out}", "--keep", "words>1"],
    ["parse", "{old}", "-o", "{out}"],
    ["df", "{old}", "-o", "{out}"],
    ["detect", "{photos}", "-o", "{out}"],
]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_an_unknown_ending_is_refused_before_any_work(
    files: list[str], tmp_path: Path, words: list[str], capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(*_: object, **__: object) -> None:
        raise AssertionError("work was begun")

    monkeypatch.setattr("vericap.run.engine.Run._execute", work)
    out = tmp_path / "x.xlsx"
    photos = ROOT / "demo" / "photos"
    assert main([word.format(old=files[0], new=files[1], out=out, photos=photos) for word in words]) == 2
    err = capsys.readouterr().err
    assert "x.xlsx" in err
    assert "Traceback" not in err
    assert not out.exists()


# --- what cannot be judged --------------------------------------------------------------------------------------


def test_without_photos_a_metric_says_so_once(files: list[str], tmp_path: Path, capsys) -> None:
    (tmp_path / "photos").mkdir()
    words = ["compare", *files, "-m", "rouge-l,vse,reo-relevance", "--images", str(tmp_path / "photos"), "--details"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # NumPy's too
        assert main([*words, "--json"]) == 1
        found = json.loads(capsys.readouterr().out)
        assert main(words) == 1
    shown = capsys.readouterr()
    lines = [row for row in found["rows"] if row["metric"] == "vse"]
    assert [(row["value"], row["p"], row["adjusted p"]) for row in lines] == [(None, None, None)] * 2
    assert found["adjustment"] == "Holm over 1 tests"
    assert shown.out.count("vse, reo-relevance: undefined, no image") == 1
    assert shown.out.count("undefined, no image") == 1
    assert "nan" not in shown.out


def test_a_caption_with_five_problems_is_one_problem(tmp_path: Path, capsys) -> None:
    references = ["a dog runs"]
    rows = [
        {"id": "1", "candidate": "a dog", "image": "nowhere.jpg", "references": references},
        {"id": "2", "candidate": "???", "references": references},
    ]
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "photos").mkdir()
    words = ["score", str(tmp_path / "x.jsonl"), "--images", str(tmp_path / "photos"), "-m"]
    for metrics in ("vse", "vse,lm,reo-relevance,tiger,vifidel"):
        assert main([*words, metrics]) == 1
        assert "2 problem(s)" in capsys.readouterr().err
