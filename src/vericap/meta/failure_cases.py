"""Where a metric and people disagree most: |s_H / max - s_M / max| >= theta, with all there is to see."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from vericap.errors import VericapError
from vericap.meta.evaluation import Agreements, fitting_settings
from vericap.meta.judgements import Ratings
from vericap.meta.scoring import judges_of, score
from vericap.report.tables import Table
from vericap.run.batch import Settings


@dataclass(frozen=True)
class Failure:
    """One caption that a metric judges otherwise than people."""

    id: str
    image: str
    candidate: str
    references: tuple[str, ...]
    human: float  # mean rating over the scale, 0-1
    metric: float  # score over its range in this data, 0-1
    cause: str
    explanation: Any = None

    @property
    def gap(self) -> float:
        return self.metric - self.human

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "gap": self.gap}


def failures(
    found: Agreements,
    metric: str,
    *,
    theta: float = 0.5,
    limit: int | None = None,
    explain: bool = False,
    settings: Settings | None = None,
) -> list[Failure]:
    """The largest disagreements first. Ratings and scores are put on 0-1: by the scale, by their maximum.

    With `explain` the metric is asked for its reasons on the captions listed.
    """
    task = found.task
    if task is None or not isinstance(task.data, Ratings):
        raise VericapError("failure cases need rated captions; pairs have no rating to compare with")
    if metric not in found.scores:
        raise VericapError(f"metric '{metric}' was not scored on {found.dataset}")
    scores, data = found.scores[metric], task.data
    low, high = data.scale
    total = np.bincount(task.entry, task.judgement, len(task.rows))
    human = (total / np.bincount(task.entry, minlength=len(task.rows)) - low) / (high - low)
    floor = min(0.0, float(np.nanmin(scores)))
    top = float(np.nanmax(scores)) - floor
    if top == 0:
        raise VericapError(f"all scores of '{metric}' are equal; failure cases are undefined")
    ours = (scores - floor) / top
    gap = np.abs(ours - human)
    order = [int(i) for i in np.argsort(-gap, kind="stable") if gap[i] >= theta][:limit]
    samples = task.samples(0)
    reasons: list[Any] = [None] * len(order)
    if explain and order:
        fitted = fitting_settings(settings or Settings(), data)
        chosen = [samples[place] for place in order]
        asked = score(chosen, judges_of([metric]), replace(fitted, explain=True))
        reasons = asked.explanations.get(metric, reasons)
    return [
        Failure(
            id=data.ids[task.rows[place]],
            image=data.images[task.rows[place]],
            candidate=samples[place].candidate,
            references=samples[place].references,
            human=float(human[place]),
            metric=float(ours[place]),
            cause=cause(samples[place].candidate, samples[place].references, float(ours[place] - human[place])),
            explanation=reason,
        )
        for place, reason in zip(order, reasons)
    ]


def cause(candidate: str, references: tuple[str, ...], gap: float) -> str:
    """A first guess, from word overlap and length: enough to sort cases for reading."""
    words = _words(candidate)
    shared = max((len(words & _words(r)) / max(1, len(words)) for r in references), default=0.0)
    if gap > 0:
        return "shares words, means something else" if shared >= 0.5 else "scored high without shared words"
    if shared < 0.25:
        return "right in other words"
    lengths = [len(r.split()) for r in references] or [0]
    if len(candidate.split()) < 0.6 * min(lengths) or len(candidate.split()) > 1.6 * max(lengths):
        return "length unlike the references"
    return "partly other words"


def _words(text: str) -> set[str]:
    return {word for word in text.lower().split() if len(word) > 2 and word.isalnum()} - {"the", "and", "with"}


def failure_table(found: list[Failure], *, title: str = "") -> Table:
    table = Table(["human", "metric", "cause", "candidate", "nearest reference", "image"], title=title, digits=2)
    for case in found:
        words = _words(case.candidate)
        nearest = max(case.references, key=lambda r: len(words & _words(r)), default="")
        table.add(case.human, case.metric, case.cause, case.candidate, nearest, case.image)
    counts = Counter(case.cause for case in found)
    table.notes = [f"{len(found)} cases: " + ", ".join(f"{n} {name}" for name, n in counts.most_common())]
    return table
