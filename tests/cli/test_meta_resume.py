"""`meta` and `verify --resume DIR`: the same design as `score --resume`; x100 there means what it means elsewhere."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import pytest

from vericap.cli import main
from vericap.run.engine import Run

RATINGS = Path(__file__).parents[1] / "meta" / "coco_ratings.jsonl"
DATA = os.environ.get("VERICAP_DATA")
NEEDS_DATA = pytest.mark.skipif(
    not DATA or not (Path(DATA) / "flickr8k").is_dir(), reason="VERICAP_DATA has no flickr8k"
)


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    return Path(shutil.copy(RATINGS, tmp_path / "ratings.jsonl"))


@pytest.fixture
def scored(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The metrics of every run that scores something."""
    runs: list[list[str]] = []
    execute = Run._execute

    def counted(self, *arguments):
        runs.append([metric.label for metric in self.metrics])
        return execute(self, *arguments)

    monkeypatch.setattr(Run, "_execute", counted)
    return runs


def meta(ratings: Path, *words: str, metrics: str = "rouge-l,bleu-1") -> int:
    return main(["meta", str(ratings), "-m", metrics, "--resamples", "50", "-q", *words])


def test_a_finished_run_is_told_again_at_once(ratings: Path, tmp_path: Path, capsys, scored) -> None:
    state = str(tmp_path / "new" / "state")  # no earlier state: it simply starts
    assert meta(ratings, "--resume", state) == 0
    first = capsys.readouterr()
    assert len(scored) == 1
    assert meta(ratings, "--resume", state, "-o", str(tmp_path / "t.tex")) == 0
    again = capsys.readouterr()
    assert len(scored) == 1  # nothing was scored
    assert again.out == first.out
    assert "the run was done before; nothing is left to do" in again.err
    assert (tmp_path / "t.tex").read_text("utf-8").startswith("% ratings")
    assert meta(ratings, "--resume", state, "--no-x100") == 0  # another form is made from what is kept
    assert len(scored) == 1
    assert meta(ratings) == 0
    assert capsys.readouterr().out.endswith(first.out)


def test_what_was_done_before_a_stop_is_not_done_again(ratings, tmp_path, capsys, scored, monkeypatch) -> None:
    state = str(tmp_path / "state")
    with monkeypatch.context() as patched:
        patched.setattr("vericap.cli.meta.agreement_table", _interrupted)
        assert meta(ratings, "--resume", state) == 130
    assert len(scored) == 1
    assert meta(ratings, "--resume", state) == 0
    assert len(scored) == 1
    resumed = capsys.readouterr().out
    assert meta(ratings) == 0
    assert capsys.readouterr().out == resumed


def _interrupted(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("words", "metrics", "said"),
    [
        ((), "rouge-l", "other options are asked for (metrics: "),
        (("--seed", "3"), "rouge-l,bleu-1", "seed: 0 before, 3 now"),
        (("--protocol", "mean-spearman"), "rouge-l,bleu-1", "protocol: None before, mean-spearman now"),
        (("--details",), "rouge-l,bleu-1", "details: False before, True now"),
    ],
)
def test_another_run_is_refused(ratings, tmp_path, capsys, words: tuple[str, ...], metrics: str, said: str) -> None:
    state = tmp_path / "state"
    assert meta(ratings, "--resume", str(state)) == 0
    assert meta(ratings, "--resume", str(state), *words, metrics=metrics) == 2
    err = capsys.readouterr().err
    assert "cannot be resumed, because other options are asked for" in err
    assert said in err
    assert "name another folder, or remove this one" in err
    assert meta(ratings, "--resume", str(state)) == 0  # what is kept is whole


def test_a_changed_input_is_noticed(ratings: Path, tmp_path: Path, capsys) -> None:
    state = str(tmp_path / "state")
    assert meta(ratings, "--resume", state) == 0
    text = ratings.read_text("utf-8")
    ratings.write_text(text.replace("a dog running on the grass", "a dog sleeping on the grass", 1), "utf-8")
    assert meta(ratings, "--resume", state) == 2
    assert "the input has changed" in capsys.readouterr().err


def test_a_changed_model_is_noticed(ratings: Path, tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    from vericap.metrics.rouge import RougeL

    state = str(tmp_path / "state")
    assert meta(ratings, "--resume", state) == 0
    monkeypatch.setattr(RougeL, "version", "99")
    assert meta(ratings, "--resume", state) == 2
    assert "a model, a table or a version behind the scores has changed" in capsys.readouterr().err


def test_a_file_is_no_folder(ratings: Path, tmp_path: Path, capsys) -> None:
    assert meta(ratings, "--resume", str(ratings)) == 2
    assert "is a file; name a folder for the run's state" in capsys.readouterr().err


def test_scores_from_elsewhere_are_part_of_the_input(ratings: Path, tmp_path: Path, capsys) -> None:
    ids = [json.loads(line)["id"] for line in ratings.read_text("utf-8").splitlines()]
    given = tmp_path / "mine.jsonl"
    given.write_text("".join(json.dumps({"id": key, "mine": len(key)}) + "\n" for key in ids))
    words = ("--resume", str(tmp_path / "state"), "--scores", str(given))
    assert meta(ratings, *words) in (0, 1)
    given.write_text("".join(json.dumps({"id": key, "mine": place}) + "\n" for place, key in enumerate(ids)))
    assert meta(ratings, *words) == 2
    assert "the input has changed" in capsys.readouterr().err


def test_x100_of_meta(ratings: Path, capsys) -> None:
    found = []
    for switch in ((), ("--x100",), ("--no-x100",)):
        assert meta(ratings, "--table", "json", *switch) == 0
        row = json.loads(capsys.readouterr().out)["rows"][0]
        assert row["metric"] == "rouge-l"
        found.append(next(value for name, value in row.items() if isinstance(value, float)))
    assert found[0] == found[1]  # by default x100, as such tables are published
    assert found[1] == pytest.approx(100 * found[2], abs=1e-4)


@NEEDS_DATA
def test_verify_is_resumed_in_the_same_way(tmp_path: Path, capsys, scored, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")  # of a narrow terminal lines are broken
    state = str(tmp_path / "state")
    words = ["verify", "--datasets", "flickr8k-expert", "-q", "--resume", state, "-m"]
    code = main([*words, "rouge-l"])
    first = capsys.readouterr()
    runs = len(scored)
    assert runs
    assert main([*words, "rouge-l"]) == 0
    again = capsys.readouterr()
    assert again.out == first.out
    assert len(scored) == runs
    assert code in (0, 1)
    assert main([*words, "bleu-1"]) == 2
    assert "cannot be resumed" in capsys.readouterr().err
    assert main([*words, "rouge-l", "--no-x100"]) == 0
    plain = capsys.readouterr().out
    line = re.compile(r"flickr8k-expert/published\s+ROUGE-L\s+([0-9.]+)\s+([0-9.]+)")
    one, other = line.search(first.out), line.search(plain)
    assert one is not None
    assert other is not None
    assert float(one[1]) == pytest.approx(100 * float(other[1]))
    assert len(scored) == runs
