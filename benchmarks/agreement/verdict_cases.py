"""Captions with what is known of them, for `benchmarks.agreement.verdict`: rated, made wrong, marked by people."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from vericap.core.explanation import Explanation
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.core.typing import Floats
from vericap.graphs.scene_graph import SceneGraph
from vericap.metrics.registry import make
from vericap.run.analyses.graphs import parse_texts
from vericap.run.engine import Run
from vericap.run.runtime import Runtime
from vericap.text.sentences import sentence_spans
from vericap.text.stopwords import ENGLISH
from vericap.train import data
from vericap.train.ratings import HELD, photo_name, records, share_of
from vericap.train.verdict.cases import Case, made_wrong, rated

FAMILY = ("fidelity", "adequacy", "fluency", "verdict")


@dataclass(frozen=True)
class Scored:
    """Cases with the values of metrics and the reasons of `verdict`."""

    cases: list[Case]
    values: dict[str, Floats]
    reasons: list[Explanation | None]

    def words(self) -> tuple[Floats, Floats, list[str]]:
        """Support of all content words that are judged, whether each is wrong, and its photo."""
        rows = [
            (word.support, any(word.start < b and a < word.end for a, b in case.wrong), case.image)
            for case, reasons in zip(self.cases, self.reasons)
            if reasons is not None
            for word in reasons.words
            if word.support is not None and word.text.lower() not in ENGLISH
        ]
        support, wrong = np.array([row[0] for row in rows]), np.array([row[1] for row in rows], dtype=bool)
        return support, wrong, [row[2] for row in rows]


def scored(
    cases: Sequence[Case],
    settings: Settings,
    metrics: Sequence[str] = FAMILY,
    *,
    references: bool = False,
    reasons: bool = False,
) -> Scored:
    """Metrics of cases, with their references or without."""
    samples = [
        Sample(str(n), case.caption, case.references if references else (), case.image) for n, case in enumerate(cases)
    ]
    found = Run([make(name) for name in metrics], settings).score(samples, explain=reasons)
    values = {name: np.asarray(found[name], dtype=np.float64) for name in metrics}
    told = list(found.explanations["verdict"]) if reasons else [None] * len(samples)
    return Scored(list(cases), values, told)


def captions_of(folder: Path) -> data.Captioned:
    """COCO's captions of photos that may be trained on."""
    files = [folder / "coco" / f"captions_{part}2014.json.gz" for part in ("train", "val")]
    return data.coco(files, never=folder / "coco" / "never_train_image_ids.txt")


def kept_out(captions: data.Captioned, folder: Path) -> tuple[data.Captioned, list[Case]]:
    """Photos that people rated and that checked the weights only: their captions, and the ratings."""
    ratings = [case for case in rated(folder / "cxc" / "sits_val.jsonl.gz", captions) if share_of(case.image) >= HELD]
    photos = {case.image for case in ratings}
    return captions.only(key for key in captions.keys if key.isdigit() and photo_name(key) in photos), ratings


def made(captions: data.Captioned, settings: Settings, *, seed: int = 7) -> list[Case]:
    """Captions as they are and made wrong in one place, with four references."""
    return made_wrong(captions, Runtime.of(settings), seed=seed)


def marked_words(folder: Path) -> list[Case]:
    """Machine captions whose wrong words people marked (HAT)."""
    found = []
    for record in records(folder / "hat" / "dev.jsonl"):
        text, wrong = "", []
        for word, bad in record["words"]:
            text += " " if text else ""
            wrong += [(len(text), len(text) + len(word))] if bad else []
            text += word
        found.append(Case(photo_name(record["image_id"]), text, tuple(record["references"]), tuple(wrong)))
    return found


def marked_texts(folder: Path) -> list[Case]:
    """Long machine descriptions whose wrong passages people marked (M-HalDetect)."""
    return [
        Case(photo_name(record["image_id"]), record["caption"], wrong=tuple((a, b) for a, b in record["wrong"]))
        for record in records(folder / "mhal" / "dev.jsonl")
    ]


def system(folder: Path, name: str, photos: Path) -> list[Case]:
    """Captions of a system for Karpathy's test photos that are at hand, with people's as references."""
    coco = folder / "coco"
    references: dict[str, list[str]] = json.loads((coco / "karpathy_test_references.json").read_text("utf-8"))
    return [
        Case(photo_name(row["image_id"]), row["caption"], tuple(references[str(row["image_id"])]))
        for row in json.loads((coco / f"karpathy_test_{name}.json").read_text("utf-8"))
        if (photos / photo_name(row["image_id"])).is_file()
    ]


def swapped(texts: Sequence[Case], place: float, *, seed: int = 3) -> list[Case]:
    """Long texts with one sentence, at a share of the way through, replaced by one of another photo's text."""
    generator = random.Random(seed)
    found = []
    for case in texts:
        spans = sentence_spans(case.caption)
        start, end = spans[round(place * (len(spans) - 1))]
        other = generator.choice([text for text in texts if text.image != case.image]).caption
        own = sentence_spans(other)
        # Not the closing remark on the mood, which fits any photo.
        a, b = generator.choice(own[:-1] or own)
        text = case.caption[:start] + other[a:b] + case.caption[end:]
        found.append(replace(case, caption=text, wrong=((start, start + b - a),)))
    return found


Edit = Callable[[Case, SceneGraph, random.Random], str]


def edited(cases: Sequence[Case], edit: Edit, settings: Settings, *, seed: int = 5) -> tuple[list[Case], list[Case]]:
    """Cases that an edit changes, before and after."""
    generator = random.Random(seed)
    graphs = parse_texts([case.caption for case in cases], Runtime.of(settings))
    pairs = [(case, replace(case, caption=edit(case, graph, generator))) for case, graph in zip(cases, graphs)]
    pairs = [(before, after) for before, after in pairs if after.caption and after.caption != before.caption]
    return [before for before, _ in pairs], [after for _, after in pairs]
