"""Who may ask: names of the server, other web pages, tokens."""

from __future__ import annotations

import pytest
import served
from served import Client

from vericap.core.errors import InputError
from vericap.serve.app import Service
from vericap.serve.http import Address

TOKEN = "correct-horse-battery-staple"


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "[::1", "localhost@evil"]
)
def test_other_names_are_refused(client: Client, host: str) -> None:
    """A page whose name was resolved to 127.0.0.1 (DNS rebinding) reads nothing."""
    answer = client.get("/metrics", Host=host)
    assert answer.status in (400, 421)
    assert b"vifidel" not in answer.body


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:9", "[::1]:8000", "LOCALHOST."])
def test_own_names_are_not(client: Client, host: str) -> None:
    assert client.get("/health", Host=host).status == 200


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": "http://["}, {"Sec-Fetch-Site": "cross-site"}],
)
def test_other_pages_cannot_send(client: Client, headers: dict[str, str]) -> None:
    answer = client.post("/score", ("caption", "a dog"), ("references", "a dog"), headers=headers)
    assert (answer.status, "other web pages" in answer.error) == (403, True)


def test_the_own_page_can_send(client: Client) -> None:
    headers = {"Origin": f"http://127.0.0.1:{client.port}", "Sec-Fetch-Site": "same-origin"}
    parts = (("caption", "a dog"), ("references", "a dog"), ("metrics", "rouge-l"))
    assert client.post("/score", *parts, headers=headers).status == 200


def test_token() -> None:
    with served.serving(Service(), token=TOKEN) as client:
        assert client.get("/health").status == 200
        for path in ("/", "/metrics", "/openapi.json", "/site/live_main.js", "/nothing"):
            answer = client.get(path)
            assert (answer.status, "token" in answer.error) == (401, True)
            assert answer.headers["www-authenticate"] == "Bearer"
        for wrong in ({"Authorization": "Bearer wrong"}, {"Authorization": TOKEN}, {"Cookie": "vericap-token=x"}):
            assert client.ask("GET", "/metrics", headers=wrong).status == 401
        assert client.get("/metrics", Authorization=f"Bearer {TOKEN}").status == 200
        assert client.get("/metrics", Authorization=f"Bearer {TOKEN}", Host="any.name").status == 200
        entered = client.get(f"/?token={TOKEN}")
        assert (entered.status, entered.headers["location"]) == (303, "/")
        cookie = entered.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        assert client.get("/metrics", Cookie=cookie.partition(";")[0]).status == 200
        assert client.get(f"//evil.example?token={TOKEN}").headers["location"] == "/evil.example"
        assert client.get("/?token=wrong").status == 401


def test_beyond_this_machine_there_is_always_a_token() -> None:
    for host in ("0.0.0.0", "::", "192.168.1.2", "example.org"):
        assert len(Address.of(host, 8000).token or "") >= 24
        assert Address.of(host, 8000).token != Address.of(host, 8000).token
    for host in ("127.0.0.1", "::1", "localhost", "127.1.2.3"):
        assert Address.of(host, 8000).token is None
    assert TOKEN in Address.of("0.0.0.0", 8000, TOKEN).link()
    with pytest.raises(InputError, match="at least 16"):
        Address.of("0.0.0.0", 8000, "short")
