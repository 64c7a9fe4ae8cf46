"""ImageInWords (Garg et al. 2024): two long descriptions of a photo side by side, judged by people on five questions.

Folders and fields are those of https://github.com/google/imageinwords (datasets/) and its data card:
`IIW-400/data.jsonl` has `IIW` (a person's text) and `IIW-P5B` (a model's) with the answers in `iiw-human-sxs-iiw-p5b`;
`DOCCI_Test/data.jsonl` has `IIW` and `DOCCI` with the answers beside them. An answer says how the IIW text compares.
How answers are spelt is not documented: signs (`++`, `+`, `-`, `--`), numbers, and words (better, worse, neutral, or
the name of a side) are understood, and others are named as problems.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from vericap.core.errors import InputError, Problem
from vericap.meta.datasets.common import json_lines, present
from vericap.meta.judgements import Pairs

QUESTIONS = {
    "comprehensiveness": "metrics/Comprehensiveness",
    "specificity": "metrics/Specificity",
    "hallucination": "metrics/Hallucination",
    "human-likeness": "metrics/Human Like",
    "opening": "metrics/First few line(s) as tldr",
}
# Folder, the text that is compared with IIW's, and where its answers stand (empty: beside the texts).
PARTS = (("IIW-400", "IIW-P5B", "iiw-human-sxs-iiw-p5b"), ("DOCCI_Test", "DOCCI", ""))
NEUTRAL = ("neutral", "same", "equal", "tie", "similar", "no difference")

Row = tuple[str, str, str, str, str, dict[str, Any]]  # id, image, IIW's text, the other text, its name, answers


def read(folder: Path) -> Pairs:
    """`IIW-400/data.jsonl` and `DOCCI_Test/data.jsonl`, whichever are there."""
    rows = [row for part in PARTS for row in _part(folder, *part)]
    if not rows:
        raise InputError(f"{folder}: no record with two texts and answers was found")
    problems: list[Problem] = []
    preferences = {
        question: np.array([_preference(row, field, problems) for row in rows]) for question, field in QUESTIONS.items()
    }
    return Pairs(
        name="imageinwords",
        ids=[identifier for identifier, *_ in rows],
        images=[image for _, image, *_ in rows],
        first=[first for _, _, first, *_ in rows],
        second=[second for _, _, _, second, _, _ in rows],
        references=[()] * len(rows),
        preferences=preferences,
        groups=[f"IIW vs {other}" for *_, other, _ in rows],
        systems=[("IIW", other) for *_, other, _ in rows],
        problems=problems,
        image_folder=present(folder, "images"),
    )


def _part(folder: Path, name: str, other: str, answers: str) -> Iterator[Row]:
    path = folder / name / "data.jsonl"
    for line, record in json_lines(path) if path.is_file() else ():
        given = record.get(answers) if answers else record
        # Only a part of the photos was judged.
        if not isinstance(given, dict) or not record.get("IIW") or not record.get(other):
            continue
        if not any(given.get(field) for field in QUESTIONS.values()):
            continue
        image = str(record.get("image/key") or record.get("image") or record.get("ex_id") or line)
        yield f"{name}/{image}", image, str(record["IIW"]), str(record[other]), other, given


def _preference(row: Row, field: str, problems: list[Problem]) -> float:
    """0 where IIW's text is preferred, 1 where the other is, 0.5 where neither; NaN where nobody answered."""
    identifier, _, _, _, other, answers = row
    answer = str(answers.get(field) or "").strip()
    if not answer:
        return float("nan")
    text = answer.lower()
    if any(word in text for word in NEUTRAL) or text == "0":
        return 0.5
    side = _named_first(text, other.lower())
    rest = text.replace(other.lower(), "").replace("iiw", "").strip()
    if "worse" in rest or rest.startswith("-"):
        return 1.0 - side
    if "better" in rest or rest.startswith("+") or rest.isdigit():
        return side
    problems.append(Problem(identifier, f"the answer '{answer}' to {field} is not understood", "imageinwords"))
    return float("nan")


def _named_first(text: str, other: str) -> float:
    """Which text an answer is about: the side that is named first, IIW's where none is."""
    place = text.find(other)
    own = text.replace(other, " " * len(other)).find("iiw")
    return 1.0 if place >= 0 and (own < 0 or place < own) else 0.0
