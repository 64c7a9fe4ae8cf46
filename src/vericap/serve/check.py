"""What POST /check answers: fidelity, adequacy, fluency and the verdict, with the words and what is missing."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from vericap.core.explanation import WordEvidence
from vericap.core.samples import Sample
from vericap.metrics.registry import resolve
from vericap.report.site.aspects import JUDGES, OMISSIONS, SURE, ordered
from vericap.report.site.reasons import evidence
from vericap.serve.judge import Judge, Judged, fits

VERDICT = ("fidelity", "adequacy", "fluency", "verdict")


def checked(judge: Judge, sample: Sample, lang: str) -> dict[str, Any]:
    """The answer for one caption; the names are those of `vericap.check`.

    The verdict needs a photo and an English caption. Without them its fields are null and `scores` holds what the
    request allows of the set recommended instead; no number is made up.
    """
    metrics = resolve(VERDICT)
    if not all(fits(metric, sample, lang) for metric in metrics):
        metrics = judge.usual(sample, lang)
    found = judge.explain(sample, metrics, lang)
    return {**answer(found), **found.as_dict()}


def answer(found: Judged) -> dict[str, Any]:
    """Numbers, words, sentences and missing content of a judged caption."""
    reasons, text = found.reasons, found.sample.candidate
    said = [reasons[name].words for name in ordered(reasons, (*SURE, *JUDGES)) if reasons[name].words]
    missing = next((reasons[name] for name in ordered(reasons, OMISSIONS) if reasons[name].missing), None)
    whole = next((reasons[name] for name in ordered(reasons, SURE) if reasons[name].sentences), None)
    return {
        "caption": text,
        **{name: _short(found.scores.get(name)) for name in VERDICT},
        "words": [asdict(_best(own)) for own in zip(*said)] if said else [],
        "sentences": whole.as_dict()["sentences"] if whole else [],
        "missing": missing.as_dict()["missing"] if missing else [],
        "not_supported": [text[start:end] for start, end in evidence(reasons, found.sample.references).weak],
        "notes": list(reasons["fluency"].notes) if "fluency" in reasons else [],
    }


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _best(said: tuple[WordEvidence, ...]) -> WordEvidence:
    """One word as the first metric that judges it says; those that decide come before those that grade."""
    return next((word for word in said if word.support is not None), said[0])
