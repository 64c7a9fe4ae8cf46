"""Large inputs: pieces give what the whole gives, a run that was cut short goes on, nothing of the user's is lost."""

from __future__ import annotations

import csv
import io
import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from vericap.cli import main
from vericap.core.shipped import ROOT

WORDS = ("a", "the", "red", "dog", "cat", "man", "runs", "sleeps", "on", "under", "green", "grass", "street", "bus")
METRICS = "bleu-4,rouge-l,cider-d,mean(bleu-1,cider)"


def rows(count: int, seed: int = 0) -> list[dict[str, object]]:
    rng = random.Random(seed)

    def text() -> str:
        return " ".join(rng.choices(WORDS, k=rng.randint(3, 9)))

    return [{"id": f"r{n}", "candidate": text(), "references": [text() for _ in range(2 + n % 3)], "source": n}
            for n in range(count)]  # fmt: skip


@pytest.fixture
def captions(tmp_path: Path) -> Path:
    path = tmp_path / "captions.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows(90)), encoding="utf-8")
    return path


def score(path: Path | str, *words: object) -> int:
    return main(["score", str(path), "-m", METRICS, "--quiet", *map(str, words)])


def table(text: str) -> list[str]:
    return [line for line in text.splitlines() if "|" in line]


def vericap(*words: object, **options: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "vericap", *map(str, words)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, **options)  # type: ignore[call-overload]


def content(file: Path) -> object:
    if file.suffix == ".parquet":
        return pq.read_table(file).to_pylist()
    if file.suffix == ".csv":
        return list(csv.reader(file.open(encoding="utf-8", newline="")))
    if file.suffix == ".json":
        return json.loads(file.read_text("utf-8"))
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


# --- pieces and the whole -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet", "json"])
def test_pieces_give_what_the_whole_gives(captions: Path, tmp_path: Path, capsys, kind: str) -> None:
    whole, pieces = tmp_path / f"whole.{kind}", tmp_path / f"pieces.{kind}"
    assert score(captions, "-o", whole, "--columns", "all", "--confidence", "--resamples", 50) == 0
    before = table(capsys.readouterr().out)
    assert (
        score(captions, "-o", pieces, "--columns", "all", "--shard-records", 16, "--confidence", "--resamples", 50) == 0
    )
    assert table(capsys.readouterr().out) == before
    one, two = content(whole), content(pieces)
    if kind == "json":
        assert isinstance(one, dict)
        assert isinstance(two, dict)
        assert {n: v["value"] for n, v in one["scores"].items()} == pytest.approx(
            {n: v["value"] for n, v in two["scores"].items()}, abs=1e-12
        )
        one, two = one["rows"], two["rows"]
    if kind == "csv":
        header, other = one.pop(0), two.pop(0)
        assert json.loads(one[0][-1]) == json.loads(two[0][-1])
        one, two = ([dict(zip(names, row)) for row in own] for names, own in ((header, one), (other, two)))
    assert len(one) == len(two) == 90
    for left, right in zip(one, two):
        assert {"problem", "remark"} >= set(right) - set(left)
        for name, value in left.items():
            if name == "signatures":
                continue
            if name in ("bleu-4", "rouge-l", "cider-d") or name.startswith("mean"):
                assert float(right[name]) == pytest.approx(float(value), abs=1e-12)
            else:
                assert str(right[name]) == str(value), name
        assert str(right["source"]) == str(int(right["id"][1:]))


def test_processes_give_the_same_bytes(captions: Path, tmp_path: Path) -> None:
    for workers in (1, 2):
        words = ("-o", tmp_path / f"{workers}.jsonl", "--shard-records", 20, "--workers", workers)
        assert score(captions, *words) == 0
    assert (tmp_path / "1.jsonl").read_bytes() == (tmp_path / "2.jsonl").read_bytes()


def test_rows_on_standard_output(captions: Path) -> None:
    done = vericap("score", captions, "-m", "rouge-l", "-o", "-", "--shard-records", 20)
    out, err = done.communicate()
    assert done.returncode == 0
    assert [json.loads(line)["id"] for line in out.splitlines()] == [f"r{n}" for n in range(90)]
    assert "rouge-l" in err
    assert score(captions, "-o", "-", "--json") == 2


def test_json_stands_alone_on_standard_output(captions: Path, tmp_path: Path) -> None:
    done = vericap("score", captions, "-m", METRICS, "--json", "--shard-records", 20, "--workers", 2)
    out, _ = done.communicate()
    assert json.loads(out)["captions"] == 90


