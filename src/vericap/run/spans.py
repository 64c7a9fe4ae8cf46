"""What all shards of an input know together, part by part: their n-grams and ids are 64-bit numbers, and a part of the
range of these is held in memory at a time, whatever the size of the input.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vericap.core.memory import give_back
from vericap.core.numbers import BUCKETS, SortedNumbers, group_starts, joined
from vericap.core.typing import Ints
from vericap.run import states as stored
from vericap.run.shards import Job, read_record, write_atomically, write_record

AT_ONCE = 1 << 21  # numbers of all shards that are merged at once
_FOLD = 8  # states of a metric from elsewhere that are merged at once


@dataclass(frozen=True)
class Span:
    """Work on a part of the numbers (n-grams, ids) of all shards: buckets `first` to `last` - 1."""

    number: int
    shards: int
    first: int = 0
    last: int = BUCKETS
    without: frozenset[int] = frozenset()  # shards that have none

    def files(self, job: Job, kind: str, ending: str) -> Iterator[Path]:
        """Of all shards, in order."""
        return (job.file(kind, number, ending) for number in range(self.shards) if number not in self.without)


def spans(shards: int, numbers: int, without: Iterable[int] = ()) -> list[Span]:
    """The range of all numbers in parts, of which each can be held in memory."""
    count = min(-(-numbers // AT_ONCE) or 1, BUCKETS)
    borders = [BUCKETS * part // count for part in range(count + 1)]
    return [Span(part, shards, borders[part], borders[part + 1], frozenset(without)) for part in range(count)]


def merge_states(job: Job, span: Span, *, divisible: bool) -> Path:
    """Join what the shards know of a part of the n-grams."""
    target = job.folder / f"merged-part-{span.number:05d}.states"
    if not target.exists():
        merged = (_merge_part if divisible else _merge_all)(job, span)
        kept = {label: stored.trimmed(state) for label, state in merged.items()}
        write_atomically(target, lambda file: stored.save(kept, file))
        give_back()  # the next one to merge may be another process, and nobody scores before all have merged
    return target


def _merge_part(job: Job, span: Span) -> dict[str, Any]:
    every = map(stored.load, span.files(job, "states", "states"))
    parts = [{label: stored.between(own, span.first, span.last) for label, own in each.items()} for each in every]
    return {metric.label: metric.merge([part[metric.label] for part in parts]) for metric in job.later}


def _merge_all(job: Job, span: Span) -> dict[str, Any]:
    """States that have no parts, a few shards at a time."""
    files = list(span.files(job, "states", "states"))
    found = stored.load(files[0])
    for start in range(1, len(files), _FOLD):
        parts = [found, *map(stored.load, files[start : start + _FOLD])]
        found = {metric.label: metric.merge([part[metric.label] for part in parts]) for metric in job.later}
    return found


def find_repeats(job: Job, span: Span) -> dict[str, Any]:
    """Ids that occur in several shards, in a file: shard and place of each -> how often it occurs in shards before.

    What is given back are counts, and how many ids a references file knows.
    """
    file, record = job.file("repeats", span.number, "numbers"), job.file("repeats", span.number)
    known = read_record(record)
    if known is not None:
        return known
    every = [stored.load(own) for own in span.files(job, "survey", "keys")]
    keys, places, shards = joined([own["ids"].between(span.first, span.last) for own in every])
    ids, here = group_starts(keys), group_starts(keys, shards)
    each = np.arange(len(keys))
    before = _last_of(here, each) - _last_of(ids, each)
    found = before > 0
    numbers = (shards[found].astype(np.uint64) << np.uint64(32)) + places[found].astype(np.uint64)
    judged, _, _ = joined([own["judged"].between(span.first, span.last) for own in every])
    repeats = {"repeats": SortedNumbers.of(numbers, before[found])}
    write_atomically(file, lambda path: stored.save(repeats, path))
    outcome = {"file": file.name, "repeated": int(found.sum()), "matched": len(group_starts(judged))}
    write_record(record, outcome)
    return outcome


def _last_of(starts: Ints, each: Ints) -> Ints:
    """Of every place the last start that is not behind it."""
    return starts[np.searchsorted(starts, each, "right") - 1] if len(starts) else each
