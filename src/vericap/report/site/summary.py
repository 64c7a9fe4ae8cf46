"""The first view: corpus scores with intervals and tests, distributions, wins and losses, disagreement."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from vericap.core.metric import Metric
from vericap.core.typing import Floats
from vericap.report.site.aspects import aspect
from vericap.report.site.chunks import rounded
from vericap.report.site.content import Content

BINS = 24
TIE = 1e-9  # differences up to this are none
DISAGREE = 24  # captions on which metrics disagree most
_SHORT = 44  # letters of a short signature


def metrics_of(content: Content) -> list[dict[str, Any]]:
    """One entry per metric: what it is, its scores by system, its distribution."""
    return [_metric(content, name, metric) for name, metric in content.metrics.items()]


def _metric(content: Content, name: str, metric: Metric) -> dict[str, Any]:
    scores = {system: result[name] for system, result in content.results.items()}
    signature = next(iter(content.results.values())).corpus[name].signature
    edges = _edges(np.concatenate(list(scores.values())))
    return {
        **described(name, metric, signature),
        "explains": any(name in result.explanations for result in content.results.values()) or metric.explains,
        "edges": [rounded(float(edges[0]), 6), rounded(float(edges[-1]), 6)],
        "systems": [_score(content, system, name, scores[system], edges) for system in content.systems],
    }


def described(name: str, metric: Metric, signature: str) -> dict[str, Any]:
    """What a view says of a metric, whatever its scores are."""
    return {
        "name": name,
        "title": metric.title or name,
        "lower": metric.direction == "lower",
        "range": [rounded(bound) for bound in metric.range],
        "aspect": aspect(name.partition(":")[0]),
        "signature": signature,
        "short": short_signature(signature),
        "explains": metric.explains,
    }


def short_signature(text: str) -> str:
    """The choices of a signature in few letters: without the metric's name and version, long values cut."""
    parts = [part.partition(":") for part in text.split("|")]
    kept = [f"{key}:{value[:12]}" for key, _, value in parts if key not in ("metric", "version")]
    shown = " ".join(kept)
    return shown if len(shown) <= _SHORT else shown[: _SHORT - 1] + "…"


def _score(content: Content, system: str, name: str, values: Floats, edges: Floats) -> dict[str, Any]:
    score, found = content.results[system].corpus[name], content.comparison
    interval = score.interval if found is None else found.intervals[system, name]
    usable = values[~np.isnan(values)]
    own: dict[str, Any] = {
        "value": rounded(score.value),
        "interval": [rounded(bound) for bound in interval] if interval else None,
        "count": score.count,
        "reason": score.reason,
        "bins": np.histogram(usable, bins=edges)[0].tolist(),
    }
    if found is not None and system != found.baseline:
        base = content.results[found.baseline]
        gap = (values - base[name][_places(content, system)]) * (-1 if score.direction == "lower" else 1)
        gap = gap[~np.isnan(gap)]
        own["wins"] = [int((gap > TIE).sum()), int((abs(gap) <= TIE).sum()), int((gap < -TIE).sum())]
        own["difference"] = rounded(found.difference(system, name))
        own["p"] = rounded(found.p_values.get((system, name)), 6)
        own["adjusted"] = rounded(found.adjusted.get((system, name)), 6)
        own["star"] = found.starred(system, name)
    return own


def _places(content: Content, system: str) -> list[int]:
    """Rows of the first system that have the ids of another one."""
    first = next(iter(content.results.values()))
    place = {identifier: row for row, identifier in enumerate(first.ids)}
    return [place[identifier] for identifier in content.results[system].ids]


def _edges(values: Floats) -> Floats:
    usable = values[~np.isnan(values)]
    low, high = (float(usable.min()), float(usable.max())) if usable.size else (0.0, 1.0)
    return np.linspace(low, high if high > low else low + 1.0, BINS + 1)


def tested(content: Content) -> dict[str, Any] | None:
    """How differences were tested."""
    found = content.comparison
    if found is None:
        return None
    return {**found.protocol, "baseline": found.baseline, "level": found.level}


def disagreement(content: Content) -> list[list[Any]]:
    """Captions that one metric ranks high and another low: [system, row, high metric, share, low metric, share].

    Scores are compared by their rank among all captions of the report, the better the higher.
    """
    names = [name for name, metric in content.metrics.items() if not name.startswith("mean(")]
    owners = [(number, row) for number, result in enumerate(content.results.values()) for row in range(len(result.ids))]
    if len(names) < 2 or len(owners) < 3:
        return []
    ranks = np.stack([_ranks(content, name) for name in names])
    judged = (~np.isnan(ranks)).sum(axis=0) >= 2
    high = np.where(np.isnan(ranks), -1.0, ranks)
    low = np.where(np.isnan(ranks), 2.0, ranks)
    spread = np.where(judged, high.max(axis=0) - low.min(axis=0), -1.0)
    found = []
    for place in np.argsort(-spread, kind="stable")[:DISAGREE].tolist():
        if spread[place] <= 0.5:
            break
        best, worst = int(high[:, place].argmax()), int(low[:, place].argmin())
        shares = [rounded(float(ranks[which, place]), 2) for which in (best, worst)]
        found.append([*owners[place], names[best], shares[0], names[worst], shares[1]])
    return found


def _ranks(content: Content, name: str) -> Floats:
    """Mean ranks as shares, over all systems; NaN where there is no score."""
    values = np.concatenate([result[name] for result in content.results.values()])
    values = -values if content.metrics[name].direction == "lower" else values
    ranks = np.full(len(values), math.nan)
    usable = np.flatnonzero(~np.isnan(values))
    if usable.size < 2:
        return ranks
    _, inverse, counts = np.unique(values[usable], return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks[usable] = ((ends - counts + ends - 1) / 2)[inverse] / (usable.size - 1)
    return ranks
