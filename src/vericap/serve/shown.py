"""What `vericap serve PATH` shows: a report folder as it is, or a table of scores page by page."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import FastAPI, Query, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response

from vericap.core.errors import InputError
from vericap.core.paths import no_such_file
from vericap.report.site.build import INDEX, SCRIPTS, STYLE
from vericap.report.site.photos import LARGE, LARGE_QUALITY, webp
from vericap.report.site.stored import StoredScores, explanation
from vericap.serve.limits import Refused
from vericap.serve.score_table import PAGE, SUFFIX, ScoreTable, Wanted
from vericap.serve.views import metric_entry, view
from vericap.vision import images

if TYPE_CHECKING:
    from vericap.serve.app import Service

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".webp": "image/webp",
}
# The files of a report, and no others, whatever else lies in the folder.
_FILES = frozenset((INDEX, STYLE, *SCRIPTS))
_DATA = re.compile(r"^(?:data/[a-z]+(?:-\d{1,7})?\.js|photos/\d{1,9}\.webp)$")


@dataclass
class Shown:
    """A report, a table of scores, both or nothing; and the folder of the photos that scores name."""

    report: Path | None = None
    scores: ScoreTable | None = None
    images: Path | None = None

    @classmethod
    def of(cls, path: Path | None, images: Path | None = None) -> Shown:
        """What a path holds."""
        if path is None:
            return cls()
        if not path.exists():
            raise InputError(no_such_file(path))
        if (path / INDEX).is_file() and (path / "data" / "head.js").is_file():
            return cls(report=path.resolve())
        return cls(scores=ScoreTable.of(path), images=images)

    def close(self) -> None:
        if self.scores is not None:
            self.scores.close()

    def table(self) -> ScoreTable:
        if self.scores is None:
            raise Refused(404, "No scores are shown; start the server with a file of scores.")
        return self.scores


def add_shown(app: FastAPI) -> None:
    """The routes of reports and tables."""
    app.add_api_route("/shown", what, methods=["GET"], include_in_schema=False)
    app.add_api_route("/report", to_report, methods=["GET"], include_in_schema=False)
    app.add_api_route("/report/{name:path}", report_file, methods=["GET"], include_in_schema=False)
    app.add_api_route("/scores", page, methods=["GET"], include_in_schema=False)
    app.add_api_route("/scores/{row}", one, methods=["GET"], include_in_schema=False)
    app.add_api_route("/scores/{row}/photo", photo, methods=["GET"], include_in_schema=False)


async def what(request: Request) -> Response:
    """What there is to see beside the live page."""
    shown = _shown(request)
    return JSONResponse({"report": shown.report is not None, "scores": shown.scores is not None})


# --- a report ---------------------------------------------------------------------------------------------------------


async def to_report() -> Response:
    return RedirectResponse("/report/", status_code=307)


async def report_file(request: Request, name: str) -> Response:
    """A file of the report's folder; links out of it are not followed."""
    root, name = _shown(request).report, name or INDEX
    if root is None or not (name in _FILES or _DATA.match(name)):
        raise Refused(404, "There is nothing at this address.")
    data = await asyncio.to_thread(_inside, root, name)
    return Response(data, media_type=TYPES[name[name.rindex(".") :]], headers={"Cache-Control": "no-cache"})


def _inside(root: Path, name: str) -> bytes:
    path = (root / name).resolve()
    if not path.is_relative_to(root) or not path.is_file():
        raise Refused(404, "There is nothing at this address.")
    return path.read_bytes()


# --- scores -----------------------------------------------------------------------------------------------------------


async def page(
    request: Request,
    start: Annotated[int, Query(ge=0, le=10**12)] = 0,
    count: Annotated[int, Query(ge=1, le=PAGE)] = 50,
    sort: Annotated[str, Query(max_length=200)] = "",
    q: Annotated[str, Query(max_length=200)] = "",
    metric: Annotated[str, Query(max_length=200)] = "",
    low: float | None = None,
    high: float | None = None,
    problems: bool = False,
) -> Response:
    """A page of the table: how many captions fit, the metrics, and the rows."""
    table = _shown(request).table()
    wanted = Wanted(sort, q, metric, low, high, problems)
    found, rows = await asyncio.to_thread(table.page, wanted, start, count)
    metrics = [{"name": name, "lower": StoredScores(name).direction == "lower"} for name in table.metrics]
    return JSONResponse({"all": len(table), "found": found, "metrics": metrics, "rows": rows})


async def one(request: Request, row: int) -> Response:
    """One caption of the table, as the caption view reads it."""
    shown = _shown(request)
    record = await _record(shown, row)
    return JSONResponse(_view(shown, record, row))


def _view(shown: Shown, record: dict[str, Any], row: int) -> dict[str, Any]:
    table = shown.table()
    entries = [
        metric_entry(name, StoredScores(name), table.signatures.get(name, f"metric:{name}|source:file"))
        for name in table.metrics
    ]
    cells = {name: record.get(f"{name}{SUFFIX}") for name in table.metrics}
    reasons = {name: own for name, cell in cells.items() if (own := explanation(cell, name, str(row))) is not None}
    references = record.get("references") or ()
    return view(
        str(record.get("candidate") or ""),
        [references] if isinstance(references, str) else [str(text) for text in references],
        entries,
        {name: _number(record.get(name)) for name in table.metrics},
        reasons,
        name=str(record.get("id", row)),
        problem=str(record.get("problem") or ""),
        photo=f"scores/{row}/photo" if shown.images is not None else "",
    )


async def photo(request: Request, row: int) -> Response:
    """The photo of a row, which is asked for by the row's number alone; its name comes from the table."""
    shown = _shown(request)
    if shown.images is None:
        raise Refused(404, "No photos are shown; start the server with their folder (--images).")
    record = await _record(shown, row)
    data = await asyncio.to_thread(_small, str(record.get("image") or record.get("id") or ""), shown.images)
    return Response(data, media_type="image/webp", headers={"Cache-Control": "private, max-age=3600"})


def _small(key: str, folder: Path) -> bytes:
    try:
        return webp(images.load_image(images.find(key, folder)), LARGE, LARGE_QUALITY)
    except InputError:
        raise Refused(404, "The photo of this caption is not there or cannot be read.") from None


async def _record(shown: Shown, row: int) -> dict[str, Any]:
    try:
        return await asyncio.to_thread(shown.table().record, row)
    except InputError:
        raise Refused(404, "There is no such row.") from None


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and value == value else None


def _shown(request: Request) -> Shown:
    service: Service = request.app.state.service
    return service.shown
