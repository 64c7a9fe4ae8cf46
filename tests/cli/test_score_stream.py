"""Large inputs: pieces give what the whole gives."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from streams import METRICS, content, rows, score, table, vericap, written

from vericap.cli import main
from vericap.core.shipped import ROOT


@pytest.fixture
def captions(tmp_path: Path) -> Path:
    return written(tmp_path)


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
