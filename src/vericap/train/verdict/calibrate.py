"""Weights of the verdict from cases with what is known of them; a part of the photos fits, a part sets thresholds, the
rest checks."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from vericap.core.typing import Array, Bools, Floats
from vericap.graphs.corruption_words import covers
from vericap.metrics.evidence import base_forms
from vericap.metrics.toolbox import words_of
from vericap.metrics.verdict.claims import is_content
from vericap.metrics.verdict.judge import (
    BOTH,
    FEATURES,
    IMAGE,
    RIGHT,
    Judge,
    features,
    relation_group,
    sentence_features,
    word_supports,
)
from vericap.metrics.verdict.parts import GEOMETRY, CaptionParts
from vericap.metrics.verdict.rating import RATING, rating_features
from vericap.metrics.verdict.reasons import FALSE_ALARMS
from vericap.text.stopwords import ENGLISH
from vericap.train.ratings import FIT, HELD, share_of
from vericap.train.verdict.cases import OWN, Case, claims_wrong
from vericap.train.verdict.fit import area, average_precision, balanced, logistic, named

UNSAID = 0.3  # of things called left out that none of the photo's other captions may say
WAYS = (IMAGE, BOTH)
HALF = 0.5
COUNTS = 0.7  # support from which a claim adds to what a caption says
# Of machines' long descriptions people marked 1 % of the first sentences as wrong, 14 % of the second, 46 % of the
# fourth; of those after the first 12 % without details (further things, how many, where), 31 % with one or two kinds
# of them, 77 % with all three (M-HalDetect's dev part). So this is the chance of an error that the photo does not
# show, for each sentence before and each kind of details, and at most. In a sentence the place counts less than in a
# text, so that one of another photo shows wherever it stands.
UNSEEN = {
    "sentence": {"each": 0.03, "details": 0.12, "most": 0.45},
    "text": {"each": 0.15, "details": 0.08, "most": 0.8},
}
LEAST = 0.1  # of the worst sentence in the fidelity of a text
# How much the log odds of how things lie count in a sentence. They are fitted on statements, of which half are wrong in
# just that; captions, which seldom are, would give them a tenth.
LYING = 0.75
_LEAST = 30  # wrong claims of a kind that has weights of its own
_TRUE = 0.97  # fidelity of captions that people wrote for the photo, on average
_PULL = 1000.0  # how much the weights of the rating are pulled towards their shares


class Known(NamedTuple):
    """A case with its parts, and what its photo makes people say beyond its caption, where that is asked."""

    case: Case
    parts: CaptionParts
    unsaid: list[tuple[str, float]]


def calibrated(known: dict[str, list[Known]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Weights from the photos that fit, and figures from those that check."""
    fit, held, check = (
        {name: [one for one in cases if low <= share_of(one.case.image) < high] for name, cases in known.items()}
        for low, high in ((0.0, FIT), (FIT, HELD), (HELD, 1.0))
    )
    weights: dict[str, Any] = {"support": {way: _support(_claimed(fit, way), way) for way in WAYS}}
    weights["relations"] = _relations(fit["stated"])
    weights |= {
        "left out": _left_out(held["made"]),
        "fluency": {"threshold": 0.6},
        "bland": {"below": 0.2, "share": 0.25},
    }
    weights |= {"threshold": COUNTS, "adequacy": {"scale": 3.0}}
    weights["fidelity"] = {"least": LEAST, "before": dict.fromkeys(WAYS, 0.0), "unseen": UNSEEN}
    weights["right"] = {way: named(np.zeros(len(RIGHT)), RIGHT) for way in WAYS}
    weights["right"] = {way: _right(_told(fit, way), Judge(weights), way) for way in WAYS}
    weights["fidelity"]["before"] = {way: _before(fit["rated"], weights, way) for way in WAYS}
    weights["adequacy"] = {"scale": _scale(fit["made"], Judge(weights))}
    weights["doubted"] = {way: _doubted(held["made"], Judge(weights), way) for way in WAYS}
    weights["rating"] = {way: _rating([*fit["rated"], *fit["strange"]], Judge(weights), way) for way in WAYS}
    return weights, _figures(check, Judge(weights))


def _claimed(known: dict[str, list[Known]], way: str) -> list[Known]:
    """Cases whose claims are known to be right or wrong; texts on things in the photo have no references."""
    return known["made"] if way == BOTH else [*known["made"], *known["there"]]


