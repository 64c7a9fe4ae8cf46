"""A run that was cut short goes on, and nothing of the user's is lost."""

from __future__ import annotations

import io
import json
import os
import random
import signal
import subprocess
import time
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path

import pytest
from streams import METRICS, content, rows, score, table, vericap, written

from vericap.cli import main


@pytest.fixture
def captions(tmp_path: Path) -> Path:
    return written(tmp_path)


def test_a_run_is_resumed_only_where_it_is_the_same(captions: Path, tmp_path: Path, capsys) -> None:
    out = tmp_path / "x.jsonl"
    words = ("-o", out, "--shard-records", 20, "--resume")
    assert score(captions, *words) == 0  # with no earlier state it simply starts
    first, shown = out.read_bytes(), table(capsys.readouterr().out)
    stamp = out.stat().st_mtime_ns
    assert score(captions, *words) == 0
    again = capsys.readouterr()
    assert "done before" in again.err
    assert table(again.out) == shown
    assert out.stat().st_mtime_ns == stamp
    assert main(["score", str(captions), "-m", "rouge-l", *map(str, words)]) == 2
    assert "other options are asked for (metrics:" in capsys.readouterr().err
    out.unlink()  # what a finished run wrote is gone: it is made again
    assert score(captions, *words) == 0
    assert out.read_bytes() == first
    captions.write_text(captions.read_text().replace("dog", "cow"))
    assert score(captions, *words) == 2
    assert "the input has changed" in capsys.readouterr().err
    assert score(captions, *words[:-1]) == 0  # without --resume it starts again


def test_a_changed_model_is_noticed(captions: Path, tmp_path: Path, capsys) -> None:
    df = tmp_path / "df.json"
    words = [
        "score",
        str(captions),
        "-m",
        "cider-d",
        "--df",
        str(df),
        "-o",
        str(tmp_path / "x.jsonl"),
        "--resume",
        "-q",
    ]
    df.write_text(json.dumps({"images": 5, "ngrams": {"a": 3}}))
    assert main(words) == 0
    df.write_text(json.dumps({"images": 6, "ngrams": {"a": 3}}))
    assert main(words) == 2
    assert "a model, a table or a version behind the scores has changed" in capsys.readouterr().err


def test_state_in_a_folder_without_output(captions: Path, tmp_path: Path, capsys) -> None:
    assert score(captions, "--resume", tmp_path / "state", "--shard-records", 20) == 0
    shown = table(capsys.readouterr().out)
    assert score(captions, "--resume", tmp_path / "state", "--shard-records", 20) == 0
    assert table(capsys.readouterr().out) == shown
    assert score(captions, "--resume") == 2
    assert "--resume DIR" in capsys.readouterr().err


def test_shares_of_several_machines(captions: Path, tmp_path: Path, capsys) -> None:
    assert score(captions, "-o", tmp_path / "one.jsonl", "--shard-records", 8) == 0
    whole = table(capsys.readouterr().out)
    out = tmp_path / "x.jsonl"
    # cider-d must see the whole corpus: the shares that came first are run again when all have had their first look.
    for share in ("1/3", "2/3", "3/3", "1/3", "2/3"):
        assert main(["merge", str(out)]) == 2
        assert score(captions, "-o", out, "--shard-records", 8, "--shard", share) == 0
    capsys.readouterr()
    assert main(["merge", str(out)]) == 0
    assert table(capsys.readouterr().out) == whole
    assert out.read_bytes() == (tmp_path / "one.jsonl").read_bytes()
    assert main(["merge", str(out)]) == 0
    for share in ("1/2", "2/2"):  # one look is enough
        words = ["-m", "rouge-l", "-o", f"{tmp_path}/parts/", "--shard-records", "8", "--shard", share]
        assert main(["score", str(captions), *words]) == 0
    assert main(["merge", f"{tmp_path}/parts"]) == 0
    assert sum(len(content(file)) for file in (tmp_path / "parts").glob("part-*")) == 90
    with pytest.raises(SystemExit):
        score(captions, "--shard", "4/3")


