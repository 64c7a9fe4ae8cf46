"""Work over the shards of an input: ids that occur in several of them, in any number of parts."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vericap.cli import main
from vericap.core.numbers import SortedNumbers
from vericap.core.settings import Settings
from vericap.io.stream import open_input
from vericap.run import spans, states
from vericap.run.shards import Job, Task, repeats_of, write_atomically


def job(folder: Path) -> Job:
    return Job((), Settings(), open_input_of(folder), folder)


def open_input_of(folder: Path):
    (folder / "x.txt").write_text("a\n")
    return open_input(folder / "x.txt").light()


def keys(ids: list[int]) -> SortedNumbers:
    spread = np.array(ids, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return SortedNumbers.of(spread, np.arange(len(ids))).with_borders()


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.integers(0, 9), max_size=8), min_size=1, max_size=5), st.integers(1, 5))
def test_ids_that_occur_before(tmp_path_factory, units, at_once) -> None:
    folder: Path = tmp_path_factory.mktemp("ids")
    work, before = job(folder), Counter()
    for number, ids in enumerate(units):
        found = {"ids": keys(ids), "judged": keys(sorted(set(ids)))}
        states.save(found, work.file("survey", number, "keys"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spans, "AT_ONCE", at_once)
        parts = spans.spans(len(units), sum(map(len, units)))
    assert len(parts) == max(1, -(-sum(map(len, units)) // at_once))
    outcomes = [spans.find_repeats(work, part) for part in parts]
    files = tuple(folder / own["file"] for own in outcomes)
    assert sum(own["matched"] for own in outcomes) == len({one for ids in units for one in ids})
    for number, ids in enumerate(units):
        found = repeats_of(Task(number, None, repeats=files))
        assert found == {place: before[one] for place, one in enumerate(ids) if before[one]}
        before.update(ids)
    assert outcomes == [spans.find_repeats(work, part) for part in parts]  # as they were kept


def test_many_parts_change_no_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Document frequencies and ids merged in one part, or in dozens: the same rows."""
    words = ["a", "dog", "cat", "bus", "runs", "sits", "on", "the", "grass", "street", "red", "two"]
    rng = np.random.default_rng(0)

    def caption() -> str:
        return " ".join(rng.choice(words, 6))

    rows = [{"image_id": n % 150, "caption": caption(), "references": [caption(), caption()]} for n in range(300)]
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    call = [
        "score",
        str(tmp_path / "x.jsonl"),
        "-m",
        "cider-d,mean(cider-d,rouge-l)",
        "--shard-records",
        "16",
        "--quiet",
    ]
    outputs = []
    for number, at_once in enumerate((1 << 21, 50)):
        monkeypatch.setattr(spans, "AT_ONCE", at_once)
        assert main([*call, "-o", str(tmp_path / f"{number}.jsonl")]) == 0
        outputs.append((tmp_path / f"{number}.jsonl").read_bytes())
    assert outputs[0] == outputs[1]
    ids = [json.loads(line)["id"] for line in outputs[0].splitlines()]
    assert ids[:2] == ["0", "1"]
    assert ids[150] == "0#2"
    assert len(set(ids)) == 300


def test_two_processes_may_write_the_same_file(tmp_path: Path) -> None:
    """Shares of a run on several machines merge the same states: none takes the other's half-written file away."""
    path = tmp_path / "x.json"

    def outer(file: Path) -> None:
        file.write_text("whole")
        write_atomically(path, lambda other: other.write_text("whole"))  # the other one is faster

    write_atomically(path, outer)
    assert path.read_text() == "whole"
    assert [one.name for one in tmp_path.iterdir()] == ["x.json"]