def _told(known: dict[str, list[Known]], way: str) -> list[Known]:
    """Cases whose sentences are known to be right or wrong."""
    return known["made"] if way == BOTH else [*known["made"], *known["there"], *known["foreign"]]


def _support(cases: list[Known], way: str) -> dict[str, dict[str, float]]:
    """Weights for every kind of claim, and for all together under ""."""
    given = np.concatenate([features(parts.numbers, way) for _, parts, _ in cases])
    right = ~np.concatenate([claims_wrong(case, parts) for case, parts, _ in cases])
    kinds = np.array([claim.kind for _, parts, _ in cases for claim in parts.claims])
    names = (*FEATURES[way], "constant")
    found = {"": named(logistic(given, right), names)}
    for kind in sorted(set(kinds.tolist())):
        own = kinds == kind
        if kind and (~right[own]).sum() >= _LEAST:
            found[kind] = named(logistic(given[own], right[own], ridge=5.0), names)
    return found


def _relations(cases: list[Known]) -> dict[str, dict[str, float]]:
    """Weights of how two things lie, for every group of relations, from statements people judged."""
    found = {}
    rows = [(relation_group(case.kind), case.rating, lying) for case, parts, _ in cases for lying in _lying(parts)]
    for group in sorted({group for group, _, _ in rows} - {""}):
        own = [(rating, lying) for name, rating, lying in rows if name == group]
        if len(own) >= _LEAST:
            given, target = np.stack([lying for _, lying in own]), np.array([rating for rating, _ in own])
            found[group] = named(logistic(given, target, ridge=10.0), (*GEOMETRY, "constant"))
    return found


def _lying(parts: CaptionParts) -> list[Array]:
    return [row for row in parts.lying if row.any()][:1]


def _right(cases: list[Known], judge: Judge, way: str) -> dict[str, float]:
    captions = _captions(cases)
    rows = sentence_features(captions, judge.support(captions, way), judge.placed(captions), way)
    target = ~np.concatenate([sentences_wrong(case, parts) for case, parts, _ in cases])
    found = named(logistic(rows[:, :-1], target), RIGHT)
    return found if way == BOTH else {**found, "lying": LYING}


def _captions(cases: list[Known]) -> list[CaptionParts]:
    return [parts for _, parts, _ in cases]


def _before(cases: list[Known], weights: dict[str, Any], way: str) -> float:
    """Log odds by which captions people wrote have on average the fidelity that is wanted of them."""
    from scipy.optimize import brentq

    own = [one for one in cases if one.case.kind == OWN and (way == IMAGE or one.parts.recall == one.parts.recall)]

    def excess(odds: float) -> float:
        judge = Judge({**weights, "fidelity": {**weights["fidelity"], "before": dict.fromkeys(WAYS, odds)}})
        return float(np.mean([one.fidelity for one in judge.judged(_captions(own), way)])) - _TRUE

    return round(float(brentq(excess, -10.0, 10.0, xtol=1e-4)), 4)


def sentences_wrong(case: Case, parts: CaptionParts) -> Bools:
    """Which sentences of a text hold a place that is wrong; a statement is right or wrong as a whole."""
    if case.rating == case.rating:
        return np.full(len(parts.sentences), case.rating < HALF)
    return np.array([any(own.start < end and start < own.end for start, end in case.wrong) for own in parts.sentences])


def _scale(cases: list[Known], judge: Judge) -> float:
    """The sum of supported content at which a caption says as much as one expects: recall of right captions."""
    right = [parts for case, parts, _ in cases if not case.wrong and parts.recall == parts.recall]
    content, recall = judge.content(right, judge.support(right, IMAGE)), np.array([parts.recall for parts in right])
    scales = np.geomspace(1, 30, 200)
    errors = [float(((1 - np.exp(-content / scale) - recall) ** 2).mean()) for scale in scales]
    return round(float(scales[int(np.argmin(errors))]), 3)


def _doubted(cases: list[Known], judge: Judge, way: str) -> float:
    """Support below which no more than the stated share of right content words lies (conformal risk control)."""
    right = [
        value
        for case, parts, _ in cases
        for value, wrong, _ in content_words(case, parts, judge.support([parts], way))
        if not wrong
    ]
    found = np.sort(right)
    return round(float(found[max(int(FALSE_ALARMS * (len(found) + 1)) - 1, 0)]), 4)


