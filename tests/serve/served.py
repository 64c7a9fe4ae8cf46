"""A server in a thread of the test process, and a client that says exactly what it is told to say."""

from __future__ import annotations

import http.client
import io
import json
import secrets
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PIL import Image

from vericap.core.shipped import ROOT
from vericap.serve.app import Service
from vericap.serve.http import Address, bound, server

PHOTOS = ROOT / "demo" / "photos"
Part = tuple[str, str | bytes] | tuple[str, str, bytes]  # name, text; or name, file name, bytes


@dataclass
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> str:
        """The one sentence of a refusal."""
        found = self.json()
        assert list(found) == ["error"]
        sentence = str(found["error"])
        assert sentence.strip()
        assert "\n" not in sentence
        assert "Traceback" not in sentence
        return sentence


@dataclass
class Client:
    """Talks to one server."""

    port: int
    headers: dict[str, str] = field(default_factory=dict)

    def ask(self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            connection.request(method, path, body, {**self.headers, **(headers or {})})
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, found, answer.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, headers=headers)

    def post(self, path: str, *parts: Part, headers: dict[str, str] | None = None) -> Answer:
        body, kind = multipart(parts)
        return self.ask("POST", path, body, {"Content-Type": kind, **(headers or {})})


def multipart(parts: Sequence[Part]) -> tuple[bytes, str]:
    """A multipart body and its content type."""
    edge = secrets.token_hex(16)
    lines: list[bytes] = []
    for part in parts:
        name, *rest = part
        file = f'; filename="{rest[0]}"' if len(rest) == 2 else ""
        value = rest[-1]
        lines += [
            f'--{edge}\r\nContent-Disposition: form-data; name="{name}"{file}\r\n'.encode(),
            b"Content-Type: application/octet-stream\r\n\r\n" if file else b"\r\n",
            value.encode() if isinstance(value, str) else value,
            b"\r\n",
        ]
    return b"".join([*lines, f"--{edge}--\r\n".encode()]), f"multipart/form-data; boundary={edge}"


def photo(name: str = "coffee.jpg") -> tuple[str, str, bytes]:
    """A photo that ships, as a part of a form."""
    return "image", name, (PHOTOS / name).read_bytes()


def picture(size: tuple[int, int] = (64, 48), colour: str = "green", kind: str = "PNG") -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", size, colour).save(stream, kind)
    return stream.getvalue()


@contextmanager
def serving(service: Service, *, token: str = "", host: str = "127.0.0.1", warm: bool = False) -> Iterator[Client]:
    """A server on a free port; it ends with the block. `warm` waits until its networks are open."""
    socket = bound(Address.of(host, 0, token))
    address = Address.of(host, socket.getsockname()[1], token)
    running = server(service, address)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [socket]}, daemon=True)
    thread.start()
    try:
        end = time.monotonic() + 240
        while not (running.started and (service.ready or not warm)) and time.monotonic() < end:
            time.sleep(0.05)
        yield Client(address.port)
    finally:
        running.should_exit = True
        thread.join(timeout=20)
        socket.close()


def lines(records: Sequence[dict[str, Any]], path: Path) -> Path:
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), "utf-8")
    return path
