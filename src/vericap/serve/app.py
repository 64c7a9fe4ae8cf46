"""The application: pages, the JSON API, and what all requests share."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Annotated, Any, TypeVar

from fastapi import Depends, FastAPI, File, Form, Request, UploadFile
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from vericap import __version__
from vericap.core.metric import Metric
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.metrics.registry import sets
from vericap.serve import pages, schema
from vericap.serve.batches import Batches, add_batches
from vericap.serve.check import checked
from vericap.serve.examples import examples, photos
from vericap.serve.guard import LOOPBACK, Application, Guard
from vericap.serve.judge import NOTHING_FITS, Judge, language_of, sample_of
from vericap.serve.limits import Limits, Refused
from vericap.serve.names import chosen, described, offered
from vericap.serve.shown import Shown, add_shown
from vericap.serve.views import live_view
from vericap.serve.worker import Worker

T = TypeVar("T")
_log = logging.getLogger("uvicorn.error")
_ABOUT = "Is the caption true to the image, does it say what matters, does it read well? With reasons."
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": schema.Error, "description": text}
    for status, text in {
        400: "The body cannot be read.",
        403: "A request of another web page.",
        408: "The request arrived too slowly.",
        413: "Too many bytes.",
        421: "The server does not go by the name in the header Host.",
        422: "Something in the request is wrong; the sentence says what.",
        503: "Too many requests wait, or the answer took too long; Retry-After says when to try again.",
    }.items()
}

Image = Annotated[UploadFile | None, File(description="A photo: JPEG, PNG, WebP, GIF, BMP, TIFF, AVIF.")]
Caption = Annotated[str, Form(description="The caption to judge.")]
References = Annotated[
    list[str], Form(default_factory=list, description="Captions of the same photo by people; repeat the field.")
]
Metrics = Annotated[
    list[str],
    Form(default_factory=list, description="Names of GET /metrics, with options: vifidel:p=1; repeat, or commas."),
]
Lang = Annotated[str, Form(description="Language of the texts (ISO 639-1); empty: as they tell.")]


@dataclass
class Service:
    """What all requests share: one judge with a warm runtime, one worker, uploads, and what is shown from disk."""

    limits: Limits = field(default_factory=Limits)
    settings: Settings = field(default_factory=Settings)
    shown: Shown = field(default_factory=Shown)
    ready: bool = False
    failed: bool = False

    def __post_init__(self) -> None:
        self.judge = Judge(self.settings, self.limits)
        self.worker = Worker(self.limits.waiting)
        self.batches = Batches(self.judge, self.worker, self.limits)

    def warm(self) -> None:
        """Open what the usual metrics work with, on a photo that ships."""
        example = examples()[0]
        sample = sample_of(example["caption"], tuple(example["references"]), photos()[example["photo"]])
        try:
            self.judge.explain(sample, self.judge.usual(sample, "en"), "en", full=True)
        except Exception:
            self.failed = True
            raise
        self.ready = True

    def close(self) -> None:
        self.worker.close()
        self.batches.close()
        self.shown.close()


# --- endpoints ----------------------------------------------------------------------------------------------------


async def check(asked: AskedPlainly) -> Response:
    """Fidelity, adequacy, fluency and verdict of a caption, its words, and what it leaves out."""
    return JSONResponse(await asked.answer(partial(checked, asked.judge, asked.sample, asked.lang)))


async def score(asked: AskedOfMetrics) -> Response:
    """Scores of a caption by some metrics; without names the usual ones."""
    found = await asked.answer(lambda: asked.judge.score(asked.sample, asked.metrics(), asked.lang))
    return JSONResponse(found.as_dict())


async def explain(
    asked: AskedOfMetrics, full: Annotated[bool, Form(description="Matrices and graphs too.")] = False
) -> Response:
    """Scores of a caption with the reasons of every metric that gives any."""
    found = await asked.answer(lambda: asked.judge.explain(asked.sample, asked.metrics(), asked.lang, full=full))
    return JSONResponse(found.explained())


async def view(asked: AskedOfMetrics) -> Response:
    """What the page draws: the usual metrics and those that are chosen beside them."""
    wanted = asked.all_metrics()
    if not wanted:
        return JSONResponse({"hint": NOTHING_FITS})  # somebody is still typing: this is no mistake
    found = await asked.answer(lambda: asked.judge.explain(asked.sample, wanted, asked.lang, full=True))
    return JSONResponse(live_view(found))


async def list_metrics(request: Request) -> Response:
    """Metrics and sets that can be asked for, with the options that can be set."""
    service: Service = request.app.state.service
    found = {
        "metrics": [described(name) for name in offered()],
        "sets": {name: list(own) for name, own in sets().items()},
        "limits": asdict(service.limits),
    }
    return JSONResponse(found)


async def health(request: Request) -> Response:
    """Whether the server works."""
    service: Service = request.app.state.service
    status = "ok" if service.ready else "failed" if service.failed else "warming"
    status = status if service.worker.alive else "stopped"
    waiting = {"status": status, "waiting": service.worker.waiting}
    return JSONResponse(waiting, status_code=503 if status in ("failed", "stopped") else 200)


@dataclass
class Asked:
    """A request about one caption, checked."""

    request: Request
    service: Service
    sample: Sample
    lang: str
    named: list[Metric]

    @classmethod
    async def of(
        cls,
        request: Request,
        caption: str,
        image: UploadFile | None,
        references: Sequence[str],
        lang: str,
        metrics: Sequence[str] = (),
    ) -> Asked:
        service: Service = request.app.state.service
        limits = service.limits
        text, given = limits.caption(caption), limits.given_references(references)
        named = chosen(metrics, limits)
        data = await image.read() if image is not None else None
        photo = None if data is None else await asyncio.to_thread(limits.photo, data)
        return cls(request, service, sample_of(text, given, photo), language_of(lang, text, given), named)

    @property
    def judge(self) -> Judge:
        return self.service.judge

    def metrics(self) -> list[Metric]:
        """Those that were named, else the usual ones."""
        return self.named or self.judge.usual(self.sample, self.lang)

    def all_metrics(self) -> list[Metric]:
        """The usual ones and those that were named."""
        both = [*self.judge.usual(self.sample, self.lang), *self.named]
        return list({metric.label: metric for metric in both}.values())

    async def answer(self, work: Callable[[], T]) -> T:
        """What the worker makes of it."""
        limits = self.service.limits
        return await self.service.worker.answer(work, limits.seconds, self.request.is_disconnected)


async def _plainly(
    request: Request, caption: Caption, references: References, image: Image = None, lang: Lang = ""
) -> Asked:
    return await Asked.of(request, caption, image, references, lang)


async def _of_metrics(
    request: Request,
    caption: Caption,
    references: References,
    metrics: Metrics,
    image: Image = None,
    lang: Lang = "",
) -> Asked:
    return await Asked.of(request, caption, image, references, lang, metrics)


# What an endpoint is given: the fields of its form, checked.
AskedPlainly = Annotated[Asked, Depends(_plainly)]
AskedOfMetrics = Annotated[Asked, Depends(_of_metrics)]


# --- the application ------------------------------------------------------------------------------------------------


def create_app(service: Service, *, token: str | None = None, hosts: frozenset[str] = LOOPBACK) -> Application:
    """The application behind its guard.

    Parameters
    ----------
    service : what requests share.
    token : asked for where it is given.
    hosts : names the server goes by; empty: any.
    """
    app = FastAPI(
        title="vericap",
        version=__version__,
        description=_ABOUT,
        docs_url=None,  # FastAPI's own page loads its scripts from elsewhere
        redoc_url=None,
        lifespan=_lifespan,
    )
    app.state.service = service
    posts: Mapping[str, tuple[Callable[..., Any], type[Any]]] = {
        "/check": (check, schema.Check),
        "/score": (score, schema.Scores),
        "/explain": (explain, schema.Explained),
    }
    for path, (endpoint, model) in posts.items():
        app.add_api_route(path, endpoint, methods=["POST"], response_model=model, responses=ERRORS)
    app.add_api_route("/view", view, methods=["POST"], include_in_schema=False)
    app.add_api_route("/metrics", list_metrics, methods=["GET"], response_model=schema.Metrics)
    app.add_api_route("/health", health, methods=["GET"], response_model=schema.Health, responses={503: ERRORS[503]})
    add_batches(app, ERRORS)
    add_shown(app)
    pages.add_pages(app)
    app.add_exception_handler(Refused, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _failed)
    return Guard(app, service.limits, token=token, hosts=hosts)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    service: Service = app.state.service
    service.worker.submit(service.warm).add_done_callback(_warmed)
    yield
    await asyncio.to_thread(service.close)


def _warmed(future: Any) -> None:
    if not future.cancelled() and future.exception() is not None:
        _log.error("the networks cannot be opened", exc_info=future.exception())


# --- errors ---------------------------------------------------------------------------------------------------------


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    headers = {"Retry-After": str(error.retry)} if error.retry else None
    return JSONResponse({"error": error.sentence}, status_code=error.status, headers=headers)


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"] if part not in ("body", "query", "path"))
    return JSONResponse({"error": f"{where or 'The request'}: {first['msg']}."}, status_code=422)


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    told = {404: "There is nothing at this address.", 405: "This address is not used with this method."}
    sentence = told.get(error.status_code, str(error.detail))
    return JSONResponse({"error": sentence}, status_code=error.status_code, headers=error.headers)


async def _failed(request: Request, error: Exception) -> Response:
    """A mistake of ours: the traceback is logged by the server, the client learns nothing of it."""
    return JSONResponse({"error": "Something went wrong in the server; its log says what."}, status_code=500)
