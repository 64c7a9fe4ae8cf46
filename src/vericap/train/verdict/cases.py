"""Captions with what is known of them: made wrong in one place, rated by people, true or false statements."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import numpy as np

from vericap.core.analysis import closure
from vericap.core.batch import Batch
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.graphs.corruptions import Pools, corruptions
from vericap.metrics.evidence import base_forms
from vericap.metrics.toolbox import words_of
from vericap.metrics.verdict.parts import CaptionParts, Parts
from vericap.run.analyses.graphs import parse_texts
from vericap.run.photos import Pixels, look_at
from vericap.run.runtime import Runtime
from vericap.train import data
from vericap.train.ratings import photo_name, ratings, records

KINDS = ("object", "attribute", "relation", "number")
OWN = "own"  # kind of a rated caption that was written for the photo
Span = tuple[int, int]


@dataclass(frozen=True)
class Case:
    """A caption of a photo, its references, what was made wrong, and what people said of it (0 to 1)."""

    image: str
    caption: str
    references: tuple[str, ...] = ()
    wrong: tuple[Span, ...] = ()
    kind: str = ""  # of what was made wrong, or of the statement
    rating: float = float("nan")
    others: tuple[str, ...] = ()  # everything else people say of the photo, references or not


def made_wrong(captions: data.Captioned, runtime: Runtime, *, seed: int) -> list[Case]:
    """One caption of every photo as it is, and with one thing in it changed; the others are its references."""
    generator = random.Random(seed)
    chosen = [generator.randrange(len(own)) for own in captions.captions]
    right = [own[place].strip() for own, place in zip(captions.captions, chosen)]
    others = [
        tuple(text for number, text in enumerate(own) if number != place)[:4]
        for own, place in zip(captions.captions, chosen)
    ]
    graphs = list(parse_texts(right, runtime))
    pools = Pools.of(right, graphs, minimum=2)
    found = []
    for key, text, rest, wrong in zip(
        captions.keys, right, others, corruptions(right, graphs, seed=seed, avoid=others, pools=pools)
    ):
        found.append(Case(photo_name(key), text, rest, others=rest))
        kinds = sorted(kind for kind in wrong if kind in KINDS)
        if kinds:
            kind = "object" if "object" in kinds and generator.random() < 0.4 else generator.choice(kinds)
            found.append(Case(photo_name(key), wrong[kind], rest, changed(text, wrong[kind]), kind))
    return found


def changed(right: str, wrong: str) -> tuple[Span, ...]:
    """Places of the words that only the second text has; another form of the same word ("dogs", "dog") is none."""
    before, after = [word.lower() for word, _, _ in words_of(right)], words_of(wrong)
    matched = SequenceMatcher(None, before, [word.lower() for word, _, _ in after], autojunk=False)
    return tuple(
        after[place][1:]
        for name, first, last, start, end in matched.get_opcodes()
        if name in ("replace", "insert")
        for place in range(start, end)
        if not any(base_forms(after[place][0].lower()) & base_forms(word) for word in before[first:last])
    )


def rated(file: str | Path, captions: data.Captioned) -> list[Case]:
    """Ratings of CxC, with the captions of the photo as references, the rated one left out."""
    return [
        Case(one.image, one.caption, one.references, kind=OWN if one.own else "foreign", rating=one.value)
        for one in ratings(file, captions)
    ]


def strange(captions: data.Captioned, *, seed: int) -> list[Case]:
    """A caption of some other photo for every photo, rated 0: gross errors, which people's ratings hold few of."""
    generator = random.Random(seed)
    return [
        Case(photo_name(key), generator.choice(generator.choice(captions.captions)).strip(), tuple(own), rating=0.0)
        for key, own in zip(captions.keys, captions.captions)
    ]


def statements(file: str | Path) -> list[Case]:
    """True and false statements of where things are (VSR); `kind` is the relation."""
    return [
        Case(photo_name(r["image_id"]), r["statement"], kind=r["relation"], rating=float(r["label"]))
        for r in records(file)
    ]


def analysed(cases: Sequence[Case], settings: Settings, key: Parts) -> Batch:
    """A batch with the parts of all captions, as scoring computes them."""
    runtime = Runtime.of(settings)
    samples = [Sample(str(n), case.caption, case.references, case.image) for n, case in enumerate(cases)]
    batch = Batch.of(samples, settings)
    needed = closure([key], settings)
    pixels = [need for need in needed if isinstance(need, Pixels)]
    for photos, found in zip(pixels, look_at(batch, pixels, runtime)):
        batch.put(photos, photos.table(found))
    for need in needed:
        if need not in batch:
            batch.put(need, need.compute(batch, runtime))
    return batch


def claims_wrong(case: Case, parts: CaptionParts) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which claims of a caption stand where it was made wrong."""
    return np.array(
        [
            any(
                sentence.words[word][1] < end and start < sentence.words[word][2]
                for word in claim.words
                for start, end in case.wrong
            )
            for sentence in parts.sentences
            for claim in sentence.claims
        ],
        dtype=bool,
    )
