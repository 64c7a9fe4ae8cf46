"""What is refused: everything from outside that is too much, of a wrong kind, or names something of the server."""

from __future__ import annotations

import contextlib
import io
import socket
import struct
import time
import zlib

import pytest
import served
from served import Client, multipart, photo, picture

from vericap.serve.app import Service
from vericap.serve.limits import MB, Limits

SCRIPT = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


def refused(client: Client, *parts: served.Part, path: str = "/score") -> tuple[int, str]:
    answer = client.post(path, *parts)
    return answer.status, answer.error


@pytest.mark.parametrize(
    "name",
    [
        "/etc/passwd", "../../etc/passwd", "py:/tmp/x.py:f", "py:x.py:f", "vse:model=/etc", "vse:model=default",
        "lm:model=gpt2", "chair:objects=/etc/passwd", "spice:parser=en_core_web_sm", "jaspice:knp=/etc/passwd",
        "vifidel:vectors=/tmp/x", "cider-d:df=/etc/passwd", "sentence:encoder=/tmp", "meteor:matchers=exact",
        "mean(rouge-l,vse:model=/etc)", "mean(py:x.py:f,rouge-l)", "mean(mean(rouge-l),bleu-4)", "nothing", "",
        "rouge-l:beta=nan", "rouge-l:beta=1e99", "rouge-l:beta=x", "rouge-l:alpha=1", "rouge-l:beta", "rouge-l:",
        "os", "vericap.metrics.rouge:RougeL", "x" * 100_000, "rouge-l\0", "RÖUGE", "mean(", "mean()", "clipscore",
    ],
)  # fmt: skip
def test_metrics_that_are_no_names(client: Client, name: str) -> None:
    parts = [("caption", "a dog"), ("references", "a dog runs"), photo(), ("metrics", name)]
    if name == "":
        assert client.post("/score", *parts).status == 200  # no name: the usual ones
        return
    for path in ("/score", "/explain", "/view"):
        status, sentence = refused(client, *parts, path=path)
        assert status == 422
        assert len(sentence) < 400


def test_every_option_that_is_free_text_is_refused(client: Client) -> None:
    from vericap.metrics.registry import metric_class, names

    free = [
        (name, key)
        for name in names()
        for key, option in metric_class(name).options.items()
        if not option.choices and not isinstance(option.default, bool | int | float)
    ]
    assert len(free) > 10
    for name, key in free:
        status, sentence = refused(client, ("caption", "a dog"), photo(), ("metrics", f"{name}:{key}=corpus"))
        assert (status, "cannot be set from outside" in sentence) == (422, True), (name, key)