@pytest.mark.parametrize("name", ["out/", "out/*.csv", "out/*.jsonl"])
def test_folders_of_parts(captions: Path, tmp_path: Path, monkeypatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    assert score(captions, "-o", name, "--shard-records", 25) == 0
    files = sorted(Path("out").glob("part-*"))
    assert [file.name.split(".")[0] for file in files] == [f"part-{n:05d}" for n in range(4)]
    assert json.loads(Path("out/manifest.json").read_text())["state"] == "finished"
    ids = []
    for file in files:
        found = content(file)
        ids += [row[0] for row in found[1:]] if file.suffix == ".csv" else [row["id"] for row in found]
    assert ids == [f"r{n}" for n in range(90)]
    assert sorted(path.name for path in Path("out").iterdir()) == sorted([*(f.name for f in files), "manifest.json"])


def test_columns_are_passed_on_by_name(captions: Path, tmp_path: Path, capsys) -> None:
    out = tmp_path / "x.jsonl"
    for size in (1000, 20):
        assert score(captions, "-o", out, "--columns", "source", "--shard-records", size) == 0
        assert [row["source"] for row in content(out)] == list(range(90))
        assert score(captions, "-o", out, "--columns", "nope", "--shard-records", size) == 2
        assert "no column nope; there are id, candidate" in capsys.readouterr().err


def test_bad_records_go_to_a_side_file_and_the_exit_code(captions: Path, tmp_path: Path, capsys) -> None:
    with captions.open("a") as stream:
        stream.write(
            '{"id": "bad", "candidate": 3}\n{"id": "r5", "candidate": "again", "references": ["x"]}\n{"id": \n'
        )
        stream.write(r'{"id": "half", "candidate": "\ud800", "references": ["x"]}' + "\n")
    for size in (1000, 20):
        out = tmp_path / f"{size}.jsonl"
        assert score(captions, "-o", out, "--shard-records", size) == 1
        bad = content(tmp_path / f"{size}.bad.jsonl")
        expected = ["line 91 (id bad)", "line 92 (id r5)", "line 93", "line 94 (id half)"]
        assert sorted(row["record"] for row in bad) == expected
        assert len(content(out)) == 94
        assert "4 problem(s)" in capsys.readouterr().err
    captions.write_text("".join(json.dumps(row) + "\n" for row in rows(90)))
    assert score(captions, "-o", tmp_path / "20.jsonl", "--shard-records", 20) == 0
    assert not (tmp_path / "20.bad.jsonl").exists()


def test_reasons_and_worst_captions_of_pieces(captions: Path, tmp_path: Path, capsys) -> None:
    words = ("--explain", "--worst", 3)
    assert main(["score", str(captions), "-m", "cider-d", "-q", *map(str, words)]) == 0
    whole = capsys.readouterr().out.split("The 3 worst")[1]
    assert main(["score", str(captions), "-m", "cider-d", "-q", "--shard-records", "16", *map(str, words)]) == 0
    assert capsys.readouterr().out.split("The 3 worst")[1] == whole
    out = tmp_path / "x.jsonl"
    assert (
        main(["score", str(captions), "-m", "cider-d", "-q", "--shard-records", "16", "--explain", "-o", str(out)]) == 0
    )
    assert all(row["cider-d.explanation"]["version"] == 1 for row in content(out))


def test_references_from_a_file_in_pieces(captions: Path, tmp_path: Path, capsys) -> None:
    given = rows(90)
    bare = tmp_path / "bare.jsonl"
    bare.write_text("".join(json.dumps({"id": r["id"], "candidate": r["candidate"]}) + "\n" for r in given))
    references = tmp_path / "refs.json"
    references.write_text(json.dumps({str(r["id"]): r["references"] for r in given} | {"other": ["x"]}))
    assert score(captions, "--shard-records", 20) == 0
    own = table(capsys.readouterr().out)
    assert (
        main(["score", str(bare), "-r", str(references), "-m", METRICS, "--shard-records", "20", "--workers", "2"]) == 0
    )
    shown = capsys.readouterr()
    assert table(shown.out) == own
    assert "1 of 91 referenced ids have no candidate" in shown.err


def test_photos_in_tar_shards(tmp_path: Path) -> None:
    import tarfile

    photos = sorted((ROOT / "demo" / "photos").glob("*.jpg"))[:3]
    for number in range(2):
        with tarfile.open(tmp_path / f"s-{number}.tar", "w") as archive:
            for place, photo in enumerate(photos):
                archive.add(photo, f"{number}{place}.jpg")
                member = tarfile.TarInfo(f"{number}{place}.txt")
                text = f"a cup of coffee number {place}".encode()
                member.size = len(text)
                archive.addfile(member, io.BytesIO(text))
    plain = [{"id": f"{n}{p}", "candidate": f"a cup of coffee number {p}", "image": photo.name}
             for n in range(2) for p, photo in enumerate(photos)]  # fmt: skip
    (tmp_path / "plain.jsonl").write_text("".join(json.dumps(row) + "\n" for row in plain))
    assert main(["score", str(tmp_path / "s-{0..1}.tar"), "-m", "vse", "-q", "-o", str(tmp_path / "tar.jsonl"),
                 "--shard-records", "1", "--cache", "off"]) == 0  # fmt: skip
    assert main(["score", str(tmp_path / "plain.jsonl"), "-m", "vse", "-q", "-o", str(tmp_path / "dir.jsonl"),
                 "--images", str(photos[0].parent), "--cache", "off"]) == 0  # fmt: skip
    one, two = (content(tmp_path / name) for name in ("tar.jsonl", "dir.jsonl"))
    assert [row["id"] for row in one] == [row["id"] for row in two]
    assert [row["vse"] for row in one] == pytest.approx([row["vse"] for row in two], abs=1e-6)


# --- what is never lost -----------------------------------------------------------------------------------------


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
