"""The page's own files and those of the report it shares; a fixed list, so that no other file can be asked for."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from string import Template

from fastapi import FastAPI
from fastapi.responses import JSONResponse, Response

from vericap.report.site.build import STYLE
from vericap.serve.examples import examples, photos
from vericap.serve.limits import Refused

# The report's scripts draw a caption here too; main.js, which reads a folder, is replaced by our own.
SHARED = ("words.js", "data.js", "draw.js", "overview.js", "captions.js", "caption.js", STYLE)
OWN = ("live_words.js", "live_state.js", "live_check.js", "live_batch.js", "live_scores.js", "live_main.js", "live.css")
TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
_KEPT = {"Cache-Control": "no-cache"}  # asked for anew at every visit: a new version shows at once


def add_pages(app: FastAPI) -> None:
    """The page, its files, and the examples."""
    app.add_api_route("/", index, methods=["GET"], include_in_schema=False)
    app.add_api_route("/site/{name}", asset, methods=["GET"], include_in_schema=False)
    app.add_api_route("/examples", list_examples, methods=["GET"], include_in_schema=False)
    app.add_api_route("/examples/{name}", photo, methods=["GET"], include_in_schema=False)


async def index() -> Response:
    return Response(_index(), media_type="text/html; charset=utf-8", headers=_KEPT)


async def asset(name: str) -> Response:
    found = _assets().get(name)
    if found is None:
        raise Refused(404, "There is nothing at this address.")
    return Response(found, media_type=TYPES[name[name.rindex(".") :]], headers=_KEPT)


async def list_examples() -> Response:
    return JSONResponse(examples())


async def photo(name: str) -> Response:
    found = photos().get(name)
    if found is None:
        raise Refused(404, "There is nothing at this address.")
    return Response(found, media_type="image/jpeg", headers={"Cache-Control": "private, max-age=3600"})


@lru_cache(maxsize=1)
def _assets() -> dict[str, bytes]:
    shared = {name: (files("vericap.report.site") / name).read_bytes() for name in SHARED}
    return {**shared, **{name: (files("vericap.serve") / "site" / name).read_bytes() for name in OWN}}


@lru_cache(maxsize=1)
def _index() -> str:
    scripts = [name for name in (*SHARED, *OWN) if name.endswith(".js")]
    tags = "\n".join(f'<script defer src="site/{name}"></script>' for name in scripts)
    template = (files("vericap.serve") / "site" / "live.html").read_text("utf-8")
    return Template(template).substitute(scripts=tags)
