"""Many captions at once: an upload is judged piece by piece between other requests, and its scores are downloaded."""

from __future__ import annotations

import asyncio
import logging
import secrets
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import FastAPI, File, Form, Request, UploadFile
from fastapi.responses import FileResponse, JSONResponse, Response

from vericap.core.batch import Batch
from vericap.core.errors import Problem, VericapError
from vericap.core.metric import Metric
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.core.statistics import Statistics
from vericap.io import load, write_result
from vericap.metrics.registry import resolve
from vericap.report.site.defaults import default_metrics
from vericap.run.engine import Run, corpus_scores, report
from vericap.run.results import Result
from vericap.serve import schema
from vericap.serve.judge import Judge, language_of, plain, sentence
from vericap.serve.limits import MB, Limits, Refused
from vericap.serve.names import chosen
from vericap.serve.worker import Worker

if TYPE_CHECKING:
    from vericap.serve.app import Service

_log = logging.getLogger("uvicorn.error")
PIECE = 8  # captions between two looks at other requests
KEPT = 3600.0  # seconds that results are kept
TEXT_BYTES = 16 * MB  # of the file of captions
TOLD = 20  # problems that are told with the progress
# Text formats alone: what is packed may be far larger than it looks.
FORMATS = {".jsonl": "jsonl", ".json": None, ".csv": "csv", ".tsv": "tsv"}
DOWNLOADS = {"jsonl": "application/x-ndjson", "csv": "text/csv; charset=utf-8"}


@dataclass
class Upload:
    """Captions of one upload, and what has been made of them."""

    folder: Path
    samples: list[Sample]
    unread: list[Problem]
    run: Run
    explain: bool
    id: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    made: float = field(default_factory=time.monotonic)
    status: str = "waiting"
    done: int = 0
    error: str = ""
    summary: dict[str, Any] | None = None
    pieces: list[Result] = field(default_factory=list)

    @property
    def finished(self) -> bool:
        return self.status in ("done", "failed", "cancelled")

    def as_dict(self) -> dict[str, Any]:
        """Progress, as GET /batch/ID tells it."""
        problems = [str(problem) for problem in self.unread[:TOLD]]
        told: dict[str, Any] = {"scores": None, "problems": problems}
        if self.summary is not None:
            told = {"scores": self.summary["scores"], "problems": [*problems, *self.summary["problems"]][:TOLD]}
        beside = {"captions": len(self.samples), "done": self.done, "error": self.error or None}
        return {"id": self.id, "status": self.status, **beside, **told}

    # --- in the worker's thread ---------------------------------------------------------------------------------

    def step(self) -> bool:
        """Judge the next piece; whether there is more to do."""
        if self.finished:
            return False
        self.status = "running"
        try:
            if self.done < len(self.samples):
                self._piece()
                return True
            self._finish()
        except VericapError as error:
            self._stop("failed", sentence(error))
        except Exception:
            if self.status == "cancelled":
                return False  # its folder went away while it was worked on
            self._stop("failed", "Something went wrong in the server; its log says what.")
            _log.exception("an upload failed")
        return False

    def _piece(self) -> None:
        first = [metric for metric in self.run.metrics if not metric.prepares]
        piece = self.samples[self.done : self.done + PIECE]
        if first:
            run = Run(first, self.run.settings, runtime=self.run.runtime)
            self.pieces.append(run.score(piece, explain=self.explain))
        self.done += len(piece)

    def _finish(self) -> None:
        """Metrics that must see all captions first, then the corpus scores and the files."""
        result = Result(
            [sample.id for sample in self.samples],
            {metric.label: metric for metric in self.run.metrics},
            {},
            candidates=[sample.candidate for sample in self.samples],
        )
        later = [metric for metric in self.run.metrics if metric.prepares]
        run = Run(later, self.run.settings, runtime=self.run.runtime)
        whole = [run.score(self.samples, explain=self.explain)] if later else []
        for metric in self.run.metrics:
            name = metric.label
            parts = whole if metric.prepares else self.pieces
            result.statistics[name] = Statistics.concatenate([part.statistics[name] for part in parts])
            if all(name in part.explanations for part in parts):
                result.explanations[name] = [reason for part in parts for reason in part.explanations[name]]
        report(result, {row: sample.problem for row, sample in enumerate(self.samples) if sample.problem})
        good = [sample for sample in self.samples if not sample.problem]
        result.corpus = corpus_scores(result, Batch.of(good, self.run.settings))
        for ending in DOWNLOADS:
            write_result(result, self.folder / f"scores.{ending}", unread=self.unread)
        self.summary = plain(result.summary())
        self._stop("done")

    def _stop(self, status: str, error: str = "") -> None:
        self.status, self.error = status, error
        self.pieces.clear()
        for photo in self.folder.glob("photo-*"):
            photo.unlink()


