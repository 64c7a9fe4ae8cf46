"""Reports and tables of scores that are shown from disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import served
from PIL import Image

from vericap import cli
from vericap.core.errors import InputError
from vericap.serve.app import Service
from vericap.serve.score_table import ScoreTable, Wanted
from vericap.serve.shown import Shown

BAD = "</script><script>alert(1)</script>"


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `vericap score` writes, with reasons, as Parquet and as JSONL."""
    folder = tmp_path_factory.mktemp("scores")
    own = [
        {"id": f"n{n}", "candidate": f"a dog number {n} runs", "references": ["a dog runs", "the cat sleeps"]}
        for n in range(30)
    ]
    own[7]["candidate"] = f"{BAD} a zebra"
    own[11]["candidate"] = ""
    captions = served.lines(own, folder / "captions.jsonl")
    for ending in ("parquet", "jsonl"):
        words = ["score", str(captions), "--metrics", "rouge-l,bleu-4", "--explain", "--columns", "all", "--quiet"]
        assert cli.main([*words, "--output", str(folder / f"scores.{ending}")]) == 0
    return folder


@pytest.mark.parametrize("ending", ["parquet", "jsonl"])
def test_pages_and_rows(scores: Path, ending: str) -> None:
    table = ScoreTable.of(scores / f"scores.{ending}")
    assert (len(table), table.metrics) == (30, ["rouge-l", "bleu-4"])
    count, rows = table.page(Wanted(), 0, 10)
    assert (count, [row["id"] for row in rows]) == (30, [f"n{n}" for n in range(10)])
    values = np.array([row["rouge-l"] for row in table.page(Wanted(sort="rouge-l"), 0, 30)[1]])
    assert (np.diff(values) >= 0).all()
    best = table.page(Wanted(sort="-rouge-l"), 0, 1)[1][0]
    assert best["rouge-l"] == values.max()
    count, rows = table.page(Wanted(query="ZEBRA"), 0, 10)
    assert (count, rows[0]["row"]) == (1, 7)
    count, _ = table.page(Wanted(metric="rouge-l", low=0.01), 0, 10)
    assert count == int((values >= 0.01).sum())
    record = table.record(11)
    assert record["id"] == "n11"
    assert record["references"]
    with pytest.raises(InputError, match="no row"):
        table.record(30)
    table.close()


def test_a_million_rows(tmp_path: Path) -> None:
    """Sorting, searching and opening rows of a table that is never held as a whole."""
    size = 1_000_000
    values = np.random.default_rng(0).random(size)
    schema = pa.schema([("id", pa.string()), ("candidate", pa.string()), ("rouge-l", pa.float64())])
    with pq.ParquetWriter(tmp_path / "big.parquet", schema) as writer:
        for start in range(0, size, 100_000):
            part = range(start, start + 100_000)
            columns = [[str(n) for n in part], [f"caption {n}" for n in part], values[start : start + 100_000]]
            writer.write_table(pa.table(dict(zip(schema.names, columns)), schema=schema))
    before = pa.total_allocated_bytes()
    table = ScoreTable.of(tmp_path / "big.parquet")
    assert len(table) == size
    assert pa.total_allocated_bytes() - before < 20 << 20  # the table lies in a file that is mapped
    worst = table.page(Wanted(sort="rouge-l"), 0, 50)[1]
    assert [row["row"] for row in worst] == np.argsort(values.astype(np.float32), kind="stable")[:50].tolist()
    count, rows = table.page(Wanted(query="caption 99999"), 10, 5)
    found = [n for n in range(size) if "99999" in str(n)]
    assert (count, [row["row"] for row in rows]) == (len(found), found[10:15])
    assert table.record(999_999) == {"id": "999999", "candidate": "caption 999999", "rouge-l": values[-1]}
    table.close()


