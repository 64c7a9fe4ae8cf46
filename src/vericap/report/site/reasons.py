"""Reasons of one caption, small: short numbers, the parts a page draws, nothing twice."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vericap.core.explanation import Box, Explanation, HeatMap
from vericap.report.doubts import DOUBTED, judged
from vericap.report.site.aspects import ASPECTS, JUDGES, OMISSIONS, READERS, SURE, WHOLE, ordered
from vericap.text.stopwords import ENGLISH

IN_REFERENCES = 0.5  # support by a metric that reads references from which on they are said to have a word
CLAIMS, MARKS = "claims", "lowered_by"  # facts of the verdict (what a caption says of things) and of fluency
_DRAWN = {CLAIMS, MARKS, DOUBTED, *ASPECTS}  # facts that other parts of the page show
_CLAIMS = 20  # of one caption
_MISSING, _MATCHES, _MOVES, _GRAPHS, _REGIONS, _WORDS = 12, 20, 30, 6, 6, 40  # most of each, for one metric
_MOST_GONE = 6  # things left out that a caption is counted under
_FACTS = 160  # letters of a fact
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Evidence:
    """What all metrics together say of a caption: unsupported words as (start, end), what is left out, and by whom."""

    weak: tuple[tuple[int, int], ...] = ()
    gone: tuple[str, ...] = ()
    judges: tuple[str, ...] = ()


def evidence(reasons: Mapping[str, Explanation], references: Sequence[str] = ()) -> Evidence:
    """Unsupported words and left-out content of one caption.

    Each word is judged by the first metric of `SURE` that says something of it. Where none of `WHOLE` is among them,
    other words that the first of `JUDGES` finds weak are unsupported unless a reference has them. Where none of these
    metrics says anything of the caption, words that no reference has are named.
    """
    graders = () if ordered(reasons, WHOLE) else JUDGES
    sure, seen, read = (_first(reasons[name] for name in ordered(reasons, order)) for order in (SURE, graders, READERS))
    looked = bool(sure or seen)
    known = _known((reasons[name] for name in ordered(reasons, READERS)), references)
    graded = {span: doubted for span, doubted in (seen if looked else read).items() if span not in known}
    weak = tuple(sorted(span for span, doubted in (graded | sure).items() if doubted))
    names = ordered(reasons, (*SURE, *graders) if looked else READERS)
    judges = tuple(name for name in names if reasons[name].words)
    return Evidence(weak, _gone(reasons), judges)


def _gone(reasons: Mapping[str, Explanation]) -> tuple[str, ...]:
    """What the caption leaves out by the first metric that names anything, the heaviest first."""
    for name in ordered(reasons, OMISSIONS):
        named = [item for item in reasons[name].missing if set(item.text.lower().split()) - ENGLISH]
        if named:
            heaviest = sorted(named, key=lambda item: -item.weight)[:_MOST_GONE]
            return tuple(dict.fromkeys(item.text.lower() for item in heaviest))
    return ()


def _first(found: Iterable[Explanation]) -> dict[tuple[int, int], bool]:
    """Whether each word is unsupported by the first metric that judges it."""
    first: dict[tuple[int, int], bool] = {}
    for explanation in found:
        for span, doubted in judged(explanation).items():
            first.setdefault(span, doubted)
    return first


def _known(found: Iterable[Explanation], references: Sequence[str]) -> set[tuple[int, int]]:
    """Words that a reference has: as they are, or by any metric that reads references."""
    said = set(_WORD.findall(" ".join(references).lower()))
    return {
        (word.start, word.end)
        for explanation in found
        for word in explanation.words
        if word.text.lower() in said or (word.support is not None and word.support >= IN_REFERENCES)
    }


def compact(reasons: Mapping[str, Explanation]) -> list[dict[str, Any]]:
    """Reasons as a page reads them; metrics that say the same share an entry."""
    found: list[dict[str, Any]] = []
    whole: list[dict[str, Any]] = []  # the same, before pictures that relatives have drawn were left out
    drawn: set[str] = set()
    for name, explanation in reasons.items():
        own = _one(explanation)
        if own in whole:
            found[whole.index(own)]["by"].append(name)
        elif own:
            whole.append(own)
            found.append({**_undrawn(own, drawn), "by": [name]})
    return found


def _undrawn(own: dict[str, Any], drawn: set[str]) -> dict[str, Any]:
    """Reasons without pictures that were drawn before; the others are noted in `drawn`."""
    kept = dict(own)
    for part in ("heat", "graphs"):
        picture = repr(own.get(part))
        if part in own and picture in drawn:
            del kept[part]
        drawn.add(picture)
    return kept


def _one(found: Explanation) -> dict[str, Any]:
    missing = sorted(found.missing, key=lambda item: -item.weight)[:_MISSING]
    doubted = {span for span, low in judged(found).items() if low}
    parts: dict[str, Any] = {
        "words": [
            [word.start, word.end, _short(word.support), word.source[:1], _box(word.region),
             *([1] if (word.start, word.end) in doubted else [])]
            for word in found.words
            if word.support is not None or word.region is not None
        ],
        "sentences": [[item.start, item.end, _short(item.support)] for item in found.sentences],
        "missing": [[item.text, _short(item.weight), item.source[:1], _box(item.region)] for item in missing],
        "matches": [
            [" ".join(item.candidate), " ".join(item.reference), _short(item.grade), item.kind, _box(item.region)]
            for item in found.matches[:_MATCHES]
        ],
        "moves": [[move.object, move.word, _short(move.mass, 3), _short(move.cost, 3)] for move in found.transport],
        "graphs": [
            [graph.title, list(graph.objects), [list(item) for item in graph.attributes],
             [list(item) for item in graph.relations]]
            for graph in found.graphs[:_GRAPHS]
        ],
        "heat": [_heat(item) for item in found.heatmaps[:1] if item.columns and item.values],
        "claims": [_claim(item) for item in found.facts.get(CLAIMS, ())[:_CLAIMS]],
        "marks": [[item["start"], item["end"], item["reason"], _short(item["chance"])]
                  for item in found.facts.get(MARKS, ())],
        "notes": list(found.notes),
        "facts": _facts(found.facts),
    }  # fmt: skip
    parts["moves"] = parts["moves"][:_MOVES]
    return {name: value for name, value in parts.items() if value}


def _claim(item: Mapping[str, Any]) -> list[Any]:
    """What a caption says of a thing, in its order, of what kind it is, and its support."""
    subject, text, other = item["subject"], item["text"], item["object"]
    said = (text, subject) if item["kind"] in ("attribute", "count") else (subject, text, other)
    return [" ".join(word for word in said if word), item["kind"], _short(item["support"])]


def _heat(found: HeatMap) -> list[Any]:
    """The regions with the highest values, values in hundredths of the map's range."""
    values = np.asarray(found.values, dtype=np.float64)[:, :_WORDS]
    low, high = float(values.min()), float(values.max())
    rows = np.sort(np.argsort(-values.max(axis=1), kind="stable")[:_REGIONS])
    shares = (values[rows] - low) / ((high - low) or 1.0)
    boxes = [_box(found.boxes[row]) for row in rows] if found.boxes else []
    hundredths = np.round(100 * shares).astype(int).tolist()
    return [found.title, list(found.columns[:_WORDS]), hundredths, boxes, _short(low, 3), _short(high, 3)]


def _facts(facts: Mapping[str, Any]) -> list[list[str]]:
    """Facts as short texts; lists of one entry per word would repeat what other parts show."""
    found = []
    for name, value in facts.items():
        text = "" if name in _DRAWN else _told(value)
        if text and len(text) <= _FACTS:
            found.append([name.replace("_", " "), text])
    return found


def _told(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return f"{value:.3g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_told(own)}" for name, own in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_told(own) for own in value)
    return str(value)


def _short(value: float | None, digits: int = 2) -> float | None:
    if value is None or value != value:
        return None
    shown = round(float(value), digits)
    return int(shown) if shown == int(shown) else shown


def _box(region: Box | None) -> list[int] | int:
    """Corners in thousandths of the photo's sides; 0 where there is no region, or one without an area."""
    corners = [round(1000 * min(1.0, max(0.0, float(share)))) for share in region or ()]
    return corners if corners and corners[0] < corners[2] and corners[1] < corners[3] else 0