class Batches:
    """Uploads and their results, for an hour or until newer ones need the place."""

    def __init__(self, judge: Judge, worker: Worker, limits: Limits) -> None:
        self.judge, self.worker, self.limits = judge, worker, limits
        self._root = TemporaryDirectory(prefix="vericap-serve-")
        self._known: dict[str, Upload] = {}
        self._coming = 0

    def folder(self) -> Path:
        """A folder for a new upload; 503 where too many are under way."""
        self._tidy(room=True)
        running = sum(not batch.finished for batch in self._known.values()) + self._coming
        if running >= self.limits.batches:
            raise Refused(503, f"{running} uploads are worked on already; try again later.", retry=30)
        self._coming += 1
        made = Path(self._root.name) / secrets.token_hex(8)
        made.mkdir()
        return made

    def arrived(self) -> None:
        """An upload for which a folder was asked is here, or came to nothing."""
        self._coming -= 1

    def add(self, upload: Upload) -> None:
        self._known[upload.id] = upload
        self._submit(upload)

    def _submit(self, upload: Upload) -> None:
        def next_one(future: Any) -> None:
            if not future.cancelled() and future.exception() is None and future.result():
                self._submit(upload)

        try:
            self.worker.submit(upload.step, later=True).add_done_callback(next_one)
        except Refused:
            upload.status = "cancelled"  # the server is shutting down

    def get(self, name: str) -> Upload:
        self._tidy()
        if name not in self._known:
            raise Refused(404, "There is no such upload; results are kept for an hour.")
        return self._known[name]

    def drop(self, name: str) -> None:
        """Stop an upload and forget it."""
        upload = self.get(name)
        if not upload.finished:
            upload.status = "cancelled"
        self._forget(upload)

    def close(self) -> None:
        self._root.cleanup()

    def _tidy(self, *, room: bool = False) -> None:
        """Forget old results, and the oldest of all where a new upload needs the place."""
        old = time.monotonic() - KEPT
        finished = [batch for batch in self._known.values() if batch.finished]
        spare = len(self._known) - self.limits.batches + 1 if room else 0
        for place, batch in enumerate(sorted(finished, key=lambda own: own.made)):
            if batch.made < old or place < spare:
                self._forget(batch)

    def _forget(self, upload: Upload) -> None:
        self._known.pop(upload.id, None)
        shutil.rmtree(upload.folder, ignore_errors=True)


# --- reading an upload ------------------------------------------------------------------------------------------------


def read_captions(data: bytes, name: str, folder: Path) -> tuple[list[Sample], list[Problem]]:
    """Samples of a file of captions. No name in it leads to a file of this machine."""
    ending = PurePosixPath(name.replace("\\", "/")).suffix.lower()
    if ending not in FORMATS:
        raise Refused(422, f"Captions are read from {', '.join(FORMATS)}; this file is called {name[-60:]!r}.")
    if len(data) > TEXT_BYTES:
        raise Refused(413, f"The file of captions has {len(data) / MB:.1f} MB; at most {TEXT_BYTES // MB} MB are read.")
    if data[:2] == b"\x1f\x8b":
        raise Refused(422, "The file of captions is packed; send it as plain text.")
    file = folder / f"captions{ending}"
    file.write_bytes(data)
    try:
        loaded = load(file, format=FORMATS[ending], beside=False)
    except VericapError as error:
        raise Refused(422, sentence(error).replace(str(file), "captions")) from None
    except RecursionError:
        raise Refused(422, "The file of captions is nested too deeply.") from None
    finally:
        file.unlink()
    unread = [replace(problem, source="captions") for problem in loaded.problems]
    return [replace(sample, photo=None) for sample in loaded.samples], unread


def with_photos(samples: Sequence[Sample], photos: dict[str, Path]) -> list[Sample]:
    """Samples with the photos that were sent along, found by file name, with or without its ending."""
    by_stem = {PurePosixPath(name).stem: path for name, path in photos.items()}
    found = []
    for sample in samples:
        key = PurePosixPath(str(sample.image if sample.image is not None else sample.id).replace("\\", "/")).name
        path = photos.get(key) or by_stem.get(key) or by_stem.get(PurePosixPath(key).stem)
        found.append(replace(sample, image=path.name if path else None, photo=path))
    return found


def within(sample: Sample, limits: Limits) -> Sample:
    """The sample, or the same with the reason why it is not judged."""
    if sample.problem:
        return sample
    try:
        limits.text(sample.candidate, "the caption")
        limits.given_references(sample.references)
    except Refused as refused:
        return replace(sample, problem=refused.sentence)
    return sample


def usual(samples: Sequence[Sample], lang: str) -> list[Metric]:
    """Metrics of an upload that names none."""
    names, _ = default_metrics(samples, lang=lang, images=any(sample.photo for sample in samples))
    return resolve(names) if names else []


