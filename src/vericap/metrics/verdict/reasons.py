"""Why a caption is judged so: its words and sentences with support, and what it left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from vericap.core.explanation import Box, Explanation, MissingContent, SentenceEvidence, WordEvidence
from vericap.graphs.corruption_words import noun_kind
from vericap.metrics.evidence import base_forms
from vericap.metrics.verdict.claims import OBJECT, RELATION, content_form, is_content, said_words
from vericap.metrics.verdict.judge import BOTH, shipped_judge, word_supports
from vericap.metrics.verdict.lexicon import rival_words
from vericap.metrics.verdict.meaning import said_otherwise
from vericap.metrics.verdict.parts import CLAIM, SAID
from vericap.metrics.verdict.sight import PhotoSight
from vericap.models.visual_words import box_of
from vericap.text.encoders.base import LENGTH
from vericap.vision.cells import overlap

if TYPE_CHECKING:
    from vericap.metrics.verdict.metric import Verdict
    from vericap.models.visual_words import PhotoWords, VisualWords

IMAGE, REFERENCES = "image", "references"
FALSE_ALARMS = 0.02  # of right content words that may be called not supported
MOST = 6  # things left out that are told
_LETTERS = 24  # of a strange word that are told
_CLAIMS = 3  # claims about things that are told, where not all are asked for
_COVERED = CLAIM.index("covered")
_UNSAID = 12  # entries of the photo that are looked at
_SAME_PLACE = 0.5  # intersection over union from which two regions hold one thing


def explained(
    label: str, text: str, found: Verdict, photo: PhotoWords | None, model: VisualWords, *, full: bool = False
) -> Explanation:
    """The reasons of one caption; `full` has all claims about things, not only the most doubtful."""
    assert photo is not None
    words = tuple(_words(found))
    sentences = tuple(
        SentenceEvidence(text[own.start : own.end], own.start, own.end, round(float(right), 4))
        for own, right in zip(found.parts.sentences, found.judged.right)
    )
    missing = _missing(text, found, PhotoSight(model, photo), model)
    facts = _facts(found, words, full=full)
    notes = _notes(found)
    return Explanation(label, words=words, sentences=sentences, missing=missing, notes=notes, facts=facts)


def _notes(found: Verdict) -> tuple[str, ...]:
    """What could not be judged, and how a long text was read."""
    sentences = found.parts.sentences
    unknown = (sentence.words[place][0] for sentence in sentences for place in sentence.strange)
    content = filter(is_content, unknown)
    strange = list(dict.fromkeys(word if len(word) <= _LETTERS else f"{word[:_LETTERS]}…" for word in content))
    longest = max(len(one.words) for one in sentences)
    notes = ["no word of it can be judged"] if found.parts.says_nothing else []
    notes += [f"words nobody knows, not judged: {', '.join(strange[:MOST])}"] if strange else []
    notes += [f"read sentence by sentence: {len(sentences)} sentences"] if len(sentences) > 1 else []
    notes += [f"a sentence of {longest} words was read in windows"] if longest > LENGTH - 2 else []
    return tuple(notes)


def _words(found: Verdict) -> list[WordEvidence]:
    rows = []
    for text, start, end, support, number in word_supports(found.parts, found.judged.support):
        region = (
            box_of(found.parts.regions[number]) if number >= 0 and found.parts.claims[number].kind != RELATION else None
        )
        source = "" if support is None else _source(found, number)
        rows.append(WordEvidence(text, start, end, support, source, region))
    return rows


def _source(found: Verdict, claim: int) -> str:
    """Where the support comes from: references that say it, else the image."""
    said = found.way == BOTH and found.parts.numbers[claim, SAID] > 0
    return REFERENCES if said else IMAGE


def _facts(found: Verdict, words: tuple[WordEvidence, ...], *, full: bool) -> dict[str, Any]:
    against = shipped_judge().doubted(found.way)
    facts: dict[str, Any] = {
        "fidelity": round(found.judged.fidelity, 4),
        "adequacy": round(found.judged.adequacy, 4),
        "fluency": round(found.fluency, 4),
        "rating": round(found.rating, 4),
        "doubted": [word.start for word in words if word.support is not None and word.support < against],
        "threshold": against,
        "false_alarms": FALSE_ALARMS,
    }
    if found.parts.through:
        facts["through"] = {word: list(near) for word, near in found.parts.through.items()}
    claims: list[dict[str, Any]] = [
        {"kind": claim.kind or "word", "text": claim.text, "subject": claim.subject, "object": claim.object,
         "support": round(float(support), 4)}
        for claim, support in zip(found.parts.claims, found.judged.support)
        if claim.kind == RELATION or claim.subject
    ]  # fmt: skip
    if not full:  # the most doubtful ones
        claims = sorted(claims, key=lambda claim: claim["support"])[:_CLAIMS]
    return {**facts, "claims": claims} if claims else facts


def _missing(text: str, found: Verdict, sight: PhotoSight, model: VisualWords) -> tuple[MissingContent, ...]:
    """What references say and the caption does not, then what the photo makes people say; most important first."""
    judge = shipped_judge()
    least = judge.left_out
    told: list[MissingContent] = []
    theirs = found.parts.unsaid if found.way == BOTH else ()
    for word, share in theirs:
        if share >= least[REFERENCES] and not said_otherwise(content_form(word), (item.text for item in told)):
            told.append(MissingContent(word, round(share, 3), REFERENCES))
    mentioned = _mentioned(found)
    for entry, share, region in unsaid(text, sight, model, beside=[content_form(item.text) for item in told]):
        if share >= least[IMAGE] and not _instead(entry, region, mentioned, rival_words(model)):
            told.append(MissingContent(entry, round(share, 3), IMAGE, region))
    return tuple(sorted(told, key=lambda item: -item.weight)[:MOST])


def unsaid(
    text: str, sight: PhotoSight, model: VisualWords, *, beside: Sequence[str] = ()
) -> list[tuple[str, float, Box]]:
    """Objects that the photo makes people say and a text does not, nor `beside` it is said that they are left out:
    name, the share who would say it, region."""
    words = said_words(text)
    forms = {form for word in words for form in base_forms(word)}
    said = {place for place, entry in enumerate(model.entries) if all(part in forms for part in entry.split())}
    known, content = forms.union(beside), [*filter(None, map(content_form, words)), *beside]
    found: list[tuple[str, float, Box]] = []
    for number, share, region in sight.unsaid(said, _UNSAID):
        entry = model.entries[number]
        new = model.kinds[number] == "object" and known.isdisjoint(entry.split())
        if new and not said_otherwise(entry, content):
            found.append((entry, share, region))
            known |= set(entry.split())
            content.append(entry)
    return found


def _mentioned(found: Verdict) -> list[tuple[str, Box | None]]:
    """Things that references say, and those that the caption rightly says with the region of each."""
    against, parts = shipped_judge().doubted(found.way), found.parts
    rows = zip(parts.claims, found.judged.support.tolist(), parts.numbers[:, _COVERED].tolist(), parts.regions)
    own = [
        (claim.text, None if found.way == BOTH and covered else box_of(region))
        for claim, support, covered, region in rows
        if claim.kind == OBJECT and support >= against
    ]
    return own + [(content_form(word), None) for word, _ in (parts.unsaid if found.way == BOTH else ())]


def _instead(
    entry: str, region: Box, mentioned: Sequence[tuple[str, Box | None]], rivals: Mapping[str, frozenset[str]]
) -> bool:
    """Whether the photo is taken to show one thing where the caption, or references anywhere, say its rival."""

    def excludes(word: str) -> bool:
        known = entry in rivals.get(word, ()) or word in rivals.get(entry, ())
        return known or {noun_kind(entry), noun_kind(word)} == {"male", "female"}

    place = np.array(region, dtype=np.float32)
    return any(
        excludes(word) and (box is None or float(overlap(place, np.array([box]))[0]) >= _SAME_PLACE)
        for word, box in mentioned
    )
