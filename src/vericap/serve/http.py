"""Listening: uvicorn with a clock for clients that connect and then say nothing."""

from __future__ import annotations

import asyncio
import ipaddress
import re
import secrets
import socket
from dataclasses import dataclass
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from vericap.core.errors import InputError
from vericap.serve.app import Service, create_app
from vericap.serve.guard import LOOPBACK

HEADERS_SECONDS = 10.0  # in which the head of a request must have come
KEEP_ALIVE = 5  # seconds that a connection without a request stays open
CONNECTIONS = 256
_HEAD_BYTES = 16 * 1024
_TOKEN = 16  # letters that a token has at the least
_GOOD_TOKEN = re.compile(rf"[A-Za-z0-9_-]{{{_TOKEN},}}")


class PatientProtocol(H11Protocol):
    """Closes a connection whose request does not begin in time; uvicorn alone would wait for ever."""

    _clock: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wind()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._wind()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._clock is not None:
            self._clock.cancel()
        super().connection_lost(exc)

    def _wind(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
        self._clock = self.loop.call_later(HEADERS_SECONDS, self._look)

    def _look(self) -> None:
        working = self.cycle is not None and not self.cycle.response_complete
        if not working and not self.transport.is_closing():
            self.transport.close()


@dataclass(frozen=True)
class Address:
    """Where a server listens, and what is asked of who comes from elsewhere."""

    host: str
    port: int
    token: str | None

    @classmethod
    def of(cls, host: str, port: int, token: str = "") -> Address:
        """Beyond this machine a token is asked for: the one given, else a new one.

        >>> Address.of("127.0.0.1", 8000).token is None, len(Address.of("0.0.0.0", 8000).token or "") > 20
        (True, True)
        """
        if token and not _GOOD_TOKEN.fullmatch(token):
            raise InputError(f"`token=TOKEN` must have at least {_TOKEN} letters, digits, - or _")
        return cls(host, port, token or (None if is_loopback(host) else secrets.token_urlsafe(24)))

    @property
    def hosts(self) -> frozenset[str]:
        """Names the server goes by; any where a token is asked for."""
        return LOOPBACK if self.token is None else frozenset()

    def link(self) -> str:
        """The address to open in a browser."""
        name = {"0.0.0.0": socket.gethostname(), "::": socket.gethostname()}.get(self.host, self.host)
        shown = f"[{name}]" if ":" in name else name
        return f"http://{shown}:{self.port}/" + (f"?token={self.token}" if self.token else "")


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a server on that address.

    >>> is_loopback("localhost"), is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def server(service: Service, address: Address) -> uvicorn.Server:
    """A server that is ready to run."""
    options: dict[str, Any] = {
        "http": PatientProtocol,
        "ws": "none",
        "lifespan": "on",
        "log_level": "warning",
        "access_log": False,  # addresses may hold a token
        "server_header": False,
        "proxy_headers": False,
        "limit_concurrency": CONNECTIONS,
        "timeout_keep_alive": KEEP_ALIVE,
        "timeout_graceful_shutdown": 5,
        "h11_max_incomplete_event_size": _HEAD_BYTES,
    }
    app = create_app(service, token=address.token, hosts=address.hosts)
    return uvicorn.Server(uvicorn.Config(app, host=address.host, port=address.port, **options))


def bound(address: Address) -> socket.socket:
    """A socket that listens; an address that is taken is told in a sentence."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    found = socket.socket(family)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((address.host, address.port))
    except (OSError, OverflowError) as error:
        found.close()
        raise InputError(
            f"{address.host}:{address.port} cannot be listened on ({error}); choose another with `port=NUMBER`"
        ) from error
    return found
