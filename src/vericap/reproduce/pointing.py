"""The pointing game on COCO boxes: does the best region of a word lie on what the word names?

For every noun of a caption that names one of COCO's classes, and whose boxes cover less than 35 % of the photo, a model
points at the centre of the region it matches best. Right: the point lies in a box of that class. Two baselines: the
centre of the photo, and a region of the model's own, drawn at random.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

import numpy as np

from vericap.core.table import Number, Table
from vericap.core.typing import Bools, Floats
from vericap.reproduce.coco_boxes import BoxedPhoto, Meant, boxed_photos
from vericap.reproduce.experiment import Choices
from vericap.reproduce.faier_agreement import SHIPPED
from vericap.reproduce.word_maps import FaierMaps, WordMap, faier_maps, scan_maps

LARGEST = 0.35  # share of the photo that the boxes of a case may cover
REFERENCES = 4
PHOTOS = 2000


@dataclass(frozen=True)
class Pointed:
    """One case: whether the model, the centre, and a random region (as a probability) are right."""

    model: bool
    centre: bool
    random: float


def inside(points: Floats, boxes: Floats) -> Bools:
    """(points,): whether each lies in any of the boxes."""
    low, high = boxes[None, :, :2], boxes[None, :, 2:]
    within = (points[:, None] >= low) & (points[:, None] <= high)
    return np.asarray(np.any(np.all(within, axis=2), axis=1))


def centres(boxes: Floats) -> Floats:
    return np.asarray((boxes[:, :2] + boxes[:, 2:]) / 2)


def pointed(found: WordMap, photo: BoxedPhoto, meant: Sequence[Meant]) -> Iterator[Pointed]:
    """All cases of one caption."""
    middle = np.array([[0.5, 0.5]])
    for own in meant:
        boxes, columns = photo.of(own.labels), found.places(own.start, own.end)
        if not len(boxes) or not columns or _area(boxes) >= LARGEST:
            continue
        right = inside(centres(found.boxes), boxes)
        best = int(found.values[:, columns].mean(axis=1).argmax())
        yield Pointed(bool(right[best]), bool(inside(middle, boxes)[0]), float(right.mean()))


def _area(boxes: Floats) -> float:
    """Share of the photo, boxes that overlap counted twice."""
    return float(np.prod(np.clip(boxes[:, 2:] - boxes[:, :2], 0, None), axis=1).sum())


def pointing_table(choices: Choices) -> Table:
    """FAIEr's words (region-reference), candidate-region matching (with and without references), SCAN's words."""
    photos = boxed_photos(choices, choices.limit or PHOTOS)
    shown = Table(
        ["what points", "model", "right", "centre of the photo", "random region", "above the better", "cases"],
        title="Pointing game on COCO boxes",
        x100=True,
        keys=2,
    )
    for name, model, cases in _contestants(photos, choices):
        if not cases:
            shown.add(name, model, None, None, None, None, 0)
            continue
        right, centre, random = (
            float(np.mean([getattr(case, field) for case in cases])) for field in ("model", "centre", "random")
        )
        numbers = [Number(value, digits=3) for value in (right, centre, random, right - max(centre, random))]
        shown.add(name, model, *numbers, len(cases))
    shown.notes = [
        f"{len(photos)} photos that no model was trained on, one caption each; words that name one of COCO's 80 "
        f"classes, boxes covering less than {100 * LARGEST:g} %. Right: the centre of the best region lies in a box "
        "of the class."
    ]
    return shown


Cases = list[Pointed]


def _contestants(photos: Sequence[BoxedPhoto], choices: Choices) -> Iterator[tuple[str, str, Cases]]:
    settings = replace(choices.settings, images=choices.coco_photos())
    faier = choices.models.get(SHIPPED, "default")
    guided = faier_maps([photo.sample(REFERENCES) for photo in photos], settings, faier)
    alone = faier_maps([photo.sample(0) for photo in photos], settings, faier)
    yield "FAIEr: regions and words of references, matching", faier, _said(photos, guided, attention=False)
    yield "FAIEr: regions and words of references, attention", faier, _said(photos, guided, attention=True)
    yield "FAIEr: union nodes and candidate, no references", faier, _cases(photos, alone, _candidate)
    yield f"FAIEr: union nodes and candidate, {REFERENCES} references", faier, _cases(photos, guided, _candidate)
    scan = choices.models.get("scan", "default")
    maps = scan_maps([photo.sample(0) for photo in photos], settings, scan)
    for kind in ("similarity", "attention"):
        yield f"SCAN: words, {kind}", scan, _cases(photos, maps, itemgetter(kind))


def _said(photos: Sequence[BoxedPhoto], maps: Sequence[FaierMaps | None], *, attention: bool) -> Cases:
    return [
        case
        for photo, found in zip(photos, maps)
        if found is not None
        for own, meant in zip(found.references, photo.meant[1:])
        for case in pointed(own.attention() if attention else own, photo, meant)
    ]


def _candidate(found: FaierMaps) -> WordMap:
    return found.candidate


def _cases(photos: Sequence[BoxedPhoto], maps: Sequence[object], pick: Callable[..., WordMap]) -> Cases:
    return [
        case
        for photo, found in zip(photos, maps)
        if found is not None
        for case in pointed(pick(found), photo, photo.meant[0])
    ]
