"""Ratings collected with `vericap annotate`: the campaign's folder, and the files that raters saved.

`campaign.json` knows captions, references and systems; every `ratings-NAME.json` (or `.jsonl`) has one rater's answers.
They are joined by the digests of campaign and caption, so that an answer never lands on a text that nobody saw.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from vericap.core.errors import InputError, Problem
from vericap.core.table import Table
from vericap.core.typing import Floats
from vericap.meta.datasets.common import text_of
from vericap.meta.judgements import Ratings
from vericap.report.annotation.campaign import CAMPAIGN_FILE, RATINGS_FORMAT, VERSION, read_campaign
from vericap.report.annotation.photos import FOLDER

NAME = "campaign"
_PATTERNS = ("ratings*.json", "ratings*.jsonl", "ratings/*.json", "ratings/*.jsonl")
_HEAD = ("format", "version", "campaign", "rater", "session", "saved")


@dataclass
class Rater:
    """One rater's work: ratings by (caption digest, question); `again` has those of repeated captions."""

    name: str
    session: str
    saved: str
    source: str
    answers: list[Any] = field(default_factory=list)
    ratings: dict[tuple[str, str], float] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)  # spent on all questions of a caption
    again: dict[tuple[str, str], float] = field(default_factory=dict)
    skipped: set[str] = field(default_factory=set)
    comments: dict[str, str] = field(default_factory=dict)


@dataclass
class Gathered:
    """A campaign with all that its raters saved."""

    folder: Path
    campaign: dict[str, Any]
    raters: list[Rater]
    problems: list[Problem] = field(default_factory=list)

    @property
    def questions(self) -> list[str]:
        return [question["name"] for question in self.campaign["questions"]]


def is_campaign(path: Path) -> bool:
    """Whether a path is a campaign's folder or a file of its ratings."""
    if path.is_dir():
        return (path / CAMPAIGN_FILE).is_file()
    if path.suffix not in (".json", ".jsonl") or not path.is_file():
        return False
    with path.open("rb") as stream:
        return f'"{RATINGS_FORMAT}"'.encode() in stream.read(200)


def read(*paths: Path) -> Ratings:
    """Ratings of a campaign: a column per rater, the questions as aspects, their mean as the overall rating.

    `paths` are the campaign's folder (then all ratings in it count), or files of ratings in or below that folder, or
    both. The overall rating of a rater is the mean of all questions, where all are answered.
    """
    found = gather(paths)
    questions, raters = found.questions, found.raters
    captions = [
        caption for caption in found.campaign["captions"] if any(_rated(rater, caption, questions) for rater in raters)
    ]
    unrated = len(found.campaign["captions"]) - len(captions)
    if unrated:
        reason = f"{unrated} of its captions have no rating yet; they are left out"
        found.problems.append(Problem(NAME, reason, str(found.folder)))
    aspects = {
        name: _table(
            [[rater.ratings.get((caption["caption"], name), math.nan) for rater in raters] for caption in captions]
        )
        for name in questions
    }
    systems = [caption["system"] for caption in captions]
    return Ratings(
        name=NAME,
        candidates=[caption["candidate"] for caption in captions],
        references=[tuple(caption["references"]) for caption in captions],
        ratings=np.mean(list(aspects.values()), axis=0),
        scale=(float(found.campaign["scale"][0]), float(found.campaign["scale"][1])),
        images=[caption["image"] for caption in captions],
        ids=[caption["id"] for caption in captions],
        systems=systems if any(systems) else None,
        raters=[[rater.name if _rated(rater, caption, questions) else "" for rater in raters] for caption in captions],
        seconds=_table([[rater.seconds.get(caption["caption"], math.nan) for rater in raters] for caption in captions]),
        aspects=aspects,
        lang=found.campaign["lang"],
        problems=found.problems,
        image_folder=found.folder / FOLDER,
    )


def _rated(rater: Rater, caption: dict[str, Any], questions: Sequence[str]) -> bool:
    return any((caption["caption"], name) in rater.ratings for name in questions)


def _table(rows: list[list[float]]) -> Floats:
    return np.array(rows, dtype=np.float64)


# -- files ---------------------------------------------------------------------------------------------------------


def gather(paths: Sequence[Path]) -> Gathered:
    """Read a campaign and its ratings. A rater who saved twice counts once, with the later file."""
    folders = {_folder_of(path).resolve(): _folder_of(path) for path in paths}
    if len(folders) != 1:
        named = ", ".join(map(str, folders.values())) or "none"
        raise InputError(f"ratings of one campaign are read at a time; these are of: {named}")
    (folder,) = folders.values()
    found = Gathered(folder, read_campaign(folder), [])
    sessions: dict[str, Rater] = {}
    for path in _files(paths):
        for rater in _saved(path, found):
            if rater.session not in sessions or sessions[rater.session].saved < rater.saved:
                sessions[rater.session] = rater
    if not sessions:
        raise InputError(f"{folder}: no ratings are there (files ratings-NAME.json){_first(found.problems)}")
    found.raters = sorted(sessions.values(), key=lambda rater: (rater.name, rater.session))
    _tell_apart(found.raters)
    for rater in found.raters:
        _take(rater, found)
    return found


def _folder_of(path: Path) -> Path:
    """The campaign's folder: the path itself, or where a file of ratings lies, or the folder above."""
    if path.is_dir():
        return path
    if not path.is_file():
        raise InputError(f"{path}: no such file or folder")
    above = [path.parent, path.parent.parent]
    return next((folder for folder in above if (folder / CAMPAIGN_FILE).is_file()), path.parent)


