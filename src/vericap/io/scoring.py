"""Files in, files out, whatever their size: where a run keeps its state, how it is resumed, what it leaves."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from vericap.core.errors import InputError, VericapError
from vericap.core.metric import Metric
from vericap.core.samples import Sample
from vericap.core.score import Score
from vericap.io import parts
from vericap.io.parts import Parts
from vericap.io.stream import Input, Records
from vericap.io.write import check_not_input, check_output
from vericap.metrics.registry import resolve
from vericap.run import processes
from vericap.run.engine import Run
from vericap.run.manifest import BEGINNING, INPUT, LOOK, Manifest, identity, locked
from vericap.run.results import Result
from vericap.run.shards import Job, Scoring, Settled, judged, read_record
from vericap.run.states import load
from vericap.run.stream import Executor, LocalExecutor, Outcome, added_up, execute

STANDARD = "-"


@dataclass(frozen=True)
class Output:
    """Where rows go: a file, standard output (`-`), a folder of parts (`out/`, `out/*.csv`), or nowhere (None)."""

    name: str | None
    kind: str  # ending of the rows' format
    file: Path | None = None
    folder: Path | None = None

    @classmethod
    def of(cls, name: str | None, inputs: list[str]) -> Output:
        """The output of a name, checked before any work is done."""
        if name is None or name == STANDARD:
            return cls(name, ".jsonl")
        path = Path(name)
        pattern = "*" in path.name
        if pattern or name.endswith(("/", os.sep)) or path.is_dir():
            kind = path.suffix.lower() if pattern else ".parquet"
            folder = path.parent if pattern else path
            if kind not in parts.KINDS:
                raise InputError(
                    f"{name}: parts are written as {', '.join(parts.KINDS)}; choose one of these extensions"
                )
            return cls(name, kind, folder=_made(folder, name, inputs))
        return cls(name, path.suffix.lower(), file=check_output(path, inputs))

    @property
    def parts(self) -> bool:
        """Whether parts are what the user gets."""
        return self.folder is not None

    @property
    def side(self) -> Path | None:
        """Where bad records are written."""
        if self.folder is not None:
            return self.folder / "bad-records.jsonl"
        return None if self.file is None else self.file.with_name(f"{self.file.stem}.bad.jsonl")


def _made(folder: Path, name: str, inputs: list[str]) -> Path:
    if not folder.parent.is_dir():
        raise InputError(f"{name}: the folder {folder.parent} does not exist")
    check_not_input(folder, inputs)
    for source in map(Path, inputs):  # a later part may have its name, and an earlier run's parts are removed
        if re.fullmatch(r"part-\d+\..*", source.name) and source.resolve().parent == folder.resolve():
            raise InputError(f"{name}: holds {source}, one of the inputs; choose another folder")
    folder.mkdir(exist_ok=True)
    check_output(folder / "part-00000.parquet", inputs)
    return folder


@dataclass(frozen=True)
class Request:
    """What is asked of a run over files, besides metrics and settings.

    `resume` is None, or a folder for the run's state, or "" for the usual place beside the output.
    `shard` is (i, n): this process is the i-th of n that work on one input, counted from 1.
    `engine` is "local" or "ray", `address` that of a Ray cluster (empty: one is started here).
    """

    output: Output
    resume: str | None = None
    shard: tuple[int, int] | None = None
    engine: str = "local"
    address: str = ""
    columns: tuple[str, ...] = ()
    explain: bool = False
    worst: int = 0
    intervals: int = 0  # draws for the intervals of corpus scores; 0: none

    def plan(self, source: Input, run: Run) -> dict[str, Any]:
        """Everything that moves a byte of the result, as plain data."""
        return {
            "metrics": [metric.label for metric in run.metrics],
            "settings": run.settings.choices(),
            "fields": asdict(source.fields),
            "ids": source.mode,
            "shards": len(source.units),
            "output": self.output.kind,
            "folder": self.output.parts,
            "columns": list(self.columns),
            "explain": self.explain,
            "worst": self.worst,
            "intervals": self.intervals,
        }


class Finished(Exception):
    """The run was done before; what came of it is in `outcome`."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__("done before")
        self.outcome = outcome


def score_files(source: Input, run: Run, request: Request, *, executor: Executor | None = None) -> FileRun:
    """Score an input shard by shard. See `FileRun` for what can be asked of it afterwards.

    Raises
    ------
    Finished : `resume` was asked for and the run is done.
    """
    found = FileRun(source, run, request)
    found.execute(executor)
    return found


