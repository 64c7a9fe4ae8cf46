"""Many files are looked through by several processes, and of several machines by one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from input_files import tar

from vericap.cli import main
from vericap.io import planning
from vericap.io.stream import open_input


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of files that are looked through."""
    found: list[str] = []
    usual = planning.plan_file

    def noted(how: planning.How, name: str) -> planning.Planned:
        found.append(Path(name).name)
        return usual(how, name)

    monkeypatch.setattr(planning, "plan_file", noted)
    return found


def test_processes_find_what_one_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        tar(tmp_path / f"{number}.tar", "a" if number else "b")
    with open_input(str(tmp_path / "{0..2}.tar"), records=1) as one:
        monkeypatch.setattr(planning, "_LARGE", 0)
        with open_input(str(tmp_path / "{0..2}.tar"), records=1, workers=2) as two:
            assert (one.units, one.digest, one.paths) == (two.units, two.digest, two.paths)


def test_a_look_is_kept_until_a_file_changes(tmp_path: Path, looked: list[str]) -> None:
    known = tmp_path / "input.json"
    tar(tmp_path / "0.tar", "a")
    (tmp_path / "1.csv").write_text("id,caption\n1,a dog\n")
    (tmp_path / "2.json").write_text('[{"id": 2, "caption": "a cat"}]')  # is unpacked first: nothing to keep
    names = [tmp_path / name for name in ("0.tar", "1.csv", "2.json")]

    def plan(records: int = 5) -> tuple[list[planning.Unit], str, list[str]]:
        looked.clear()
        with open_input(names, records=records, known=known) as source:
            return [unit for unit in source.units if unit.kind != "spooled"], source.digest, [*looked]

    first, second = plan(), plan()
    assert first[:2] == second[:2]
    assert (first[2], second[2]) == (["0.tar", "1.csv", "2.json"], ["2.json"])
    names[1].write_text("id,caption\n1,a dog\n2,a bus\n")
    assert plan()[2] == ["1.csv", "2.json"]
    assert plan()[1] != first[1]
    assert plan(records=1)[2] == ["0.tar", "1.csv", "2.json"]


def test_of_several_shares_one_looks(tmp_path: Path, looked: list[str]) -> None:
    rows = [{"id": n, "candidate": "a dog", "references": ["a dog"]} for n in range(9)]
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = [
        "score",
        str(tmp_path / "x.jsonl"),
        "-m",
        "rouge-l",
        "-o",
        f"{tmp_path}/out/",
        "--shard-records",
        "2",
        "-q",
    ]
    for share in ("1/2", "2/2"):
        assert main([*words, "--shard", share]) == 0
    assert looked == ["x.jsonl"]
    assert main(["merge", f"{tmp_path}/out/"]) == 0
    assert not {"input.json", ".lock-input"} & {path.name for path in (tmp_path / "out").iterdir()}
