"""Scores of different metrics on one scale: where a score stands among those of captions that people wrote.

A mean of a score without bounds (`lm`: log-probabilities) and a score between 0 and 1 (`vifidel`) is the former alone:
its differences are ten times as large. `standing` is the share of human captions below a score, taken from the normal
curve with their mean and spread; `tools/build_scales.py` measured these.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from vericap.core import shipped
from vericap.core.errors import VericapError
from vericap.core.metric import Metric
from vericap.core.typing import Floats

_ERF = np.vectorize(math.erf, otypes=[np.float64])


@dataclass(frozen=True)
class Scale:
    """Mean and spread of human captions by a metric, for each kind of its rows (VIFIDEL: without references, with)."""

    means: tuple[float, ...]
    spreads: tuple[float, ...]

    def standing(self, metric: Metric, values: Floats) -> Floats:
        """Share of human captions below each row's score; higher is better for every metric."""
        kind = metric.kind(values)
        z = (metric.captions(values) - np.array(self.means)[kind]) / np.array(self.spreads)[kind]
        sign = -1.0 if metric.direction == "lower" else 1.0
        return np.asarray((1.0 + _ERF(sign * z / math.sqrt(2.0))) / 2.0)


@lru_cache(maxsize=1)
def known_scales() -> dict[str, Scale]:
    """Scales by the written form of a metric."""
    data = json.loads(shipped.path("scales", "scales.json").read_text("utf-8"))
    return {name: Scale(tuple(found["means"]), tuple(found["spreads"])) for name, found in data["scales"].items()}


def unbounded(metrics: Sequence[Metric]) -> list[Metric]:
    """Metrics whose scores have no bounds."""
    return [metric for metric in metrics if not all(map(math.isfinite, metric.range))]


def scales_of(label: str, metrics: Sequence[Metric]) -> list[Scale]:
    """The scales of all metrics of a mean where one of them has no bounds; none where plain scores can be averaged."""
    loose = unbounded(metrics)
    if not loose or len(metrics) == 1:
        return []
    known = known_scales()
    missing = [metric.spec for metric in metrics if metric.spec not in known]
    if missing:
        raise VericapError(
            f"'{label}': {loose[0].spec} has no bounds, so that its parts have to be brought to one scale first, and "
            f"that of {', '.join(missing)} is not known; known are {', '.join(known)}"
        )
    return [known[metric.spec] for metric in metrics]


def version() -> str:
    """Which measurement of human captions the scales are, for signatures."""
    return str(shipped.meta("scales")["version"])
