"""The work on one shard of an input: what another process, or another machine, is asked to do.

A `Job` is the plan: it can be pickled, and holds all that a worker must know. `survey` is the first look at a shard
(how many records, which ids, what metrics must know of the corpus), `Scoring` the second. Both leave their outcome in
the job's folder, data first, then a record that says it is whole: what has a record is never done again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

import numpy as np

from vericap.core.batch import Batch
from vericap.core.errors import Problem
from vericap.core.memory import give_back, without_collector
from vericap.core.metric import Metric
from vericap.core.numbers import Keys, SortedNumbers
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.core.typing import Array
from vericap.run import states as stored
from vericap.run.engine import ONE, Run, _compact, _joined, _merged
from vericap.run.parts import Joined
from vericap.run.plan import fill
from vericap.run.results import Result, plain

_SHOWN = 10  # problems of a shard that are told in full
_EXAMPLES = 32  # samples of a shard that are kept for the diagnosis
_EXAMPLED = 64  # shards that give any: the driver holds them to the end


class Records(Protocol):
    """Records of a unit; those of `vericap.io.stream` are such."""

    samples: list[Sample]
    problems: list[Problem]
    judged: Keys
    count: int

    @property
    def keys(self) -> Keys: ...

    @property
    def columns(self) -> Any: ...


class Source(Protocol):
    """An input in pieces; `vericap.io.stream.Input` is one."""

    units: list[Any]
    digest: str

    def read(self, unit: Any, *, start: int = 0, repeats: dict[int, int] | None = None) -> Records: ...

    def settle(self, surveys: Sequence[Mapping[str, Any]], matched: int) -> Settled:
        """What only the whole input tells; an InputError where nothing of it can be used.

        `matched` is the number of ids that a references file knows.
        """
        ...

    def light(self) -> Source:
        """The same without its units: what travels with every task."""
        ...


@dataclass
class Settled:
    """What only the whole input tells: of each unit how many records are before it."""

    starts: list[int]
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


class Sink(Protocol):
    """What writes the rows of a shard; `vericap.io.parts.Parts` is one."""

    def write(self, folder: Path, number: int, result: Result, records: Records) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Job:
    """A run over an input, planned: what every worker must know."""

    metrics: tuple[Metric, ...]
    settings: Settings
    source: Source
    folder: Path
    sink: Sink | None = None
    explain: bool = False
    worst: int = 0  # captions whose reasons are wanted in the end
    keep_statistics: bool = False  # for intervals

    @property
    def run(self) -> Run:
        """The run, its networks warm from shard to shard."""
        return Run(self.metrics, self.settings)

    @property
    def later(self) -> list[Metric]:
        """Metrics that must see the corpus first."""
        return [metric for metric in self.metrics if metric.prepares]

    def file(self, kind: str, number: int, ending: str = "json") -> Path:
        return self.folder / f"{kind}-{number:05d}.{ending}"


@dataclass(frozen=True)
class Task:
    """A shard to be worked on: its number, its unit, and what only the whole input tells of it."""

    number: int
    unit: Any
    start: int = 0
    repeats: tuple[Path, ...] = ()  # files of ids that occur before
    states: Mapping[str, Any] | Path | None = None


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """A file that is there as a whole or not at all."""
    # A name of its own: shares of a run on several machines, or a worker that outlives its parent by a moment, may
    # write the same file. What a killed process leaves goes when the run is done.
    temporary = path.with_name(f".{path.name}.{uuid4().hex[:16]}")
    try:
        write(temporary)
        with temporary.open("rb+") as stream:
            os.fsync(stream.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_record(path: Path, record: Mapping[str, Any]) -> None:
    """A record of what was done, as JSON."""
    write_atomically(path, lambda file: file.write_text(json.dumps(record, ensure_ascii=True) + "\n", "utf-8"))


def read_record(path: Path) -> dict[str, Any] | None:
    """A record, or None where it is not there."""
    try:
        found: dict[str, Any] = json.loads(path.read_text("utf-8"))
        return found
    except FileNotFoundError:
        return None


# --- the first look ---------------------------------------------------------------------------------------------


@without_collector()
def survey(job: Job, task: Task) -> dict[str, Any]:
    """Count a shard's records, note its ids, and gather what metrics must know of the corpus."""
    number = task.number
    found = job.source.read(task.unit)
    states = states_of(job, found.samples) if job.later and found.samples else {}
    record: dict[str, Any] = {
        "records": found.count,
        "samples": len(found.samples),
        "problems": len(found.problems),
        "first": [str(problem) for problem in found.problems[:_SHOWN]],
        "first_id": found.samples[0].id if found.samples else "",
        "empty": [sample.id for sample in found.samples if not sample.candidate.strip()],
        "referenced": any(sample.references for sample in found.samples),
        "imaged": any(sample.image is not None for sample in found.samples),
    }
    record["empty_count"], record["empty"] = len(record["empty"]), record["empty"][:3]
    keys = {"ids": _in_order(found.keys), "judged": _in_order(found.judged)}
    write_atomically(job.file("survey", number, "keys"), lambda file: stored.save(keys, file))
    if states and stored.storable(states):
        write_atomically(job.file("states", number, "states"), lambda file: stored.save(states, file))
        record["stored"] = stored.size(list(states.values()))
        record["divisible"] = stored.divisible(list(states.values()))
        write_record(job.file("survey", number), record)
        return record
    if not states:
        write_record(job.file("survey", number), record)
        return record
    return {**record, "states": states}  # of a metric from elsewhere: they are not kept on disk


def _in_order(keys: Keys) -> SortedNumbers:
    """Keys with the place of each."""
    return SortedNumbers.of(keys, np.arange(len(keys))).with_borders()


