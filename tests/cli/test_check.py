"""`vericap check` and `vericap words`: a few lines for people, everything as JSON for programs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import vericap
from vericap.cli import main
from vericap.core.errors import VericapError, VericapWarning
from vericap.core.shipped import ROOT

COFFEE = ROOT / "demo" / "photos" / "coffee.jpg"
FALSE = "A cup of coffee next to a giraffe"


def test_the_verdict_takes_at_most_eight_lines(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(COFFEE), FALSE, "--cache", "off"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert 5 <= len(lines) <= 8
    assert "\x1b" not in "".join(lines)  # no colours where no terminal is
    assert [line.split()[0] for line in lines[:4]] == ["verdict", "fidelity", "adequacy", "fluency"]
    assert "[giraffe]" in lines[4]
    assert "not supported: giraffe" in lines


def test_nothing_is_said_to_be_unsupported_where_nothing_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(COFFEE), "A cup of coffee on a wooden table", "--cache", "off"]) == 0
    assert "not supported" not in capsys.readouterr().out


def test_json_has_everything_with_regions(capsys: pytest.CaptureFixture[str]) -> None:
    references = ["--reference", "A cup of coffee", "--reference", "An espresso on a saucer"]
    assert main(["check", str(COFFEE), FALSE, "--json", "--cache", "off", *references]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["not_supported"] == ["giraffe"]
    assert [word["text"] for word in found["words"]] == FALSE.split()
    assert len(next(word for word in found["words"] if word["text"] == "cup")["region"]) == 4
    assert all(0 <= found[name] <= 1 for name in ("fidelity", "adequacy", "fluency", "verdict"))


def test_a_caption_in_another_language_is_told_of(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(COFFEE), "Ein Hund schläft auf dem roten Sofa", "--cache", "off"]) == 0
    said = capsys.readouterr()
    assert said.err.startswith("vericap: the caption looks like another language (de)")
    assert said.out.startswith("verdict")
    with pytest.warns(VericapWarning, match="another language"):
        vericap.check(COFFEE, "Ein Hund schläft auf dem roten Sofa", cache="off")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["missing.jpg", "A dog"], "missing.jpg"),
        ([str(COFFEE), "..."], "no word"),
        ([str(COFFEE), "犬", "--lang", "ja"], "English"),
    ],
)
def test_what_cannot_be_judged_is_told_without_a_traceback(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", *arguments, "--cache", "off"]) != 0
    said = capsys.readouterr()
    assert told in said.err + said.out
    assert "Traceback" not in said.err


def test_another_language_is_refused_with_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(COFFEE), "犬", "--lang", "ja"]) == 2
    said = capsys.readouterr().err
    assert "`vericap score`" in said
    assert "leave it out" not in said


@pytest.mark.parametrize("arguments", [[], ["--json"]])
def test_a_terminal_without_blocks_gets_other_marks(arguments: list[str]) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "vericap", "check", str(COFFEE), "A café “cup”", "--cache", "off", *arguments]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (0, "")
    assert "cup" in found.stdout
    assert arguments or "#" in found.stdout


def test_python_takes_paths_pixels_bytes_and_images() -> None:
    image = Image.open(COFFEE).convert("RGB")
    given = [COFFEE, str(COFFEE), COFFEE.read_bytes(), image, np.asarray(image)]
    found = [vericap.check(one, "A cup of coffee", cache="off").verdict for one in given]
    assert np.ptp(found[:3]) == 0
    assert np.ptp(found) < 0.05  # decoded pixels of the same photo


def test_a_caption_that_is_no_text_is_refused() -> None:
    with pytest.raises(VericapError, match="not a text"):
        vericap.check(COFFEE, 3, cache="off")  # type: ignore[arg-type]


def test_captions_are_never_markup() -> None:
    found = vericap.check(COFFEE, "A <b>giraffe</b> & a cup", cache="off")
    assert "<b>" not in found._repr_html_()


def test_words_tells_what_is_seen_and_where(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["words", str(COFFEE), "--top", "3", "--cache", "off", "--quiet"]) == 0
    assert "cup" in capsys.readouterr().out
    output = tmp_path / "words.jsonl"
    assert main(["words", str(COFFEE), "--output", str(output), "--cache", "off", "--quiet"]) == 0
    record = json.loads(output.read_text("utf-8"))
    assert {"kind", "text", "share", "region"} == set(record["words"][0])
    assert all(0 < word["share"] < 1 for word in record["words"])


def test_words_of_a_broken_photo_are_an_error_of_that_photo(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "broken.jpg").write_bytes(b"nothing")
    Image.new("RGB", (1, 1)).save(tmp_path / "one.png")
    assert main(["words", str(tmp_path), "--json", "--cache", "off", "--quiet"]) == 1
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines() if line.startswith("{")]
    assert sorted("error" in record for record in records) == [False, True]


@pytest.mark.parametrize(("variable", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_colours_are_left_out_where_the_terminal_has_none(
    variable: str, value: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert main(["check", str(COFFEE), FALSE, "--cache", "off"]) == 0
    assert "\x1b" in capsys.readouterr().out
    monkeypatch.setenv(variable, value)
    assert main(["check", str(COFFEE), FALSE, "--cache", "off"]) == 0
    assert "\x1b" not in capsys.readouterr().out
