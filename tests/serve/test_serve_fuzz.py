"""Requests made of the server's own OpenAPI description, valid and not: never an error of the server.

test_schemathesis.py does the same with a fuzzer of others.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from served import Client, Part, photo, picture

QUICK = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
NAMES = ["rouge-l", "bleu-4", "chair", "lm", "rouge-l:beta=2", "coco", "vifidel:p=1", "mean(bleu-1,rouge-l)"]
texts = st.one_of(
    st.text(max_size=60),
    st.sampled_from(
        ["a dog runs", "???", "🐕", "犬が走る", "<b>x</b>", "a" * 200, "-1", "\u202e", "'; DROP TABLE", "%s%n"]
    ),
)
files = st.sampled_from(
    [photo()[2], picture(), picture(kind="GIF"), b"", b"x", b"GIF89a", picture((1, 1)), picture()[:80]]
)
fields: dict[str, st.SearchStrategy[Any]] = {
    "caption": texts,
    "references": texts,
    "lang": st.one_of(st.sampled_from(["", "en", "ja", "de", "zh"]), texts),
    "metrics": st.one_of(st.sampled_from(NAMES), texts),
    "full": st.sampled_from(["true", "false", "", "7"]),
    "explain": st.sampled_from(["true", "false", "x"]),
}


@lru_cache(maxsize=4)
def described(port: int) -> Any:
    return Client(port).get("/openapi.json").json()


def forms(port: int) -> dict[str, dict[str, Any]]:
    """Fields of the form of every path that takes one."""
    found = described(port)
    schemas = {
        path: own["post"]["requestBody"]["content"]["multipart/form-data"]["schema"]["$ref"].split("/")[-1]
        for path, own in found["paths"].items()
        if "post" in own
    }
    return {path: found["components"]["schemas"][name]["properties"] for path, name in schemas.items()}


def parts_of(data: st.DataObject, properties: dict[str, Any]) -> list[Part]:
    parts: list[Part] = []
    for name in properties:
        times = data.draw(st.integers(0, 2) if name in ("references", "metrics", "photos") else st.integers(0, 1))
        for _ in range(times):
            if name in fields:
                parts.append((name, data.draw(fields[name]).encode("utf-8", "replace")))
            elif name == "captions":
                line = data.draw(
                    st.sampled_from([b'{"caption": "a dog", "references": ["a dog"]}\n', b"caption\na\n", b"\xff"])
                )
                parts.append((name, data.draw(st.sampled_from(["a.jsonl", "a.csv", "a.json", "b"])), line))
            else:
                parts.append((name, "x.jpg", data.draw(files)))
    return parts


def test_every_form_is_covered(client: Client) -> None:
    known = {*fields, "image", "photos", "captions"}
    found = forms(client.port)
    assert {"/check", "/score", "/explain", "/batch"} <= set(found)
    assert all(set(properties) <= known for properties in found.values())


@QUICK
@given(data=st.data())
def test_forms(client: Client, data: st.DataObject) -> None:
    found = forms(client.port)
    path = data.draw(st.sampled_from(sorted(found)))
    answer = client.post(path, *parts_of(data, found[path]))
    documented = described(client.port)["paths"][path]["post"]["responses"]
    if answer.status == 503 and path == "/batch":
        return  # too many uploads at once, as the limits say
    assert answer.status < 500, answer.body
    assert str(answer.status) in documented
    if answer.status >= 400:
        assert answer.error


@QUICK
@given(
    method=st.sampled_from(["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE"]),
    path=st.one_of(
        st.sampled_from(
            ["/", "/check", "/score", "/metrics", "/health", "/batch/x", "/batch/x/scores.csv", "/scores/1"]
        ),
        st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=30).map(lambda text: "/" + text),
    ),
    body=st.binary(max_size=40),
    kind=st.sampled_from(
        ["", "multipart/form-data; boundary=x", "application/json", "application/x-www-form-urlencoded"]
    ),
)
def test_anything(client: Client, method: str, path: str, body: bytes, kind: str) -> None:
    answer = client.ask(method, path, body, {"Content-Type": kind})
    assert answer.status < 500