def check_upload(metrics: Sequence[Metric], samples: Sequence[Sample]) -> None:
    """Refuse an upload of which a metric could judge nothing."""
    if not metrics:
        raise Refused(422, "No metric fits; send photos, references in the records, or name metrics.")
    for metric in metrics:
        if "image" in metric.needs and not any(sample.photo for sample in samples):
            raise Refused(422, f"The metric {metric.label} looks at photos; send those that the records name.")
        if "references" in metric.needs and not any(sample.references for sample in samples):
            raise Refused(422, f"The metric {metric.label} compares with references; put them in the records.")


# --- endpoints ----------------------------------------------------------------------------------------------------


async def post_batch(
    request: Request,
    captions: Annotated[UploadFile, File(description="Records: .jsonl, .json, .csv, .tsv")],
    photos: Annotated[list[UploadFile], File(default_factory=list, description="Photos, named as in the records.")],
    metrics: Annotated[list[str], Form(default_factory=list, description="Names of GET /metrics; empty: the usual.")],
    lang: Annotated[str, Form(description="Language of the texts (ISO 639-1).")] = "",
    explain: Annotated[bool, Form(description="Reasons too, in the JSONL file.")] = False,
) -> Response:
    """Judge many captions; the answer names the upload, whose progress and results are asked for with GET."""
    service: Service = request.app.state.service
    named = chosen(metrics, service.limits)
    folder = service.batches.folder()
    try:
        text = await captions.read()
        samples, unread = await asyncio.to_thread(read_captions, text, captions.filename or "", folder)
        if len(samples) > service.limits.batch_captions:
            most = service.limits.batch_captions
            raise Refused(422, f"The file has {len(samples)} captions; at most {most} are judged at once.")
        sent = await _stored(photos, folder, service.limits)
        samples = [within(sample, service.limits) for sample in with_photos(samples, sent)]
        spoken = language_of(lang, " ".join(sample.candidate for sample in samples[:20]))
        found = named or usual(samples, spoken)
        check_upload(found, samples)
        upload = Upload(folder, samples, unread, _run(service.judge, found, spoken), explain)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    finally:
        service.batches.arrived()
    service.batches.add(upload)
    return JSONResponse(upload.as_dict(), status_code=202)


def _run(judge: Judge, metrics: Sequence[Metric], lang: str) -> Run:
    """As `vericap score` does it: document frequencies are those of the upload."""
    settings: Settings = replace(judge.settings, lang=lang, tokenizer="")
    try:
        return Run(metrics, settings, runtime=judge.runtime)
    except VericapError as error:
        raise Refused(422, sentence(error)) from None


async def _stored(photos: Sequence[UploadFile], folder: Path, limits: Limits) -> dict[str, Path]:
    """Photos in files of ours, by the names they were sent under."""
    found: dict[str, Path] = {}
    for number, photo in enumerate(photos):
        name = PurePosixPath((photo.filename or "").replace("\\", "/")).name
        data = await photo.read()
        await asyncio.to_thread(limits.photo, data)
        path = folder / f"photo-{number:05d}"
        await asyncio.to_thread(path.write_bytes, data)
        found[name] = path
    return found


async def get_batch(request: Request, name: str) -> Response:
    """Progress of an upload; when it is done, its corpus scores."""
    service: Service = request.app.state.service
    return JSONResponse(service.batches.get(name).as_dict())


async def get_scores(request: Request, name: str, ending: str) -> Response:
    """The scores of an upload, one row per caption: jsonl (with reasons where they were asked for) or csv."""
    service: Service = request.app.state.service
    upload = service.batches.get(name)
    if ending not in DOWNLOADS:
        raise Refused(404, f"Scores are written as {' and '.join(DOWNLOADS)}.")
    if upload.status != "done":
        raise Refused(409, f"The upload is {upload.status}; its scores are there when it is done.")
    return FileResponse(upload.folder / f"scores.{ending}", media_type=DOWNLOADS[ending], filename=f"scores.{ending}")


async def delete_batch(request: Request, name: str) -> Response:
    """Stop an upload and forget it."""
    service: Service = request.app.state.service
    service.batches.drop(name)
    return Response(status_code=204)


def add_batches(app: FastAPI, errors: dict[int | str, dict[str, Any]]) -> None:
    """The routes of uploads."""
    missing: dict[int | str, dict[str, Any]] = {404: {"model": schema.Error}, 422: {"model": schema.Error}}
    app.add_api_route(
        "/batch", post_batch, methods=["POST"], response_model=schema.Batch, status_code=202, responses=errors
    )
    app.add_api_route("/batch/{name}", get_batch, methods=["GET"], response_model=schema.Batch, responses=missing)
    app.add_api_route("/batch/{name}", delete_batch, methods=["DELETE"], status_code=204, responses=missing)
    app.add_api_route(
        "/batch/{name}/scores.{ending}",
        get_scores,
        methods=["GET"],
        response_class=FileResponse,
        responses={**missing, 409: {"model": schema.Error}},
    )
