"""What POST /check answers: fidelity, adequacy, fluency and the verdict, with the words and what is missing."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from vericap.core.explanation import WordEvidence
from vericap.core.samples import Sample
from vericap.metrics.registry import names, resolve
from vericap.report.site.aspects import JUDGES, OMISSIONS, SURE, ordered
from vericap.serve.judge import Judge, Judged, fits

VERDICT = ("fidelity", "adequacy", "fluency", "verdict")


def checked(judge: Judge, sample: Sample, lang: str) -> dict[str, Any]:
    """The answer for one caption.

    Where the metrics of `VERDICT` are registered, their numbers are given. Until then these fields are null and
    `scores` holds the usual metrics instead; no number is made up.
    """
    there = [name for name in VERDICT if name in names()]
    metrics = [metric for metric in resolve(there) if fits(metric, sample, lang)] if there else []
    if "verdict" not in there:
        metrics += [metric for metric in judge.usual(sample, lang) if metric.label not in there]
    found = judge.explain(sample, metrics, lang)
    return {**answer(found), **found.as_dict()}


def answer(found: Judged) -> dict[str, Any]:
    """Numbers, words, sentences and missing content of a judged caption."""
    reasons = found.reasons
    said = [reasons[name].words for name in ordered(reasons, (*SURE, *JUDGES)) if reasons[name].words]
    missing = next((reasons[name] for name in ordered(reasons, OMISSIONS) if reasons[name].missing), None)
    whole = next((reasons[name] for name in ordered(reasons, SURE) if reasons[name].sentences), None)
    return {
        **{name: found.scores.get(name) for name in VERDICT},
        "words": [asdict(_best(own)) for own in zip(*said)] if said else [],
        "sentences": whole.as_dict()["sentences"] if whole else [],
        "missing": missing.as_dict()["missing"] if missing else [],
    }


def _best(said: tuple[WordEvidence, ...]) -> WordEvidence:
    """One word as the first metric that judges it says; those that decide come before those that grade."""
    return next((word for word in said if word.support is not None), said[0])
