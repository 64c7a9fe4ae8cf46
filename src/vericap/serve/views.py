"""The caption view of the report, filled with one caption: what its script reads, made from live or stored scores."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from vericap.core.explanation import Explanation
from vericap.core.metric import Metric
from vericap.metrics.scales import known_scales
from vericap.report.site.aspects import JUDGES, SURE, ordered
from vericap.report.site.chunks import rounded
from vericap.report.site.reasons import compact, evidence
from vericap.report.site.summary import described
from vericap.serve.judge import Judged

_SPREADS = 3.0  # of human captions, on either side of their mean: the ends of a bar without bounds


def live_view(found: Judged) -> dict[str, Any]:
    """The view of a caption that was just judged."""
    return view(
        found.sample.candidate,
        found.sample.references,
        [metric_entry(name, metric, found.signatures[name]) for name, metric in found.metrics.items()],
        found.scores,
        found.reasons,
        lang=found.lang,
        problem=_problem(found),
    )


def view(
    text: str,
    references: Sequence[str],
    metrics: list[dict[str, Any]],
    scores: Mapping[str, float | None],
    reasons: Mapping[str, Explanation],
    *,
    lang: str = "en",
    name: str = "",
    problem: str = "",
    photo: str = "",
) -> dict[str, Any]:
    """Data of one caption in the shape of a report with one row; the page puts the photo's address in itself."""
    seen = evidence(reasons, references)
    return {
        "head": {
            "lang": lang,
            "systems": [""],
            "metrics": metrics,
            "judges": list(seen.judges),
            "looked": bool(ordered(seen.judges, (*SURE, *JUDGES))),
        },
        "rows": {
            "item": [0],
            "system": [0],
            "text": [text],
            "lower": [text.lower()],
            "ids": [name],
            "siblings": [[0]],
            "weak": [[place for span in seen.weak for place in span]],
            "vocabulary": list(seen.gone),
            "gone": [list(range(len(seen.gone)))],
            "problem": {"0": problem} if problem else {},
            "scores": {entry["name"]: [rounded(scores[entry["name"]])] for entry in metrics},
            "link": photo,
        },
        "detail": {"references": list(references), "reasons": compact(reasons)},
    }


def metric_entry(name: str, metric: Metric, signature: str) -> dict[str, Any]:
    """A metric as the view knows it; a score without bounds stands on the scale of human captions."""
    low, high = metric.range
    edges = [low if math.isfinite(low) else 0.0, high if math.isfinite(high) else 1.0]
    scale = known_scales().get(name)
    if scale is not None and not (math.isfinite(low) and high <= _SPREADS):
        mean, spread = scale.means[0], scale.spreads[0]
        edges = [max(low, mean - _SPREADS * spread), min(high, mean + _SPREADS * spread)]
    return {
        **described(name, metric, signature),
        "edges": edges,
        "systems": [{"value": None, "interval": None, "count": 1, "reason": "", "bins": []}],
    }


def _problem(found: Judged) -> str:
    """Why metrics gave no score; a reason that several share is said once."""
    by: dict[str, list[str]] = {}
    for name, why in found.problems.items():
        if found.scores[name] is None:
            by.setdefault(why, []).append(name)
    return "; ".join(f"{', '.join(names)}: {why}" for why, names in by.items())
