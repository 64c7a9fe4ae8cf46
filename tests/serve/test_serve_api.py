"""The JSON API: what it answers, against the library asked directly."""

from __future__ import annotations

import pytest
from served import PHOTOS, Client, photo

import vericap
from vericap.metrics.registry import names

CAPTION = "A cup of coffee next to a slice of cake, a fork and a laptop."
REFERENCES = (
    ("references", "A red cup of espresso on a saucer."),
    ("references", "A cup of coffee with a spoon."),
)


def test_scores_are_those_of_the_library(client: Client) -> None:
    wanted = "vifidel,chair,spice,rouge-l,cider-d"
    found = client.post("/score", photo(), ("caption", CAPTION), *REFERENCES, ("metrics", wanted)).json()["scores"]
    direct = vericap.score(
        [CAPTION],
        [[text for _, text in REFERENCES]],
        wanted,
        image_names=[(PHOTOS / "coffee.jpg").read_bytes()],
        df="coco-val",
        cache="off",
    )
    assert list(found) == wanted.split(",")
    for name, score in found.items():
        assert score["value"] == pytest.approx(float(direct[name][0]), abs=1e-6)
        assert score["signature"] == direct.corpus[name].signature


def test_check(client: Client) -> None:
    found = client.post("/check", photo(), ("caption", CAPTION), *REFERENCES).json()
    words = {word["text"]: word for word in found["words"]}
    assert words["laptop"]["support"] < 0.3
    assert words["laptop"]["source"] == "image"
    assert words["cup"]["support"] > 0.7
    x0, y0, x1, y1 = words["cup"]["region"]
    assert 0 <= x0 < x1 <= 1
    assert 0 <= y0 < y1 <= 1
    assert CAPTION[words["fork"]["start"] : words["fork"]["end"]] == "fork"
    assert any("spoon" in item["text"] for item in found["missing"])
    for name in ("fidelity", "adequacy", "fluency", "verdict"):
        assert (found[name] is not None) == (name in names())  # no number is made up


def test_explain(client: Client) -> None:
    parts = (photo(), ("caption", CAPTION), *REFERENCES, ("metrics", "chair"), ("metrics", "spice"))
    found = client.post("/explain", *parts).json()
    assert set(found["reasons"]) == {"chair", "spice"}
    assert "graphs" not in found["reasons"]["spice"]
    assert "graphs" in client.post("/explain", *parts, ("full", "true")).json()["reasons"]["spice"]


def test_view_is_what_the_report_draws(client: Client) -> None:
    found = client.post("/view", photo(), ("caption", CAPTION), *REFERENCES, ("metrics", "sentence")).json()
    assert found["rows"]["text"] == [CAPTION]
    weak = found["rows"]["weak"][0]
    assert "laptop" in [CAPTION[a:b] for a, b in zip(weak[::2], weak[1::2])]
    shown = [metric["name"] for metric in found["head"]["metrics"]]
    assert shown[-1] == "sentence"
    assert len(shown) > 3
    assert all(metric["edges"][0] < metric["edges"][1] for metric in found["head"]["metrics"])


def test_without_a_photo_or_references(client: Client) -> None:
    text_alone = client.post("/score", ("caption", "a dog runs on the grass")).json()["scores"]
    assert text_alone  # what needs neither
    refused = client.post("/score", ("caption", "a dog"), ("metrics", "vse"))
    assert (refused.status, "looks at the photo" in refused.error) == (422, True)
    refused = client.post("/score", ("caption", "a dog"), ("metrics", "rouge-l"))
    assert (refused.status, "references" in refused.error) == (422, True)


def test_japanese(client: Client) -> None:
    parts = (("caption", "犬が芝生を走る。"), ("references", "犬が走っている。"), ("metrics", "rouge-l"))
    found = client.post("/score", *parts).json()
    assert found["lang"] == "ja"
    assert 0 < found["scores"]["rouge-l"]["value"] < 1
    refused = client.post("/score", *parts, ("metrics", "spice"))
    assert (refused.status, "language" in refused.error) == (422, True)


def test_metrics_and_health(client: Client) -> None:
    found = client.get("/metrics").json()
    listed = {metric["name"]: metric for metric in found["metrics"]}
    assert "vifidel" in listed
    assert "clipscore" not in listed  # works only with a model that an option names
    assert "p" in listed["vifidel"]["options"]
    for metric in listed.values():  # nothing that could name a file
        for option in metric["options"].values():
            assert option["choices"] or isinstance(option["default"], bool | int | float)
    assert found["sets"]["coco"]
    assert client.get("/health").json()["status"] in ("ok", "warming")


def test_openapi_names_what_there_is(client: Client) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    assert {"/check", "/score", "/explain", "/metrics", "/health", "/batch"} <= set(paths)
    assert "multipart/form-data" in paths["/check"]["post"]["requestBody"]["content"]


def test_examples_ship(client: Client) -> None:
    entries = client.get("/examples").json()
    assert len(entries) == 36
    for name in {entry["photo"] for entry in entries}:
        answer = client.get(f"/examples/{name}")
        assert (answer.status, answer.body[:3]) == (200, b"\xff\xd8\xff")
    assert client.get("/examples/CREDITS.md").status == 404
