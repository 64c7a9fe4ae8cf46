"""What scored, failed and not judged mean for the denominator, written once.

- *Not judged by people* (no rating inside the scale, no preference): the caption leaves the data set before anything is
  scored; the data set's problems name it. It is in nobody's denominator.
- *Not scored by a metric* (NaN with a reason: no photo, a wordless caption, a score missing from a file): under
  `unscored=left-out` the caption leaves the denominator of that metric alone, and the table counts it; under
  `unscored=worst` it stays and gets the metric's worst score, so that refusing hard captions does not pay.
- *Failed* (the metric stopped with an error, or scored nothing): the metric has no value but a reason; never 0.
- *Paired tests* use only captions that both metrics scored: a gap never comes from one of them having had the easier
  captions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vericap.core.errors import VericapError
from vericap.core.metric import Metric
from vericap.core.typing import Floats

LEFT_OUT, WORST = "left-out", "worst"
UNSCORED = (LEFT_OUT, WORST)


def check(unscored: str) -> None:
    """Refuse an unknown way with captions that have no score."""
    if unscored not in UNSCORED:
        raise VericapError(f"`unscored={unscored}` is not one of {', '.join(UNSCORED)}")


def worst(scores: Floats, metric: Metric | None = None) -> float:
    """The score that a caption without one gets: the bad end of the metric's range, else the lowest one seen.

    `scores` are already turned so that higher is better.
    """
    if metric is not None:
        end = -metric.range[1] if metric.direction == "lower" else metric.range[0]
        if np.isfinite(end):
            return float(min(end, np.nanmin(scores)))
    return float(np.nanmin(scores))


def filled(scores: Floats, unscored: str, metric: Metric | None = None) -> Floats:
    """Scores as the policy has them: NaN stays, or becomes the worst score."""
    empty = np.isnan(scores)
    if unscored == LEFT_OUT or not empty.any() or empty.all():
        return scores
    return np.where(empty, worst(scores, metric), scores)


def missing(scores: Floats) -> int:
    """Rows (captions, or pairs of them) without a score."""
    return int(np.isnan(scores).reshape(len(scores), -1).any(axis=1).sum())


def both(one: Sequence[Floats], two: Sequence[Floats]) -> tuple[list[Floats], list[Floats]] | None:
    """The runs of two metrics on the captions that both scored; None where these are the same for both."""
    gone = [(np.isnan(a), np.isnan(b)) for a, b in zip(one, two)]
    if all(np.array_equal(a, b) for a, b in gone):
        return None
    first = [np.where(b, np.nan, own) for own, (_, b) in zip(one, gone)]
    second = [np.where(a, np.nan, own) for own, (a, _) in zip(two, gone)]
    return first, second