def test_parts_of_a_folder(scores: Path, tmp_path: Path) -> None:
    lines = (scores / "scores.jsonl").read_text("utf-8").splitlines(keepends=True)
    (tmp_path / "1.jsonl").write_text("".join(lines[:10]))
    (tmp_path / "2.jsonl").write_text("\n" + "".join(lines[10:]))
    table = ScoreTable.of(tmp_path)
    assert [table.record(row)["id"] for row in (0, 9, 10, 29)] == ["n0", "n9", "n10", "n29"]
    table.close()


@pytest.mark.parametrize(
    ("name", "text"), [("x.jsonl", "no json\n"), ("x.jsonl", '{"a": 1}\n'), ("x.parquet", "x"), ("x.txt", "x")]
)
def test_files_without_scores(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=name):
        Shown.of(tmp_path / name)
    with pytest.raises(InputError, match="no such"):
        Shown.of(tmp_path / "nothing")


def test_scores_over_http(scores: Path, tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    Image.new("RGB", (800, 600), "green").save(tmp_path / "photos" / "n3.jpg")
    with served.serving(Service(shown=Shown.of(scores / "scores.parquet", tmp_path / "photos"))) as client:
        assert client.get("/shown").json() == {"report": False, "scores": True}
        found = client.get("/scores?count=5&sort=-rouge-l").json()
        assert (found["all"], found["found"], len(found["rows"])) == (30, 30, 5)
        one = client.get("/scores/7").json()
        assert one["rows"]["text"] == [f"{BAD} a zebra"]
        assert one["detail"]["reasons"]
        assert "tok:ptb" in one["head"]["metrics"][0]["signature"]
        assert client.get("/scores/3/photo").body[8:12] == b"WEBP"
        assert client.get("/scores/4/photo").status == 404
        for bad in (
            "/scores/30",
            "/scores/-1",
            "/scores/x",
            "/scores?start=-1",
            "/scores?count=9999",
            "/scores?low=x",
        ):
            answer = client.get(bad)
            assert answer.status in (404, 422)
            assert answer.error
        assert client.get("/scores?low=nan&metric=rouge-l").json()["found"] == 0
        assert client.get(f"/scores?sort={quote('candidate')}&q={quote('.*(')}").json()["found"] == 0


def test_a_photo_outside_the_folder_is_not_shown(tmp_path: Path) -> None:
    Image.new("RGB", (8, 8)).save(tmp_path / "secret.jpg")
    (tmp_path / "photos").mkdir()
    own = [{"id": str(n), "candidate": "a", "rouge-l": 0.5, "image": name}
           for n, name in enumerate(["../secret.jpg", str(tmp_path / "secret.jpg"), "\0", ""])]  # fmt: skip
    file = served.lines(own, tmp_path / "scores.jsonl")
    with served.serving(Service(shown=Shown.of(file, tmp_path / "photos"))) as client:
        for row in range(4):
            assert client.get(f"/scores/{row}/photo").status == 404


def test_a_report(tmp_path: Path) -> None:
    own: list[dict[str, Any]] = [{"id": "1", "candidate": "a dog", "references": ["a dog"]}]
    captions = served.lines(own, tmp_path / "captions.jsonl")
    words = ["report", str(captions), "--metrics", "rouge-l", "--output", str(tmp_path / "report"), "--quiet"]
    assert cli.main(words) == 0
    (tmp_path / "report" / "secret.txt").write_text("secret")
    (tmp_path / "report" / "data" / "link-1.js").symlink_to(captions)
    with served.serving(Service(shown=Shown.of(tmp_path / "report"))) as client:
        assert client.get("/shown").json() == {"report": True, "scores": False}
        assert client.get("/report").status == 307
        page = client.get("/report/")
        assert page.headers["content-type"].startswith("text/html")
        for name in ("caption.js", "style.css", "data/head.js", "data/why-00000.js"):
            assert client.get(f"/report/{name}").status == 200
        for name in (
            "secret.txt",
            "data/link-1.js",
            "../captions.jsonl",
            "%2e%2e/x",
            "data/../secret.txt",
        ):
            assert client.get(f"/report/{name}").status == 404
        assert json.loads(client.get("/scores").body)["error"]
