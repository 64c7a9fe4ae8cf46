"""Uploads of many captions: the same scores as a run of the library, progress, downloads, and what is refused."""

from __future__ import annotations

import csv
import io
import json
import time
from pathlib import Path
from typing import Any

import pytest
import served
from served import PHOTOS, Client

import vericap
from vericap.serve.app import Service
from vericap.serve.limits import Limits

DEMO = PHOTOS.parent
METRICS = "rouge-l,cider-d,chair,bleu-4"


def records() -> list[dict[str, Any]]:
    references = {own["id"]: own["references"] for own in _read("references")}
    return [{**own, "references": references[own["id"]]} for own in _read("inventive")]


def _read(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DEMO / f"{name}.jsonl").read_text("utf-8").splitlines()]


def file_of(found: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in found).encode()


def photos() -> list[tuple[str, str, bytes]]:
    return [("photos", path.name, path.read_bytes()) for path in sorted(PHOTOS.glob("*.jpg"))]


def finished(client: Client, name: str) -> dict[str, Any]:
    for _ in range(1200):
        found: dict[str, Any] = client.get(f"/batch/{name}").json()
        if found["status"] not in ("waiting", "running"):
            return found
        time.sleep(0.1)
    raise AssertionError("the upload never ended")


def test_scores_are_those_of_a_run(client: Client) -> None:
    sent = client.post(
        "/batch", ("captions", "mine.jsonl", file_of(records())), *photos(), ("metrics", METRICS), ("explain", "true")
    )
    assert sent.status == 202
    found = finished(client, sent.json()["id"])
    assert (found["status"], found["done"], found["captions"]) == ("done", 12, 12)
    own = records()
    direct = vericap.score(
        {r["id"]: r["candidate"] for r in own},
        {r["id"]: r["references"] for r in own},
        METRICS,
        image_names={r["id"]: r["image"] for r in own},
        images=PHOTOS,
        cache="off",
    )
    for name in METRICS.split(","):
        assert found["scores"][name]["value"] == pytest.approx(float(direct.corpus[name]), abs=1e-9)
        assert found["scores"][name]["signature"] == direct.corpus[name].signature
    lines = client.get(f"/batch/{found['id']}/scores.jsonl")
    assert "attachment" in lines.headers["content-disposition"]
    rows = [json.loads(line) for line in lines.body.decode().splitlines()]
    assert [row["cider-d"] for row in rows] == pytest.approx(direct["cider-d"].tolist(), abs=1e-9)
    assert all("words" in row["rouge-l.explanation"] for row in rows)
    table = list(csv.DictReader(io.StringIO(client.get(f"/batch/{found['id']}/scores.csv").body.decode())))
    assert [row["id"] for row in table] == [row["id"] for row in rows]
    assert client.get(f"/batch/{found['id']}/scores.exe").status == 404
    assert client.ask("DELETE", f"/batch/{found['id']}").status == 204
    assert client.get(f"/batch/{found['id']}").status == 404


def test_records_lead_to_no_file_of_the_server(client: Client, tmp_path: Path) -> None:
    secret = tmp_path / "secret.jpg"
    secret.write_bytes((PHOTOS / "coffee.jpg").read_bytes())
    names = [str(secret), f"../{secret.name}", secret.as_uri(), str(PHOTOS / "coffee.jpg")]
    own = [{"id": str(n), "candidate": "a cup", "image": name} for n, name in enumerate(names)]
    refused = client.post("/batch", ("captions", "mine.jsonl", file_of(own)), ("metrics", "vse"))
    assert (refused.status, "photos" in refused.error) == (422, True)
    own.append({"id": "sent", "candidate": "a cup", "image": "coffee.jpg"})
    sent = client.post("/batch", ("captions", "x.jsonl", file_of(own)), *photos(), ("metrics", "vse"))
    found = finished(client, sent.json()["id"])
    rows = [json.loads(line) for line in client.get(f"/batch/{found['id']}/scores.jsonl").body.splitlines()]
    scored = [row["id"] for row in rows if row["vse"] is not None]
    assert scored == ["3", "sent"]  # by the name of a photo that was sent along, and by nothing else
    assert rows[0]["problem"]


def test_a_long_caption_is_one_problem(client: Client) -> None:
    own = [
        {"id": "long", "candidate": "word " * 400, "references": ["a dog"]},
        {"id": "good", "candidate": "a dog", "references": ["a dog"]},
    ]
    sent = client.post("/batch", ("captions", "x.jsonl", file_of(own)), ("metrics", "rouge-l")).json()
    found = finished(client, sent["id"])
    assert found["scores"]["rouge-l"]["count"] == 1
    assert any("at most" in text for text in found["problems"])


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("x.jsonl", b""),
        ("x.jsonl", b"no json"),
        ("x.jsonl", b"\x1f\x8b\x08packed"),
        ("x.json", b"[" * 100_000),
        ("x.csv", b"a,b\n1,2\n"),
        ("x.csv", b"\0\0\0"),
        ("x.pkl", b"\x80\x04."),
        ("x.parquet", b"PAR1"),
        ("../../x.sh", b"a"),
        ("", b'{"caption": "a dog"}'),
        ("x.jsonl", b'{"caption": 3}\n'),
    ],
)
def test_files_that_are_no_captions(client: Client, name: str, data: bytes) -> None:
    answer = client.post("/batch", ("captions", name, data), ("metrics", "lm"))
    assert answer.status in (400, 413, 422)
    assert "/tmp" not in answer.error  # nothing of the server's folders


def test_limits() -> None:
    with served.serving(Service(Limits(batch_captions=3, batches=1))) as client:
        four = file_of([{"id": str(n), "candidate": "a dog", "references": ["a dog"]} for n in range(4)])
        refused = client.post("/batch", ("captions", "x.jsonl", four), ("metrics", "rouge-l"))
        assert (refused.status, "at most 3" in refused.error) == (422, True)
        three = b"".join(four.splitlines(keepends=True)[:3])
        first = client.post("/batch", ("captions", "x.jsonl", three), ("metrics", "rouge-l")).json()
        second = client.post("/batch", ("captions", "x.jsonl", three), ("metrics", "rouge-l"))
        assert second.status == 503  # the first waits behind the networks that are being opened
        assert int(second.headers["retry-after"]) > 0
        assert client.get(f"/batch/{first['id']}/scores.csv").status == 409
        assert finished(client, first["id"])["status"] == "done"
        third = client.post("/batch", ("captions", "x.jsonl", three), ("metrics", "rouge-l")).json()
        assert client.get(f"/batch/{first['id']}").status == 404  # it made place
        client.ask("DELETE", f"/batch/{third['id']}")