@pytest.mark.parametrize(
    "parts",
    [
        [],
        [("caption", "")],
        [("caption", "   ")],
        [("caption", "a\0dog")],
        [("caption", "word " * 5000)],
        [("caption", "x" * 500_000)],
        [("caption", "\u72ac" * 400)],
        [("caption", "a dog"), ("lang", "klingon")],
        [("caption", "a dog"), ("lang", "../en")],
        [("caption", "a dog"), *[("references", "a dog")] * 500],
        [("caption", "a dog"), ("image", "no file")],
        [("caption", "a dog"), ("image", "x.jpg", b"")],
        [("caption", "a dog"), ("image", "x.jpg", b"no image at all")],
        [("caption", "a dog"), ("image", "x.jpg", b"<svg xmlns='http://www.w3.org/2000/svg'/>")],
        [("caption", "a dog"), ("image", "x.eps", b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n")],
        [("caption", "a dog"), ("image", "x.png", picture()[:60])],
        [("caption", "a dog"), ("full", "perhaps")],
    ],
)
def test_wrong_requests_get_a_sentence(client: Client, parts: list[served.Part]) -> None:
    status, sentence = refused(client, *parts, path="/explain")
    assert status in (400, 413, 422)
    assert len(sentence) < 300


def test_a_photo_that_is_damaged_behind_its_header(client: Client) -> None:
    whole = served.PHOTOS.joinpath("coffee.jpg").read_bytes()
    status, sentence = refused(client, ("caption", "a dog"), ("image", "x.jpg", whole[:900]))
    assert (status, "damaged" in sentence) == (422, True)


def bomb(side: int) -> bytes:
    """A PNG of a few kB that says it has side x side pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    rows = zlib.compress(b"\0" * min(4_000_000, side * 3), 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


@pytest.mark.parametrize("side", [7_000, 30_000, 2_000_000])
def test_bombs(client: Client, side: int) -> None:
    data = bomb(side)
    assert len(data) < 100_000
    status, sentence = refused(client, ("caption", "a dog"), ("image", "x.png", data))
    assert (status, "pixels" in sentence) == (422, True)
    assert client.get("/health").status == 200


def test_script_in_a_caption_stays_text(client: Client) -> None:
    answer = client.post("/view", ("caption", SCRIPT), ("references", SCRIPT), ("metrics", "rouge-l"))
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.json()["rows"]["text"] == [SCRIPT]
    for path in ("/nothing/<script>", "/examples/<script>", "/batch/<script>", "/report/<script>"):
        answer = client.get(path.replace("<", "%3C").replace(">", "%3E"))
        assert (answer.status, b"<" in answer.body) == (404, False)


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd", "/site/../app.py", "/site/..%2fapp.py", "/site/%2e%2e/app.py", "/site/live.html",
        "/examples/../references.jsonl", "/examples/..%2f..%2fdemo%2fcareful.jsonl", "/report/../../etc/passwd",
        "/report/%2e%2e%2f%2e%2e%2fetc%2fpasswd", "/report/index.html", "/site//etc/passwd", "//etc/passwd",
        "/batch/..%2f..%2fetc/scores.jsonl", "/scores/..%2f1", "/scores/0/photo", "/docs", "/redoc", "/site/",
    ],
)  # fmt: skip
def test_no_path_of_the_server_is_reachable(client: Client, path: str) -> None:
    answer = client.get(path)
    assert answer.status in (404, 422)
    assert answer.error


def test_headers_of_every_answer(client: Client) -> None:
    for path in ("/", "/site/live_main.js", "/metrics", "/nothing", "/examples/coffee.jpg"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert "server" not in headers
    page = client.get("/").body.decode()
    assert "<script>" not in page
    assert " onload=" not in page
    assert "http" not in page.replace("http-equiv", "")  # nothing from elsewhere


# --- bytes and seconds ------------------------------------------------------------------------------------------------


def sent_until_refused(client: Client, path: str, size: int, *, chunked: bool) -> tuple[int, bytes]:
    """Bytes of a huge upload that the server took, and what it said."""
    with socket.create_connection(("127.0.0.1", client.port), timeout=30) as line:
        length = b"Transfer-Encoding: chunked" if chunked else f"Content-Length: {size}".encode()
        line.sendall(
            f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=x\r\n".encode()
            + length
            + b"\r\n\r\n"
        )
        piece, done, answer = b"a" * 65536, 0, b""
        try:
            while done < size:
                line.sendall(b"10000\r\n" + piece + b"\r\n" if chunked else piece)
                done += len(piece)
        except OSError:
            pass  # the server has closed the connection
        with contextlib.suppress(OSError):
            answer = line.recv(65536)
        return done, answer


@pytest.mark.parametrize("path", ["/check", "/batch"])
@pytest.mark.parametrize("chunked", [False, True])
def test_huge_uploads_are_refused_while_they_come(client: Client, path: str, chunked: bool) -> None:
    limits = Limits()
    most = limits.batch_bytes if path == "/batch" else limits.request_bytes
    size = most + 100 * MB
    done, answer = sent_until_refused(client, path, size, chunked=chunked)
    assert done < most + 32 * MB  # what lies in the buffers of the two systems
    assert not answer or b" 413 " in answer
    assert client.get("/health").status == 200


def test_an_honest_client_reads_why_its_upload_is_refused(client: Client) -> None:
    answer = client.ask("POST", "/check", b"", {"Content-Length": str(10**9)})
    assert (answer.status, "too large" in answer.error) == (413, True)


def test_slow_clients_are_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    from vericap.serve import http

    monkeypatch.setattr(http, "HEADERS_SECONDS", 0.5)
    service = Service(Limits(upload_seconds=0.5))
    with served.serving(service) as client:
        lines = []
        for start in (b"", b"GET / HT", b"POST /check HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nabc"):
            line = socket.create_connection(("127.0.0.1", client.port), timeout=10)
            line.sendall(start)
            lines.append(line)
        time.sleep(0.2)
        assert client.get("/health").status == 200  # others are served meanwhile
        answers = [line.recv(65536) for line in lines]
        assert answers[:2] == [b"", b""]  # closed
        assert b" 408 " in answers[2]
        for line in lines:
            line.close()


def test_bytes_of_a_photo(client: Client) -> None:
    noise = io.BytesIO(b"\x89PNG\r\n\x1a\n" + b"\0" * (Limits().photo_bytes + 10)).getvalue()
    status, sentence = refused(client, ("caption", "a dog"), ("image", "x.png", noise))
    assert (status, "at most 10 MB" in sentence) == (413, True)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("multipart/form-data", b"x"),
        ("multipart/form-data; boundary=", b"x"),
        ("multipart/form-data; boundary=x", b"--x\r\nContent-Disposition: form-data\r\n\r\na\r\n--x--\r\n"),
        ("multipart/form-data; boundary=x", b"\xff\xfe" * 1000),
        ("application/json", b'{"caption": "a dog"}'),
        ("application/x-www-form-urlencoded", b"caption=a&metrics=%00"),
        ("text/plain", b"a dog"),
        ("", b"a dog"),
    ],
)
def test_bodies_of_other_kinds(client: Client, kind: str, body: bytes) -> None:
    answer = client.ask("POST", "/score", body, {"Content-Type": kind})
    assert 400 <= answer.status < 500
    assert answer.error


def test_a_form_without_files_is_read_too(client: Client) -> None:
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = client.ask("POST", "/score", b"caption=a+dog&references=a+dog&metrics=rouge-l", kind)
    assert answer.json()["scores"]["rouge-l"]["value"] == 1.0


def test_many_parts(client: Client) -> None:
    body, kind = multipart([("caption", "a dog"), *[(f"x{n}", "y") for n in range(3000)]])
    answer = client.ask("POST", "/check", body, {"Content-Type": kind})
    assert 400 <= answer.status < 500
    assert answer.error