def states_of(job: Job, samples: Sequence[Sample]) -> dict[str, Any]:
    """What each metric knows of some samples."""
    run, later = job.run, job.later
    batch = Batch.of(list(samples), job.settings)
    work = replace(run.plan, metrics=tuple(later))
    gathered = []
    for span in work.shards(batch):
        shard = batch if len(span) == len(batch) else _compact(batch, span)
        fill(shard, work.keys(), run.runtime)
        gathered.append(run._prepared(later, shard, batch, work))
        shard.drop()
    return {label: stored.numbered(own[0]) for label, own in _merged(later, gathered).items()}


# --- the second look --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scoring:
    """The second look: score a shard and write its rows; what is given back, and kept, are sums and counts.

    `work(task)` does both steps; a cluster may have a shard read on one machine and scored on another.
    """

    job: Job

    @without_collector()
    def __call__(self, task: Task) -> dict[str, Any]:
        return self.score(task, self.read(task))

    @without_collector()
    def read(self, task: Task) -> Records:
        return self.job.source.read(task.unit, start=task.start, repeats=repeats_of(task))

    @without_collector()
    def score(self, task: Task, found: Records) -> dict[str, Any]:
        record = _score(self.job, task, found)
        give_back()
        return record


def repeats_of(task: Task) -> dict[int, int]:
    """Place of a sample -> how often its id occurs in shards before."""
    found: dict[int, int] = {}
    for file in task.repeats:
        own = stored.load(file)["repeats"].starting(task.number << 32, (task.number + 1) << 32)
        found.update(zip((own.keys & np.uint64(0xFFFFFFFF)).tolist(), own.values.tolist()))
    return found


def _score(job: Job, task: Task, found: Records) -> dict[str, Any]:
    run = job.run
    problems = list(found.problems)
    record: dict[str, Any] = {"records": found.count, "samples": len(found.samples), "metrics": {}, "warnings": []}
    if found.samples:
        found.samples = run.name_images(found.samples)
        states = _states(job, task)
        result = judged(run, found.samples, states, explain=job.explain)
        record.update(_sums(job, result, task.number), worst=_worst(job, result), warnings=_remarks(result))
        if task.number < _EXAMPLED:
            record["examples"] = [_plain(sample) for sample in _examples(found.samples)]
        problems += result.problems
        if job.sink is not None:
            record["part"] = job.sink.write(job.folder, task.number, result, found)
    record["problems"] = len(problems)
    record["unread"] = len(found.problems)
    record["first"] = [str(problem) for problem in problems[:_SHOWN]]
    if problems:
        lines = "".join(json.dumps(vars(problem)) + "\n" for problem in problems)
        write_atomically(job.file("bad", task.number, "jsonl"), lambda f: f.write_text(lines, "utf-8"))
    write_record(job.file("scored", task.number), record)
    return record


def _states(job: Job, task: Task) -> dict[str, list[Any]]:
    if isinstance(task.states, Path):
        path = task.states
        known = job.run.runtime.once(("states", str(path), path.stat().st_mtime_ns), lambda: stored.load(path))
    else:
        known = dict(task.states or {})
    return {label: [state] for label, state in known.items()}


def judged(run: Run, samples: Sequence[Sample], states: Mapping[str, list[Any]], *, explain: bool = False) -> Result:
    """The result of some samples, where what metrics know of the whole corpus is given."""
    whole = Joined.of({ONE: samples}, run.settings)
    work = replace(run.plan, explain=explain)
    done = []
    for span in work.shards(whole.batch):
        shard = whole.batch if len(span) == len(whole.batch) else _compact(whole.batch, span)
        fill(shard, work.keys(), run.runtime)
        done.append(run._shard(run.metrics, shard, states, work))
        shard.drop()
    return run._result(whole, ONE, _joined(done, run.metrics), states)


def _sums(job: Job, result: Result, number: int) -> dict[str, Any]:
    """By metric: the sum of its rows of statistics and how many there are, its signature, why rows have no score."""
    found = {}
    for label, statistics in result.statistics.items():
        rows = statistics.values[~np.isnan(statistics.values[:, 0])]
        reasons = [why for row, why in statistics.problems.items() if statistics.undefined(row)]
        found[label] = {
            "sums": [float(value) for value in rows.sum(axis=0)],
            "count": len(rows),
            "signature": result.corpus[label].signature,
            "reason": reasons[0] if reasons else "",
        }
    if job.keep_statistics:
        table = np.concatenate([statistics.values for statistics in result.statistics.values()], axis=1)
        write_atomically(job.file("statistics", number, "npy"), lambda file: _save_array(file, table))
    return {"metrics": found}


def _save_array(file: Path, table: Array) -> None:
    with file.open("wb") as stream:
        np.save(stream, table)


def _worst(job: Job, result: Result) -> list[list[Any]]:
    """Score and place of the captions with the worst scores of the first metric."""
    label, metric = next(iter(result.metrics.items()))
    sign = 1.0 if metric.direction == "higher" else -1.0
    return [[sign * float(result[label][row]), row] for row in result.worst(job.worst)] if job.worst else []


def _remarks(result: Result) -> list[str]:
    return list(dict.fromkeys(result.warnings))


def _examples(samples: Sequence[Sample]) -> list[Sample]:
    """Neighbours from the middle of a shard: the diagnosis compares captions with those before and after."""
    start = max(0, (len(samples) - _EXAMPLES) // 2)
    return list(samples[start : start + _EXAMPLES])


def _plain(sample: Sample) -> list[Any]:
    return [sample.id, sample.candidate, list(sample.references), plain(sample.image)]