class FileRun:
    """A run over files: executed once, then asked for its outcome, its worst captions."""

    def __init__(self, source: Input, run: Run, request: Request) -> None:
        self.source, self.request = source, request
        self._stack = ExitStack()
        self.folder = self._stack.enter_context(_state(request))
        if source.references is not None and source.spool is not None and source.references.count > 1000:
            source.references = source.references.laid_down(source.spool)
        first = source.read(source.units[0]) if source.units else Records()
        if request.columns and source.units:  # before hours of work
            parts.check_columns(request.columns, first.columns.column_names)
        run, self.left = run.fitted(first.samples)
        self.run = run
        settings = replace(run.settings, workers=1, threads=run.settings.threads or 1, progress=False)
        output = request.output
        sink = None if output.name is None else Parts(output.kind, request.columns, header=output.parts)
        self.job = Job(
            run.metrics, settings, source, self.folder, sink, request.explain, request.worst, request.intervals > 0
        )
        self.manifest = Manifest(
            self.folder, identity(source.digest, request.plan(source, run), _signatures(first.samples, run))
        )
        self.outcome: Outcome | None = None

    def __enter__(self) -> FileRun:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def execute(self, executor: Executor | None = None) -> None:
        """Do the work, or what is left of it; `outcome` stays None where other processes have shards to do."""
        shard = self.request.shard
        self._stack.enter_context(locked(self.folder, "lock" if shard is None else f"lock-{shard[0]}-of-{shard[1]}"))
        self._begin()
        own = None if shard is None else lambda number: number % shard[1] == shard[0] - 1
        with self._executor() as usual:
            self.outcome = execute(self.job, executor or usual, progress=self.run.settings.progress, own=own)
        if self.outcome is not None:
            self.outcome.notes[:0] = self.left

    def _executor(self) -> AbstractContextManager[Executor]:
        settings = self.run.settings
        portable = processes.portable(list(self.run.metrics))
        if self.request.engine == "local":
            return LocalExecutor(settings.workers if portable else 1)
        if not portable:
            raise VericapError("`engine=ray`: a metric that was made inside a function cannot travel; put it in a file")
        from vericap.run.ray_engine import RayExecutor, gpus_of

        return RayExecutor(
            self.request.address,
            settings.workers,
            cpus=self.job.settings.threads,
            gpus=gpus_of(settings.device),
            sees=self._files(),
        )

    def _files(self) -> list[Path | str]:
        """What every worker must see, wherever it works."""
        spool, images = self.source.spool, self.run.settings.images
        found: list[Path | str] = [self.folder, *self.source.paths]
        found += [images] if images is not None else []
        return found + ([spool] if spool is not None and any(spool.iterdir()) else [])

    def _begin(self) -> None:
        """Take up an earlier run, or start."""
        again = self.request.resume is not None or self.request.shard is not None
        with locked(self.folder, BEGINNING, wait=True) if self.request.shard is not None else nullcontext():
            done = self.manifest.take_up(resume=again, there=partial(_there, self.request.output))
        if done is not None:
            self.manifest.tidy(parts=not self.request.output.parts)  # it may have ended before it had tidied up
            raise Finished(outcome_of(done))

    def finish(self) -> None:
        """Put the parts together; from now on the run is done."""
        if self.outcome is None:
            raise VericapError("shards of other processes are missing")
        _add_intervals(self.folder, self.outcome, list(self.run.metrics), self.manifest.identity["plan"])
        complete(self.folder, self.request.output, self.outcome, self.manifest)

    def judged(self, samples: list[Sample]) -> tuple[Result, Mapping[str, Any]]:
        """The result of some samples with what is known of the whole corpus, and these states."""
        states = self._states()
        return judged(self.run, samples, {label: [state] for label, state in states.items()}), states

    def _states(self) -> Mapping[str, Any]:
        known = self.outcome.states if self.outcome is not None else None
        return load(known) if isinstance(known, Path) else known or {}

    def worst(self, count: int) -> list[Sample]:
        """The captions with the worst scores of the first metric, the worst first."""
        if self.outcome is None:
            return []
        found, reader = [], Scoring(self.job)
        for _, number, place in self.outcome.worst[:count]:
            records = reader.read(self.outcome.tasks[number])
            found.append(self.run.name_images(records.samples)[place])
        return found


def _add_intervals(folder: Path, outcome: Outcome, metrics: list[Metric], plan: Mapping[str, Any]) -> None:
    if plan["intervals"]:
        from vericap.run.intervals import add_intervals

        files = sorted(folder.glob("statistics-*.npy"))
        add_intervals(outcome, metrics, files, resamples=plan["intervals"], seed=int(plan["settings"]["seed"]))


