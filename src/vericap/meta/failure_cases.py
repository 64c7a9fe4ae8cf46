"""Where a metric and people disagree most: |s_H / max - s_M / max| >= theta, with all there is to see."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from vericap.core.errors import VericapError
from vericap.core.explanation import Explanation
from vericap.core.samples import Sample
from vericap.core.table import Table
from vericap.core.typing import Floats
from vericap.meta.evaluation import Agreements
from vericap.meta.judgements import Ratings
from vericap.run.engine import Run


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
    explanation: Explanation | None = None

    @property
    def gap(self) -> float:
        return self.metric - self.human

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        explanation = None if self.explanation is None else self.explanation.as_dict()
        return {**vars(self), "explanation": explanation, "gap": self.gap}


def failures(
    found: Agreements,
    metric: str,
    *,
    theta: float = 0.5,
    limit: int | None = None,
    explain: bool = False,
) -> list[Failure]:
    """The largest disagreements first. Ratings and scores are put on 0-1: by the scale, by their maximum.

    Parameters
    ----------
    found : what `evaluate` gave for rated captions.
    metric : one of its metrics.
    theta : disagreement from which a case is listed.
    limit : list so many cases at most.
    explain : ask the metric for its reasons on the captions listed.
    """
    task = found.task
    if not isinstance(task.data, Ratings):
        raise VericapError("failure cases need rated captions; pairs have no rating to compare with")
    if metric not in found.scores:
        raise VericapError(f"metric '{metric}' was not scored on {found.dataset}")
    data, (low, high) = task.data, task.data.scale
    human = (task.mean_judgement() - low) / (high - low)
    ours = _shares(found.scores[metric], metric)
    gap = np.abs(ours - human)
    order = [int(i) for i in np.argsort(-gap, kind="stable") if gap[i] >= theta][:limit]
    samples = task.samples(0)
    reasons = _reasons(found, metric, samples, order) if explain else [None] * len(order)
    causes = _causes(found, [samples[place] for place in order], [float(ours[i] - human[i]) for i in order])
    return [
        Failure(
            id=data.ids[task.rows[place]],
            image=data.images[task.rows[place]],
            candidate=samples[place].candidate,
            references=samples[place].references,
            human=float(human[place]),
            metric=float(ours[place]),
            cause=why,
            explanation=reason,
        )
        for place, reason, why in zip(order, reasons, causes)
    ]


def _causes(found: Agreements, samples: list[Sample], gaps: list[float]) -> list[str]:
    """A cause for each case: by words for English, by the paper's Table 7 of JaSPICE for Japanese."""
    if found.task.data.lang != "ja":
        return [cause(sample.candidate, sample.references, gap) for sample, gap in zip(samples, gaps)]
    from vericap.meta import japanese_causes
    from vericap.run.analyses.graphs import parse_texts
    from vericap.run.runtime import Runtime

    texts = list(dict.fromkeys(text for sample in samples for text in (sample.candidate, *sample.references)))
    graphs = dict(zip(texts, parse_texts(texts, Runtime.of(found.settings), lang="ja")))
    return [
        japanese_causes.cause(s.candidate, s.references, [graphs[t] for t in (s.candidate, *s.references)], gap)
        for s, gap in zip(samples, gaps)
    ]


def _shares(scores: Floats, metric: str) -> Floats:
    """Scores between 0, or the lowest where that is below, and their maximum."""
    floor = min(0.0, float(np.nanmin(scores)))
    top = float(np.nanmax(scores)) - floor
    if top == 0:
        raise VericapError(f"all scores of '{metric}' are equal; failure cases are undefined")
    return (scores - floor) / top


def _reasons(found: Agreements, metric: str, samples: list[Sample], rows: list[int]) -> list[Explanation | None]:
    """The metric's reasons for some captions; what it knows of a corpus it learns from all of them."""
    if not rows or metric not in found.metrics:
        return [None] * len(rows)  # scores from elsewhere come without reasons
    run = Run([found.metrics[metric]], found.settings)
    states = run.score(samples).states if found.metrics[metric].prepares else None
    return run.explain([samples[row] for row in rows], states=states).get(metric, [None] * len(rows))


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
    if not text.isascii() and " " not in text.strip():  # written without blanks
        return {text[place : place + 2] for place in range(len(text) - 1)}
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