def content_words(case: Case, parts: CaptionParts, support: Floats) -> list[tuple[float, bool, str]]:
    """Support of every content word that is judged, whether it is wrong, and the kind of claim it says."""
    return [
        (value, any(start < last and first < end for first, last in case.wrong), parts.claims[claim].kind)
        for text, start, end, value, claim in word_supports(parts, support)
        if value is not None and text.lower() not in ENGLISH
    ]


def _left_out(cases: list[Known]) -> dict[str, float]:
    """Shares from which a thing counts as left out: few of what is named may be what nobody says of the photo."""
    rows = [(share, _says(text, case.others)) for case, _, unsaid in cases for text, share in unsaid]
    for least in np.arange(0.05, 0.95, 0.01):
        said = [good for share, good in rows if share >= least]
        if said and (len(said) - sum(said) + 1) / (len(said) + 1) <= UNSAID:
            return {IMAGE: round(float(least), 2), "references": 0.5}
    return {IMAGE: 0.95, "references": 0.5}


def _says(text: str, others: tuple[str, ...]) -> bool:
    """Whether one of the captions says a thing, in the same or in other words."""
    forms = {form for other in others for word, _, _ in words_of(other) for form in base_forms(word.lower())}
    return all(part in forms for part in text.split()) or any(covers(text, word) for word in forms if is_content(word))


def _rating(cases: list[Known], judge: Judge, way: str) -> dict[str, float]:
    cases = cases if way == IMAGE else [one for one in cases if one.parts.recall == one.parts.recall]
    captions = _captions(cases)
    given = rating_features(captions, judge.judged(captions, way), way)
    target = np.array([case.rating for case, _, _ in cases])
    shares = np.array(list(RATING[way].values()))
    return named(balanced(given, target, shares, pull=_PULL), (*RATING[way], "constant"))


def _figures(check: dict[str, list[Known]], judge: Judge) -> dict[str, Any]:
    """What the photos that were kept back say of the weights."""
    from scipy.stats import spearmanr

    found: dict[str, Any] = {"cases": {name: len(cases) for name, cases in check.items()}}
    for way in WAYS:
        words = [
            one for case, parts, _ in check["made"] for one in content_words(case, parts, judge.support([parts], way))
        ]
        flat, bad = np.array([value for value, _, _ in words]), np.array([wrong for _, wrong, _ in words])
        called = flat < judge.doubted(way)
        found[f"words_{way}"] = {
            "auc": area(bad, -flat),
            "ap": average_precision(bad, -flat),
            "wrong": float(bad.mean()),
        }
        found[f"words_{way}"] |= {"false alarms": float(called[~bad].mean()), "found": float(called[bad].mean())}
        fidelity = np.array([one.fidelity for one in judge.judged(_captions(check["made"]), way)])
        found[f"captions_{way}"] = {"auc": area(np.array([not case.wrong for case, _, _ in check["made"]]), fidelity)}
        cases = [one for one in check["rated"] if way == IMAGE or one.parts.recall == one.parts.recall]
        made = _verdicts(judge, _captions(cases), way)
        people = np.array([case.rating for case, _, _ in cases])
        others = {"fit": _mean_fit(cases), "length": np.array([len(parts.claims) for _, parts, _ in cases])}
        found[f"ratings_{way}"] = {"verdict": float(spearmanr(made, people)[0])}
        found[f"ratings_{way}"] |= {name: float(spearmanr(values, people)[0]) for name, values in others.items()}
        other = np.array([case.kind == "foreign" for case, _, _ in cases])
        found[f"ratings_{way}"]["foreign"] = float(spearmanr(made[other], people[other])[0])
    true = np.array([case.rating > HALF for case, _, _ in check["stated"]])
    stated = judge.judged(_captions(check["stated"]), IMAGE)
    found["statements"] = area(true, np.array([one.fidelity for one in stated]))
    return found


def _verdicts(judge: Judge, captions: list[CaptionParts], way: str) -> Floats:
    """The verdicts of captions that read well."""
    judged = judge.judged(captions, way)
    return judge.ratings(captions, judged, way) * np.array([judge.tells(one.adequacy) for one in judged])


def _mean_fit(cases: list[Known]) -> Floats:
    return np.array([float(parts.fit.mean()) for _, parts, _ in cases])