def complete(folder: Path, output: Output, outcome: Outcome, manifest: Manifest) -> None:
    """Write what the user gets, then the manifest, then remove what is needed no longer."""
    if output.name is not None and not output.parts:
        parts.assemble(folder, output.file, output.kind, outcome)
    if output.side is not None:
        parts.side_file(folder, output.side, outcome)
    manifest.finish({**outcome.summary(), "unread": outcome.unread, "size": _size(output)})
    manifest.tidy(parts=not output.parts)


@contextmanager
def _state(request: Request) -> Iterator[Path]:
    """The folder of a run's state; a temporary one where nothing can be resumed."""
    found = state_folder(request.output, request.resume)
    if found is not None:
        yield found
    elif request.resume is not None or request.shard is not None:
        raise VericapError("there is no output beside which the run's state could lie; name a folder with `resume=DIR`")
    else:
        with TemporaryDirectory(prefix="vericap-") as name:
            yield Path(name)


def state_folder(output: Output, resume: str | None) -> Path | None:
    """The folder of a run's state, made where it is not there: the one that is named, or beside the output."""
    if resume:
        folder = Path(resume)
        if folder.exists() and not folder.is_dir():
            raise InputError(f"`resume={folder}`: is a file; name a folder for the run's state")
        folder.mkdir(parents=True, exist_ok=True)
        return folder
    if output.folder is not None or output.file is None:
        return output.folder
    folder = output.file.with_name(f"{output.file.name}.state")
    folder.mkdir(exist_ok=True)
    return folder


@contextmanager
def shared_look(output: Output, resume: str | None) -> Iterator[Path | None]:
    """For processes that share a run: the file in which the first one keeps what it finds; the others wait for it."""
    folder = state_folder(output, resume)
    if folder is None:
        yield None
        return
    with locked(folder, LOOK, wait=True):
        yield folder / INPUT


def _signatures(first: Sequence[Sample], run: Run) -> dict[str, str]:
    """Signatures on the first records: they name models and tables with their digests."""
    samples = run.name_images(first[:64])
    return run.signatures(samples) if samples else {}


def _there(output: Output, summary: Mapping[str, Any]) -> bool:
    """Whether what a finished run has written is still there."""
    return output.name != STANDARD and _size(output) == summary.get("size")


def _size(output: Output) -> int | None:
    """Bytes of what the user gets: a file, or all parts in a folder."""
    if output.folder is not None:
        return sum(part.stat().st_size for part in output.folder.glob(f"part-*{output.kind}"))
    return output.file.stat().st_size if output.file is not None and output.file.is_file() else None


def outcome_of(summary: Mapping[str, Any]) -> Outcome:
    """The outcome of a run from what its manifest keeps."""
    scores = {}
    for name, found in summary["scores"].items():
        given = {key: value for key, value in found.items() if key != "interval"}
        bounds = found.get("interval")
        scores[name] = Score(name=name, interval=tuple(bounds) if bounds else None, **given)
    return Outcome(
        captions=summary["captions"],
        corpus=scores,
        problems=summary["problem_count"],
        unread=summary.get("unread", 0),
        first_problems=list(summary["problems"]),
        warnings=list(summary["warnings"]),
        notes=list(summary["notes"]),
    )


def merge_shards(folder: Path, output: Output) -> Outcome:
    """Put together what `--shard i/n` processes have left in a folder.

    Raises an InputError that names what is missing.
    """
    stored = read_record(folder / "manifest.json")
    if stored is None:
        raise InputError(f"{folder}: no manifest.json of a run; name the folder or file that --shard runs wrote")
    if stored["state"] == "finished":
        return outcome_of(stored["summary"])
    plan = stored["plan"]
    records = [read_record(folder / f"scored-{number:05d}.json") for number in range(plan["shards"])]
    missing = [str(number) for number, record in enumerate(records) if record is None]
    if missing:
        some = ", ".join(missing[:5]) + (" ..." if len(missing) > 5 else "")
        raise InputError(f"{folder}: {len(missing)} of {plan['shards']} shards are not done ({some}); run them first")
    metrics = resolve(",".join(plan["metrics"]), code=True)
    outcome = added_up(metrics, [record for record in records if record], Settled([]))
    _add_intervals(folder, outcome, metrics, plan)
    manifest = Manifest(folder, {name: stored[name] for name in ("input", "plan", "signatures", "vericap")})
    complete(folder, output, outcome, manifest)
    return outcome
