"""`vericap filter` as a user meets it: what it prints, exit codes, resuming after a kill."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from vericap.cli import main
from vericap.core import shipped

DEMO = shipped.ROOT / "demo"
SLOW = """
import time

def slow(candidates, references, images):
    time.sleep(0.0005 * len(candidates))
    return [len(candidate) / 100 for candidate in candidates]
"""


@pytest.fixture
def captions(tmp_path: Path) -> Path:
    file = tmp_path / "captions.jsonl"
    texts = ["a dog runs on grass", "two cats", "ein Hund auf dem Gras", "see www.a.com now"]
    records = [{"id": i, "candidate": text, "references": ["a dog runs on grass"]} for i, text in enumerate(texts)]
    file.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return file


def test_what_is_printed(captions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = tmp_path / "kept.jsonl"
    assert main(["filter", str(captions), str(kept), "--keep", "words>=3 & lang==en & !url & rouge-l>=0.5"]) == 0
    told = capsys.readouterr().out
    assert "rouge-l: 4 values from 0 to 1" in told
    assert "<- 0.5" in told
    assert "1 of 4 records kept (25.0 %)" in told
    assert "  1 fail words>=3\n" in told
    assert [json.loads(line)["id"] for line in kept.open(encoding="utf-8")] == [0]
    assert main(["filter", str(captions), str(kept), "--keep", "words>=3", "--quiet"]) == 0
    assert capsys.readouterr().out == "3 of 4 records kept (75.0 %)\n  1 fail words>=3\n"


def test_two_conditions_one_then_the_other(captions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["filter", str(captions), str(tmp_path / "k.csv"), "--keep", "!url", "--keep", "top:0.34:rouge-l", "--json"]
    assert main([*words, "--cascade"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["records"], found["kept"]) == (4, 1)
    assert found["cuts"] == {"top:0.34:rouge-l": {"records": 3, "kept": 1, "value": 1.0, "tied": 0}}
    assert found["scored"] == {"rouge-l": 3}


def test_photos(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["filter", str(DEMO / "careful.jsonl"), "--images", str(DEMO / "photos"), "--dry-run", "--json"]
    assert main([*words, "--keep", "words>=3 then top:0.5:vse", "--cascade"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["kept"] == found["records"] // 2
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--keep", "wrds>=3"], "--keep: there is no column 'wrds'; did you mean words"),
        (["--keep", "words=3"], "did you mean '=='?"),
        ([], "say what to keep"),
        (["--keep", "words>=3", "--best-per-image"], "--best-per-image"),
        (["--keep", "vse>=0.3"], "looks at images"),
        (["--keep", "cider-d>=0.3"], "--df FILE"),
    ],
)
def test_mistakes(
    captions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert main(["filter", str(captions), str(tmp_path / "kept.jsonl"), *words]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert "Traceback" not in told
    assert not (tmp_path / "kept.jsonl").exists()


def test_an_input_is_never_overwritten(captions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = captions.read_bytes()
    other = tmp_path / "kept.jsonl"
    for words in ([str(captions)], [str(other), "--rejected", str(captions)], [str(other), "--rejected", str(other)]):
        assert main(["filter", str(captions), *words, "--keep", "words>=3"]) == 2
        assert "is one of the inputs" in capsys.readouterr().err
    assert captions.read_bytes() == before


def test_bad_records_are_told_and_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, kept = tmp_path / "in.jsonl", tmp_path / "kept.jsonl"
    file.write_text('{"id": 1, "caption": "a dog"}\n{broken\n{"id": 3, "caption": null}\n', encoding="utf-8")
    assert main(["filter", str(file), str(kept), "--keep", "words>=1"]) == 1
    told = capsys.readouterr().err
    assert "2 problem(s):" in told
    assert "malformed JSON" in told
    lost = [json.loads(line) for line in (tmp_path / "kept.rejected.jsonl").open(encoding="utf-8")]
    assert [row["rejected"] for row in lost] == ["readable", "readable"]


def test_rules_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["filter", "--rules"]) == 0
    told = capsys.readouterr().out
    assert "lang" in told
    assert "refusal" in told


# --- resuming ---------------------------------------------------------------------------------------------------


@pytest.fixture
def many(tmp_path: Path) -> list[str]:
    """A filter over 20,000 lines in five pieces, with a metric that takes its time over what is left."""
    (tmp_path / "slow.py").write_text(SLOW, encoding="utf-8")
    draw = random.Random(0)
    nouns = ["dog", "cat", "bus", "man", "tree"]
    lines = [f"a {draw.choice(nouns)} near a {draw.choice(nouns)} {'x' * draw.randrange(30)}" for _ in range(20_000)]
    records = [json.dumps({"id": i, "caption": line, "references": ["a dog"]}) for i, line in enumerate(lines)]
    file = tmp_path / "many.jsonl"
    file.write_text("\n".join(records) + "\n", encoding="utf-8")
    keep = f'longest-word>=28 & "py:{tmp_path / "slow.py"}:slow">=0.2 then top:0.5:rouge-l'
    return [str(file), "--keep", keep, "--cascade", "--quiet"]


@pytest.mark.slow
def test_killed_and_resumed_gives_the_same_bytes(many: list[str], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "vericap", "filter", many[0]]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    whole, kept = tmp_path / "whole.jsonl", tmp_path / "kept.jsonl"
    subprocess.run([*command, str(whole), *many[1:]], check=True, env=environment, capture_output=True)
    again = [*command, str(kept), *many[1:], "--resume"]
    for pieces in (1, 3):
        with subprocess.Popen(again, env=environment, stdout=subprocess.DEVNULL) as process:
            while process.poll() is None and len(list(tmp_path.glob("kept.jsonl.state/scored-*.npz"))) < pieces:
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)
        assert process.returncode == -signal.SIGKILL  # it had not come to its end
        assert not kept.exists()
    first = tmp_path / "kept.jsonl.state" / "scored-00-000000.npz"
    stamps = {first.stat().st_mtime_ns}
    process = subprocess.Popen(again, env=environment, stdout=subprocess.PIPE, text=True)
    while process.poll() is None:
        stamps |= {path.stat().st_mtime_ns for path in [first] if path.exists()}
        time.sleep(0.05)
    told, _ = process.communicate()
    assert len(stamps) == 1  # what was done was not done again
    assert "records kept" in told
    assert kept.read_bytes() == whole.read_bytes()
    assert (tmp_path / "kept.rejected.jsonl").read_bytes() == (tmp_path / "whole.rejected.jsonl").read_bytes()


def test_a_finished_filter_is_done_at_once_and_another_one_is_refused(
    captions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "kept.jsonl"
    words = ["filter", str(captions), str(kept), "--resume", "--quiet"]
    assert main([*words, "--keep", "words>=3"]) == 0  # with no earlier state it simply starts
    stamp = kept.stat().st_mtime_ns
    capsys.readouterr()
    assert main([*words, "--keep", "words>=3"]) == 0
    assert capsys.readouterr().out == "done before: 3 of 4 records kept\n"
    assert kept.stat().st_mtime_ns == stamp
    assert main([*words, "--keep", "words>=4"]) == 2
    assert "other options are asked for (keep: words>=3 before, words>=4 now)" in capsys.readouterr().err
    kept.unlink()
    assert main([*words, "--keep", "words>=3"]) == 0  # what is gone is made again
    assert kept.exists()
    captions.write_text(captions.read_text(encoding="utf-8") + '{"id": 9, "candidate": "a b c"}\n', encoding="utf-8")
    assert main([*words, "--keep", "words>=3"]) == 2
    assert "the input has changed" in capsys.readouterr().err
    assert main(["filter", str(captions), str(kept), "--keep", "words>=3", "--quiet"]) == 0
    assert capsys.readouterr().out.startswith("4 of 5 records kept")