def _files(paths: Sequence[Path]) -> list[Path]:
    """The files named; those in the folder only where no file is named."""
    named = [path for path in paths if path.is_file()]
    if named:
        return named
    return sorted({file for folder in paths for pattern in _PATTERNS for file in folder.glob(pattern)})


def _saved(path: Path, found: Gathered) -> Iterator[Rater]:
    """The sessions in one file; what is not of this campaign is a problem."""
    try:
        documents = _documents(text_of(path))
    except (InputError, ValueError) as error:
        found.problems.append(Problem(path.name, f"cannot be read ({error}); the file is left out"))
        return
    own: dict[str, Rater] = {}
    for document in documents:
        reason = _unfit(document, found.campaign)
        if reason:
            found.problems.append(Problem(path.name, f"{reason}; the file is left out"))
            return
        head = [str(document[name]) for name in ("rater", "session", "saved")]
        rater = own.setdefault(head[1], Rater(head[0], head[1], head[2], path.name))
        rater.answers += document.get("answers", [document])
    yield from own.values()


def _documents(text: str) -> list[Any]:
    """One JSON document, or one per line."""
    try:
        return [json.loads(text)]
    except json.JSONDecodeError:
        return [json.loads(line) for line in text.splitlines() if line.strip()]


def _unfit(document: Any, campaign: dict[str, Any]) -> str:
    """Why a document is no part of the campaign's ratings; empty where it is."""
    if not isinstance(document, dict) or document.get("format") != RATINGS_FORMAT:
        return "not a file of ratings saved by a campaign's page"
    if document.get("version") != VERSION:
        return f"version {document.get('version')!r} is not {VERSION}"
    if document.get("campaign") != campaign["campaign"]:
        return "belongs to another campaign (its photos, captions or questions differ)"
    absent = [name for name in _HEAD if not document.get(name)]
    if absent:
        return f"has no {', '.join(absent)}"
    return "" if isinstance(document.get("answers", []), list) else "its answers are not a list"


def _tell_apart(raters: Sequence[Rater]) -> None:
    """Two people with the same name are numbered."""
    seen: dict[str, int] = {}
    for rater in raters:
        seen[rater.name] = seen.get(rater.name, 0) + 1
        if seen[rater.name] > 1:
            rater.name = f"{rater.name} ({seen[rater.name]})"


def _take(rater: Rater, found: Gathered) -> None:
    """File a rater's answers; what cannot be an answer of this campaign is named."""
    known = {caption["caption"] for caption in found.campaign["captions"]}
    for answer in rater.answers:
        if not isinstance(answer, dict) or str(answer.get("caption")) not in known:
            told = answer.get("id") if isinstance(answer, dict) else answer
            found.problems.append(Problem(str(told)[:60], "not a caption of this campaign; left out", rater.source))
            continue
        caption, question, value = str(answer["caption"]), answer.get("question"), _number(answer.get("rating"))
        if answer.get("comment"):
            rater.comments[caption] = str(answer["comment"])
        if question is None:
            if answer.get("skipped"):
                rater.skipped.add(caption)
            continue
        reason = _wrong(question, value, answer, found)
        if reason:
            found.problems.append(Problem(str(answer.get("id"))[:60], f"{reason}; left out", rater.source))
        elif answer.get("repeat"):
            rater.again[caption, question] = value
        else:
            rater.ratings[caption, question] = value
            spent = _number(answer.get("seconds"))
            rater.seconds[caption] = rater.seconds.get(caption, 0.0) + (spent if spent >= 0 else math.nan)


def _wrong(question: Any, value: float, answer: dict[str, Any], found: Gathered) -> str:
    if question not in found.questions:
        return f"the campaign does not ask '{str(question)[:40]}'"
    low, high = found.campaign["scale"]
    if not low <= value <= high:
        return f"the {question} rating {str(answer.get('rating'))[:20]!r} is not a number from {low} to {high}"
    return ""


def _number(value: Any) -> float:
    """A finite number, else NaN."""
    good = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if good else math.nan


def _first(problems: Sequence[Problem]) -> str:
    return f"; the first problem: {problems[0]}" if problems else ""


# -- what came back ------------------------------------------------------------------------------------------------


def status_table(found: Gathered) -> Table:
    """Who rated how many captions, how fast, and how constantly where a caption came twice."""
    total = len({caption["caption"] for caption in found.campaign["captions"]})
    columns = ["rater", "rated", "skipped", "comments", "seconds", "repeats", "same answer", "mean gap", "remark"]
    table = Table(columns, title=f"{found.campaign['title']}: {total} captions", digits=2)
    for rater in found.raters:
        rated = {caption for caption, _ in rater.ratings}
        gaps = [abs(rater.ratings[key] - value) for key, value in rater.again.items() if key in rater.ratings]
        table.add(
            rater.name,
            len(rated),
            len(rater.skipped),
            len(rater.comments),
            float(np.median(list(rater.seconds.values()))) if rated else None,
            len({caption for caption, _ in rater.again}),
            float(np.mean([gap == 0 for gap in gaps])) if gaps else None,
            float(np.mean(gaps)) if gaps else None,
            _remark(rater, found.questions),
        )
    table.notes = [
        "Seconds: median per caption. Repeats: captions shown twice, with the share of equal answers and the mean gap.",
        f"`vericap meta {found.folder} --ceiling` tells how well the raters agree with each other.",
    ]
    return table


def _remark(rater: Rater, questions: Sequence[str]) -> str:
    """Names questions that got one answer throughout: such ratings say nothing."""
    told = []
    for name in questions:
        values = {value for (_, question), value in rater.ratings.items() if question == name}
        given = sum(question == name for _, question in rater.ratings)
        if given > 2 and len(values) == 1:
            told.append(f"always {name} {values.pop():g}")
    return ", ".join(told)