def test_two_runs_do_not_write_one_output(captions: Path, tmp_path: Path, capsys) -> None:
    from vericap.run.manifest import locked

    out = tmp_path / "x.jsonl"
    (tmp_path / "x.jsonl.state").mkdir()
    with locked(tmp_path / "x.jsonl.state"):
        assert score(captions, "-o", out, "--shard-records", 20) == 2
    assert "another process is at work" in capsys.readouterr().err


def killed(words: list[object], moment: float, number: int, *, worker: bool) -> None:
    """Start a run and kill it, or one of its workers, after a while."""
    run = vericap(*words, start_new_session=True)
    try:
        time.sleep(moment)
        target = run.pid
        if worker:
            children = Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
            target = int(children[-1]) if children else run.pid
        os.kill(target, signal.SIGKILL)
    except ProcessLookupError:
        pass  # it was faster
    run.communicate()


def test_files_of_others_in_a_folder_stay(captions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Spark names its files part-00000-...; a folder of results may hold anything."""
    folder = tmp_path / "out"
    folder.mkdir()
    mine = [
        folder / name for name in ("part-00000-abc.snappy.parquet", "bad-photos.txt", "merged-all.csv", "scored.md")
    ]
    for file in mine:
        file.write_text("mine")
    for _ in range(2):  # the second one removes what the first one left
        assert score(captions, "-o", f"{folder}/", "--shard-records", 16) == 0
        assert all(file.read_text() == "mine" for file in mine)
        assert len(list(folder.glob("part-000??.parquet"))) == 6
    (folder / "manifest.json").unlink()
    assert score(captions, "-o", f"{folder}/", "--shard-records", 16) == 2
    assert "holds part-00000.parquet, which no run of vericap has left" in capsys.readouterr().err
    assert score(folder / "part-00003.parquet", "-o", f"{folder}/") == 2
    assert "one of the inputs" in capsys.readouterr().err
    assert len(list(folder.glob("part-000??.parquet"))) == 6


def test_a_folder_that_lacks_a_part_is_done_again(captions: Path, tmp_path: Path) -> None:
    words = (captions, "-o", f"{tmp_path / 'out'}/", "--shard-records", 16, "--resume")
    assert score(*words) == 0
    (tmp_path / "out" / "part-00002.parquet").unlink()
    assert score(*words) == 0
    assert (tmp_path / "out" / "part-00002.parquet").exists()


def test_columns_are_checked_before_the_first_look(
    captions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert score(captions, "-o", tmp_path / "x.jsonl", "--shard-records", 16, "--columns", "none,source") == 2
    assert "no column none; there are" in capsys.readouterr().err
    assert not list((tmp_path / "x.jsonl.state").glob("survey-*"))


def test_rows_on_a_standard_output_that_is_text(captions: Path) -> None:
    """As in a notebook."""
    with redirect_stdout(io.StringIO()) as told:
        assert score(captions, "-o", "-", "--shard-records", 16) == 0
    assert len([json.loads(line) for line in told.getvalue().splitlines()]) == 90


def test_ended_before_it_had_tidied_up(captions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = (captions, "-o", tmp_path / "x.jsonl", "--shard-records", 16, "--resume")
    with monkeypatch.context() as patch:
        patch.setattr("vericap.run.manifest.Manifest.tidy", lambda *_, **__: None)
        assert score(*words) == 0
    state = tmp_path / "x.jsonl.state"
    assert len(list(state.iterdir())) > 5
    assert score(*words) == 0
    assert [file.name for file in state.iterdir()] == ["manifest.json"]


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="children are found in /proc")
@pytest.mark.slow
def test_killed_at_any_moment_and_resumed(tmp_path: Path) -> None:
    """The long form, with 20 moments, is benchmarks/studies/kill_runs.py."""
    path = tmp_path / "captions.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows(4000)), encoding="utf-8")
    words: list[object] = ["score", path, "-m", "rouge-l,cider-d", "--shard-records", 100, "--columns", "all", "-q"]
    whole = tmp_path / "whole.csv"
    assert main([*map(str, words), "-o", str(whole)]) == 0
    rng, out = random.Random(5), tmp_path / "cut.csv"
    resumed = [*words, "-o", out, "--workers", 2, "--resume"]
    for number in range(4):
        killed(resumed, rng.uniform(0.8, 2.5), number, worker=number % 2 == 1)
    last = vericap(*resumed)
    _, err = last.communicate()
    assert (last.returncode, "Traceback" in err) == (0, False), err
    assert out.read_bytes() == whole.read_bytes()
    assert sorted(p.name for p in (tmp_path / "cut.csv.state").iterdir()) == ["manifest.json"]


def test_interrupted_by_the_keyboard(tmp_path: Path) -> None:
    path = tmp_path / "captions.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows(20000)), encoding="utf-8")
    words = ["score", path, "-m", "rouge-l,cider-d", "--shard-records", 20, "-o", tmp_path / "x.jsonl", "--workers", 2]
    # Where the tests run in the background, Ctrl-C is ignored and would be in the new process too.
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    run = vericap(*words, start_new_session=True, preexec_fn=heard)
    state = tmp_path / "x.jsonl.state"
    for _ in range(200):
        if list(state.glob("survey-*.json")):
            break
        time.sleep(0.05)
    os.killpg(run.pid, signal.SIGINT)
    out, err = run.communicate(timeout=60)
    assert run.returncode == 130
    assert err.strip().splitlines()[-1] == "vericap: interrupted"
    assert "Traceback" not in err + out
    assert not (tmp_path / "x.jsonl").exists()


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can mount a small disk")
def test_a_full_disk_loses_nothing(captions: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=160k", "tmpfs", str(disk)], capture_output=True).returncode:
        pytest.skip("mounting a tmpfs is not allowed here")
    try:
        assert score(captions, "-o", tmp_path / "whole.jsonl", "--shard-records", 5) == 0
        words = ["score", captions, "-m", METRICS, "-q", "-o", disk / "x.jsonl", "--shard-records", 5, "--resume"]
        run = vericap(*words)
        _, err = run.communicate()
        assert run.returncode == 2
        assert "No space left on device" in err
        assert "Traceback" not in err
        done = len(list((disk / "x.jsonl.state").glob("survey-*.json")))
        assert done > 0
        subprocess.run(["mount", "-o", "remount,size=4m", str(disk)], check=True)
        run = vericap(*words)
        _, err = run.communicate()
        assert run.returncode == 0, err
        assert (disk / "x.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        run = vericap("score", captions, "-m", METRICS, "-o", disk / "y.jsonl")
        _, err = run.communicate()
        assert run.returncode == 2
        assert "y.jsonl: cannot be written" in err
    finally:
        subprocess.run(["umount", str(disk)], check=False)


@pytest.mark.parametrize("pieces", [[], ["--shard-records", "1", "--resume"]])
def test_a_missing_photo_stops_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str], pieces: list[str]) -> None:
    from vericap.core import shipped

    photo = next((shipped.ROOT / "demo").rglob("*.jpg"))
    rows = [{"id": n, "caption": "a dog", "image": image} for n, image in enumerate([str(photo), "/gone.jpg", None])]
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    output = tmp_path / "scores.jsonl"
    assert main(["score", str(tmp_path / "x.jsonl"), "-m", "vse", "-o", str(output), "-q", *pieces]) == 1
    found = [json.loads(line) for line in output.open()]
    assert [row["vse"] is None for row in found] == [False, True, True]
    assert "no such file" in found[1]["problem"]
