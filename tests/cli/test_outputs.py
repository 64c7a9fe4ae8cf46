"""Where commands write: never over what they read, never after an hour of work that cannot be kept."""

from __future__ import annotations

import json
import os
import shutil
from hashlib import sha256
from pathlib import Path

import pytest

from vericap.cli import main
from vericap.core.shipped import ROOT

TEXTS = ("a dog on grass", "two cats sleep", "a man rides a red bus")


@pytest.fixture
def captions(tmp_path: Path) -> Path:
    path = tmp_path / "captions.jsonl"
    items = [{"id": f"r{n}", "candidate": text, "references": [text, "a dog"]} for n, text in enumerate(TEXTS)]
    path.write_text("".join(json.dumps(item) + "\n" for item in items), encoding="utf-8")
    return path


def score(path: Path | str, *words: object) -> int:
    return main(["score", str(path), "-m", "rouge-l", "--quiet", *map(str, words)])


def content(folder: Path) -> dict[str, str]:
    return {str(p): sha256(p.read_bytes()).hexdigest() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_the_output_is_never_an_input(captions: Path, tmp_path: Path, capsys, monkeypatch) -> None:
    before = captions.read_bytes()
    (tmp_path / "link.jsonl").symlink_to(captions)
    os.link(captions, tmp_path / "hard.jsonl")
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    for name in (captions, "../captions.jsonl", tmp_path / "link.jsonl", tmp_path / "hard.jsonl"):
        assert score(captions, "-o", name) == 2
        assert "is one of the inputs" in capsys.readouterr().err
        assert score("../captions.jsonl", "-r", captions, "-o", name) == 2
    assert score(tmp_path / "link.jsonl", "-o", captions) == 2
    assert main(["compare", str(captions), str(tmp_path / "hard.jsonl"), "-m", "rouge-l", "-o", str(captions)]) == 2
    assert captions.read_bytes() == before


@pytest.mark.parametrize(
    "words",
    [
        "score captions.jsonl -m cider-d --df df.json -o df.json",
        "score captions.jsonl -m cider-d:df=df.json -o df.json",
        "score captions.jsonl -m vifidel --objects objects.jsonl -o objects.jsonl",
        "compare captions.jsonl captions.jsonl -m cider-d --df df.json -o df.json",
        "compare captions.jsonl captions.jsonl -m rouge-l --captions captions.jsonl",
        "filter captions.jsonl captions.jsonl --keep words>=1",
        "filter captions.jsonl kept.jsonl --keep words>=1 --rejected captions.jsonl",
        "filter captions.jsonl objects.jsonl --keep vifidel>=0 --objects objects.jsonl",
        "parse captions.jsonl -o captions.jsonl",
        "df df.json -o df.json",
        "report captions.jsonl -m rouge-l -o captions.jsonl",
        "report captions.jsonl -m rouge-l -o .",
        "annotate captions.jsonl --images photos -o .",
        "detect photos --draw photos",
        "features photos -o photos",
        "meta flickr8k-expert --scores captions.jsonl --export captions.jsonl",
    ],
)
def test_no_command_writes_over_what_it_reads(captions: Path, capsys, monkeypatch, words: str) -> None:
    folder = captions.parent
    monkeypatch.chdir(folder)
    (folder / "df.json").write_text(json.dumps({"images": 5, "ngrams": {"a": 3}}))
    (folder / "objects.jsonl").write_text('{"image": "r0", "labels": ["dog"]}\n')
    shutil.copytree(ROOT / "demo" / "photos", folder / "photos")
    before = content(folder)
    assert main(words.split()) == 2
    assert "Traceback" not in capsys.readouterr().err
    assert content(folder) == before


@pytest.mark.parametrize(
    "words",
    [
        ["parse", "{captions}", "-o", "/proc/nothing/x.jsonl"],
        ["compare", "{captions}", "{captions}", "-m", "rouge-l", "-o", "/proc/nothing/x.csv"],
        ["compare", "{captions}", "{captions}", "-m", "rouge-l", "--captions", "/proc/nothing/x.csv"],
        ["score", "{captions}", "-m", "rouge-l", "--figures", "/proc/nothing/x"],
        ["report", "{captions}", "-m", "rouge-l", "-o", "/proc/nothing/x"],
        ["filter", "{captions}", "/proc/nothing/x.jsonl", "--keep", "words>=1"],
        ["df", "{captions}", "-o", "/proc/nothing/x.npz"],
    ],
)
def test_a_missing_folder_is_told_by_every_command(captions: Path, capsys, words: list[str]) -> None:
    assert main([word.format(captions=captions) for word in words]) == 2
    assert "/proc/nothing" in capsys.readouterr().err
