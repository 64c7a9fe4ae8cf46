"""The tool that trains every row of FAIEr's Table 4: nine trainings alike, finished ones left alone."""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from vericap.reproduce.models import TRAINED

TOOL = Path(__file__).parents[2] / "tools" / "faier_ablations.py"
SHARED = ["--features", "store", "--captions", "captions.jsonl", "--steps", "12"]


def printed(folder: Path) -> list[list[str]]:
    command = [sys.executable, str(TOOL), str(folder), "--dry-run", "--", *SHARED]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return [shlex.split(line) for line in lines]


def test_every_row_of_the_table_is_trained_alike(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from vericap.train.faier.command import add_arguments

    *trainings, tables = printed(tmp_path)
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    found = [parser.parse_args(words[3:]) for words in trainings]
    assert {Path(args.output).name for args in found} == set(TRAINED.values())
    assert {(args.steps, args.rate, args.batch, args.seed) for args in found} == {(12, 5e-4, 100, found[0].seed)}
    assert len({(args.variant, args.references) for args in found}) == 9
    assert tables[1:4] == ["reproduce", "faier-table-4", "faier-figure-4"]


def test_what_is_finished_is_left_alone(tmp_path: Path) -> None:
    first, *_ = printed(tmp_path)
    folder = tmp_path / "faier-r"
    (folder / "faier").mkdir(parents=True)
    (folder / "faier" / "meta.json").write_text("{}")
    (folder / "finished").write_text(shlex.join(first[1:]))
    said, second, *_, tables = printed(tmp_path)
    assert said == ["faier-r:", "finished"]
    assert "norel-r" in second[-1]
    assert tables[-1] == f"faier-r={folder / 'faier'}"
    (folder / "finished").write_text(shlex.join([*first[1:], "--steps", "24"]))
    assert printed(tmp_path)[0] == first  # another training than the one that was asked for
