"""What stands before the application: who may ask, how much may be sent and how slowly, and what every answer says."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from tempfile import SpooledTemporaryFile
from typing import IO, Any
from urllib.parse import parse_qs, quote, urlsplit

from vericap.serve.limits import MB, Limits, Refused

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

COOKIE = "vericap-token"
LOOPBACK = frozenset(("localhost", "127.0.0.1", "::1"))
OPEN = frozenset(("/health",))  # answered without a token
BATCH = "/batch"  # where more may be sent
_READ = 256 * 1024
_LONGEST = 600.0  # seconds after which a request is given up, whoever is slow: a download included
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}


class Guard:
    """Middleware around an application.

    Parameters
    ----------
    app : what answers the requests that pass.
    limits : bytes and seconds.
    token : without it nothing but `OPEN` is answered; None where the server listens on this machine alone.
    hosts : names the server goes by; other names are refused, for a web page may have had its own name resolved to this
        machine (DNS rebinding). Empty: any name, which is safe where a token is asked for.
    """

    def __init__(
        self, app: Application, limits: Limits, *, token: str | None = None, hosts: frozenset[str] = LOOPBACK
    ) -> None:
        self.app, self.limits, self.token, self.hosts = app, limits, token, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # nothing here speaks another protocol
        reply = _Reply(send)
        try:
            headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
            self._check_caller(scope, headers)
            if self._enters(scope):
                await reply.enter(scope["path"], self.token or "")
                return
            with await self._body(scope, headers, receive) as body:
                await asyncio.wait_for(self.app(scope, _Replay(body, receive), reply), _LONGEST)
        except Refused as refused:
            await reply.refuse(refused)
        except (asyncio.TimeoutError, TimeoutError):
            await reply.refuse(Refused(503, "The answer took too long.", retry=5))

    # --- who asks -----------------------------------------------------------------------------------------------

    def _check_caller(self, scope: Scope, headers: dict[str, str]) -> None:
        host = headers.get("host", "")
        if self.hosts and name_of(host) not in self.hosts:
            raise Refused(421, "This server does not go by that name; open it as 127.0.0.1 or localhost.")
        origin = headers.get("origin")
        if origin is not None and place_of(origin) != host:
            raise Refused(403, "Requests from other web pages are not answered.")
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and scope["method"] != "GET":
            raise Refused(403, "Requests from other web pages are not answered.")
        if self.token is not None and scope["path"] not in OPEN and not self._known(scope, headers):
            raise Refused(401, "A token is needed: send the header Authorization: Bearer TOKEN, or open /?token=TOKEN.")

    def _known(self, scope: Scope, headers: dict[str, str]) -> bool:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        tokens = [given.strip()] if scheme.lower() == "bearer" else []
        try:
            cookies = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            cookies = SimpleCookie()
        tokens += [cookies[COOKIE].value] if COOKIE in cookies else []
        tokens += _asked(scope)
        return any(secrets.compare_digest(given.encode(), (self.token or "").encode()) for given in tokens)

    def _enters(self, scope: Scope) -> bool:
        """Whether a person opens the page with the token in its address, which then goes into a cookie."""
        return self.token is not None and scope["method"] == "GET" and bool(_asked(scope))

    # --- what is sent -------------------------------------------------------------------------------------------

    async def _body(self, scope: Scope, headers: dict[str, str], receive: Receive) -> IO[bytes]:
        """The whole body, refused as soon as it is too large or too slow; larger ones lie on disk."""
        most = self.limits.batch_bytes if scope["path"] == BATCH else self.limits.request_bytes
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > most:
            raise _too_large(most)
        end = time.monotonic() + self.limits.upload_seconds * (4 if scope["path"] == BATCH else 1)
        body: IO[bytes] = SpooledTemporaryFile(max_size=2 * MB)  # noqa: SIM115 - closed by the caller
        try:
            size, more = 0, scope["method"] not in ("GET", "HEAD")
            while more:
                try:
                    message = await asyncio.wait_for(receive(), max(0.01, end - time.monotonic()))
                except (asyncio.TimeoutError, TimeoutError):
                    raise Refused(408, "The request arrived too slowly.") from None
                if message["type"] == "http.disconnect":
                    raise Refused(499, "The client has gone.")
                size += len(message.get("body", b""))
                if size > most:
                    raise _too_large(most)
                body.write(message.get("body", b""))
                more = message.get("more_body", False)
            body.seek(0)
        except BaseException:
            body.close()
            raise
        return body


class _Replay:
    """A body that was read before, given to the application as if it arrived now."""

    def __init__(self, body: IO[bytes], receive: Receive) -> None:
        self.body, self.receive, self.more = body, receive, True

    async def __call__(self) -> Message:
        if not self.more:
            return await self.receive()  # what comes now is that the client has gone
        data = self.body.read(_READ)
        self.more = len(data) == _READ
        return {"type": "http.request", "body": data, "more_body": self.more}


class _Reply:
    """Sends an answer with the headers that every answer has."""

    def __init__(self, send: Send) -> None:
        self.send, self.started = send, False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            given = {name.lower() for name, _ in message["headers"]}
            more = {**HEADERS, "cache-control": "no-store"}
            message["headers"] = [
                *message["headers"],
                *((n.encode(), v.encode()) for n, v in more.items() if n.encode() not in given),
            ]
        await self.send(message)

    async def refuse(self, refused: Refused) -> None:
        """One sentence; the connection is closed where the rest of a request is not wanted."""
        if self.started or refused.status == 499:
            return
        extra = {"retry-after": str(refused.retry)} if refused.retry else {}
        if refused.status in (408, 413):
            extra["connection"] = "close"
        if refused.status == 401:
            extra["www-authenticate"] = "Bearer"
        await self._whole(refused.status, {"content-type": "application/json", **extra}, error_body(refused.sentence))

    async def enter(self, path: str, token: str) -> None:
        cookie = f"{COOKIE}={token}; Path=/; HttpOnly; SameSite=Strict"
        where = "/" + quote(path.lstrip("/\\"))  # a second slash would lead to another server
        await self._whole(303, {"location": where, "set-cookie": cookie}, b"")

    async def _whole(self, status: int, headers: dict[str, str], body: bytes) -> None:
        pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
        pairs.append((b"content-length", str(len(body)).encode()))
        await self({"type": "http.response.start", "status": status, "headers": pairs})
        await self({"type": "http.response.body", "body": body})


def error_body(sentence: str) -> bytes:
    """An error as every one is told: {"error": "one sentence"}."""
    return json.dumps({"error": sentence}, ensure_ascii=True).encode("ascii")


def name_of(host: str) -> str:
    """The name in a Host header, without its port.

    >>> name_of("localhost:8000"), name_of("[::1]:8000"), name_of("evil.example")
    ('localhost', '::1', 'evil.example')
    """
    try:
        return (urlsplit(f"//{host}").hostname or "").rstrip(".").lower()
    except ValueError:
        return ""


def place_of(origin: str) -> str:
    """The host and port of an origin; empty where it is none."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""


def _asked(scope: Scope) -> list[str]:
    """Tokens in the address."""
    return parse_qs(scope["query_string"].decode("latin-1"), max_num_fields=20).get("token", [])


def _too_large(most: int) -> Refused:
    return Refused(413, f"The request is too large; at most {most // MB} MB are read.")
