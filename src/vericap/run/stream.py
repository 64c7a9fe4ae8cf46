"""A run over an input of any size: planned once, executed shard by shard, with bounded memory.

    job = Job(metrics, settings, source, folder, sink)       # the plan; it can be pickled
    outcome = execute(job, LocalExecutor(workers=2))

The driver asks an `Executor` to work on shards (`vericap.run.shards`) and adds up what comes back. Who executes, and
where, it does not know: processes here, a cluster elsewhere. Shards, sums and files are the same whoever does the work.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from vericap.core.batch import Batch
from vericap.core.metric import Metric
from vericap.core.samples import Sample
from vericap.core.score import Score
from vericap.run import processes
from vericap.run import states as stored
from vericap.run.fitting import check_needs
from vericap.run.progress import Bar
from vericap.run.shards import Job, Scoring, Settled, Task, read_record, survey, write_atomically
from vericap.run.spans import find_repeats, merge_states, spans

T = TypeVar("T")
R = TypeVar("R")
_PROBLEMS = 1000  # that are told in full
_REFS = re.compile(r"^(.*\brefs:)(\d+)(?:-(\d+))?(.*)$")


class Executor(Protocol):
    """Who works on shards: `work(piece)` for every piece, outcomes in the order of the pieces."""

    def map(self, work: Callable[[T], R], pieces: Iterable[T]) -> Iterator[R]: ...


class LocalExecutor:
    """This process, or several processes of this machine: `with LocalExecutor(2) as executor: ...`."""

    def __init__(self, workers: int = 1) -> None:
        self.workers = workers
        self._crew: processes.Workers | None = None

    def __enter__(self) -> LocalExecutor:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if self._crew is not None:
            self._crew.__exit__(kind, *rest)

    def map(self, work: Callable[[T], R], pieces: Iterable[T]) -> Iterator[R]:
        if self.workers == 1:
            return map(work, pieces)
        self._crew = self._crew or processes.Workers(self.workers)
        return self._crew.map(work, pieces)


@dataclass
class Outcome:
    """What came of a run: corpus scores, counts, and what there is to say."""

    captions: int = 0
    corpus: dict[str, Score] = field(default_factory=dict)
    problems: int = 0
    unread: int = 0
    first_problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    examples: list[Sample] = field(default_factory=list)
    worst: list[tuple[float, int, int]] = field(default_factory=list)  # score, shard, place in it
    records: list[dict[str, Any]] = field(default_factory=list, repr=False)  # of the shards
    tasks: list[Task] = field(default_factory=list, repr=False)  # the shards
    states: Path | Mapping[str, Any] | None = field(default=None, repr=False)

    @property
    def signatures(self) -> dict[str, str]:
        return {name: score.signature for name, score in self.corpus.items()}

    def summary(self) -> dict[str, Any]:
        """Corpus scores and what there is to say about them, as plain data."""
        return {
            "captions": self.captions,
            "scores": {name: score.as_dict() for name, score in self.corpus.items()},
            "warnings": self.warnings,
            "notes": self.notes,
            "problems": self.first_problems,
            "problem_count": self.problems,
        }


def execute(
    job: Job, executor: Executor, *, progress: bool = False, own: Callable[[int], bool] | None = None
) -> Outcome | None:
    """Do what is not done yet, and add everything up.

    Parameters
    ----------
    job : the plan.
    executor : who works on shards.
    progress : show a bar.
    own : which shards are this process's, where several work on one input; then the outcome is None.
    """
    tasks = [Task(number, unit) for number, unit in enumerate(job.source.units)]
    light = replace(job, source=job.source.light())
    shared = own is None or not job.later
    surveys = _surveyed(light, tasks, executor, progress, None if shared else own)
    if surveys is None:
        return None
    repeats, matched = _repeats(light, surveys, executor)
    settled = job.source.settle(surveys, matched)
    _check(job, surveys)
    states = _merged_states(light, surveys, executor, keep=own is not None)
    tasks = [replace(task, start=start, repeats=repeats, states=states) for task, start in zip(tasks, settled.starts)]
    records = _scored(light, tasks, executor, progress, own)
    if own is not None:
        return None
    found = added_up(job.metrics, records, settled)
    found.states, found.tasks = states, tasks
    return found


def added_up(metrics: Sequence[Metric], records: Sequence[dict[str, Any]], settled: Settled) -> Outcome:
    """The outcome of a run from the records of its shards."""
    found = Outcome(notes=list(settled.notes), warnings=list(settled.warnings), records=list(records))
    for number, record in enumerate(records):
        found.captions += record["samples"]
        found.problems += record["problems"]
        found.unread += record["unread"]
        found.first_problems += record["first"][: _PROBLEMS - len(found.first_problems)]
        found.warnings += [text for text in record["warnings"] if text not in found.warnings][:20]
        found.worst += [(value, number, place) for value, place in record.get("worst", [])]
        found.examples += [Sample(i, c, tuple(r), image) for i, c, r, image in record.get("examples", [])]
    found.corpus = {metric.label: _corpus(metric, records) for metric in metrics}
    found.notes += [score.remark() for score in found.corpus.values() if score.beside]
    found.worst.sort()
    return found


def _corpus(metric: Metric, records: Sequence[Mapping[str, Any]]) -> Score:
    own = [record["metrics"][metric.label] for record in records if metric.label in record["metrics"]]
    sums, count = np.zeros(metric.width), 0
    for part in own:
        sums = sums + np.array(part["sums"]) if part["count"] else sums
        count += part["count"]
    value = float(metric.corpus(sums, np.float64(count))) if count else float("nan")  # type: ignore[arg-type]
    reason = next((part["reason"] for part in own if part["reason"]), "not defined on this corpus")
    return Score(
        name=metric.label,
        value=None if value != value else value,
        signature=one_signature([part["signature"] for part in own]),
        count=count,
        direction=metric.direction,
        reason=reason if value != value else "",
        beside={} if value != value else metric.beside(sums, count),
    )


def one_signature(parts: Sequence[str]) -> str:
    """The signature of a whole, from those of its shards, which differ at most in what the records hold.

    Examples
    --------
    >>> one_signature(["metric:rouge-l|refs:4|version:1", "metric:rouge-l|refs:3-5|version:1"])
    'metric:rouge-l|refs:3-5|version:1'
    """
    distinct = list(dict.fromkeys(parts))
    if len(distinct) < 2:
        return distinct[0] if distinct else ""
    columns = list(zip(*(text.split("|") for text in distinct)))
    return "|".join(_one_part(list(dict.fromkeys(column))) for column in columns)


def _one_part(values: list[str]) -> str:
    ranges = [_REFS.match(value) for value in values]
    if len(values) > 1 and all(ranges):
        numbers = [int(number) for found in ranges if found for number in found.group(2, 3) if number]
        first = ranges[0]
        return f"{first[1]}{min(numbers)}-{max(numbers)}{first[4]}" if first else values[0]
    name = values[0].partition(":")[0]
    each = dict.fromkeys(piece for text in values for piece in text.partition(":")[2].split("+"))
    return values[0] if len(values) == 1 else f"{name}:{'+'.join(each)}"


# --- the first look ---------------------------------------------------------------------------------------------


def _surveyed(
    job: Job, tasks: Sequence[Task], executor: Executor, progress: bool, own: Callable[[int], bool] | None
) -> list[dict[str, Any]] | None:
    """The records of the first look at every shard; None where shards of other processes are missing."""
    known = {task.number: read_record(job.file("survey", task.number)) for task in tasks}
    todo = [task for task in tasks if known[task.number] is None and (own is None or own(task.number))]
    if todo:
        with Bar(what="first look", total=len(todo), show=progress, unit="shard") as bar:
            for task, record in zip(todo, executor.map(partial(survey, job), todo)):
                known[task.number] = record
                bar.advance()
    if own is not None and any(record is None for record in known.values()):
        # Another process may have come to its end meanwhile.
        known = {number: record or read_record(job.file("survey", number)) for number, record in known.items()}
    found = [record for record in known.values() if record is not None]
    return found if len(found) == len(tasks) else None


def _repeats(job: Job, surveys: Sequence[Mapping[str, Any]], executor: Executor) -> tuple[tuple[Path, ...], int]:
    """Files of ids that occur in several shards, and how many ids a references file knows."""
    work = spans(len(surveys), sum(record["samples"] for record in surveys))
    found = list(executor.map(partial(find_repeats, job), work))
    files = tuple(job.folder / own["file"] for own in found if own["repeated"])
    return files, sum(own["matched"] for own in found)


def _check(job: Job, surveys: Sequence[Mapping[str, Any]]) -> None:
    """Refuse a metric whose input is nowhere in the records."""
    referenced = ("a",) if any(record["referenced"] for record in surveys) else ()
    imaged = any(record["imaged"] for record in surveys) or job.settings.shows_images
    sample = Sample("1", "a", referenced, "1" if imaged else None)
    for metric in job.metrics:
        check_needs(metric, Batch.of([sample], job.settings))


def _merged_states(
    job: Job, surveys: Sequence[dict[str, Any]], executor: Executor, *, keep: bool
) -> Path | Mapping[str, Any] | None:
    """What metrics know of the whole corpus: merged part by part, on disk."""
    if not job.later:
        return None
    carried = [record["states"] for record in surveys if "states" in record]
    if carried:  # of a metric from elsewhere
        return {m.label: stored.trimmed(m.merge([part[m.label] for part in carried])) for m in job.later}
    target = job.file("merged", 0, "states")
    if target.exists():
        return target
    numbers = {number: record["stored"] for number, record in enumerate(surveys) if "stored" in record}
    divisible = all(record.get("divisible", True) for record in surveys)
    work = spans(len(surveys), sum(numbers.values()) if divisible else 0, set(range(len(surveys))) - set(numbers))
    parts = list(executor.map(partial(merge_states, job, divisible=divisible), work))
    write_atomically(target, lambda file: stored.join(parts, file))
    if not keep:  # another process may be at the same work
        for file in parts:
            file.unlink()
    return target


# --- the second look --------------------------------------------------------------------------------------------


def _scored(
    job: Job, tasks: Sequence[Task], executor: Executor, progress: bool, own: Callable[[int], bool] | None
) -> list[dict[str, Any]]:
    known = {task.number: read_record(job.file("scored", task.number)) for task in tasks}
    todo = [task for task in tasks if known[task.number] is None and (own is None or own(task.number))]
    if todo:
        with Bar(what="scoring", total=len(todo), show=progress, unit="shard") as bar:
            for task, record in zip(todo, executor.map(Scoring(job), todo)):
                known[task.number] = record
                bar.advance()
    return [record for record in known.values() if record is not None]
