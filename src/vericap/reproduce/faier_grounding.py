"""FAIEr's Table 5: do regions score high with the words that name them, in references and in the candidate?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from vericap.core.errors import MissingPart, VericapError
from vericap.core.table import Cell, Number, Table
from vericap.core.typing import Bools, Floats
from vericap.meta.grounding import WordGrounding, compared, labels_of_boxes
from vericap.meta.published import Published, paper_values
from vericap.reproduce.coco_boxes import ENTITIES, BoxedPhoto, Meant, boxed_photos, entities
from vericap.reproduce.experiment import Choices, Outcome, cell, raw, sources
from vericap.reproduce.models import SHIPPED
from vericap.reproduce.word_maps import FaierMaps, WordMap, faier_maps

PHOTOS = 1000
COUNTS = (0, 1, 2, 3, 4)
OVERLAP = 0.3  # intersection over union from which a region shows an annotated object
Pair = tuple[Floats, Bools]


def table_5(choices: Choices) -> Outcome:
    """Mean scores of naming and other words by number of references, on COCO Entities or on COCO's own boxes."""
    published, count = paper_values("faier", "Table 5"), choices.limit or PHOTOS
    photos, notes = _photos(choices, count)
    settings = replace(choices.settings, images=choices.coco_photos())
    model = choices.model(SHIPPED)
    shown = Table(
        [
            "references",
            *(head for name in COLUMNS for head in (name, f"{name}, paper")),
            "best word names it",
            "regions",
        ],
        title="FAIEr, Table 5: words that name a region's object against other words",
        digits=2,
    )
    for references in COUNTS:
        maps = faier_maps([photo.sample(references) for photo in photos], settings, model)
        shown.add(*_row(references, photos, maps, published))
    shown.notes = [f"{len(photos)} photos; FAIEr model: {model}.", *notes, *sources(published)]
    return Outcome([shown])


COLUMNS = ("reference, GT", "reference, other", "candidate, GT", "candidate, other")


def _photos(choices: Choices, count: int) -> tuple[list[BoxedPhoto], list[str]]:
    try:
        return entities(choices, count), [f"Words and boxes: {ENTITIES.title}, test split."]
    except MissingPart:
        note = (
            f"COCO Entities is not at hand ({ENTITIES.source}; {ENTITIES.layout}; in the folder "
            f"{ENTITIES.folders[0]}/): COCO's own boxes of 80 classes stand in, and CHAIR's table of words says which "
            "words name a class."
        )
        return boxed_photos(choices, count), [note]


def _row(
    references: int, photos: Sequence[BoxedPhoto], maps: Sequence[FaierMaps | None], published: Sequence[Published]
) -> list[Cell]:
    candidate, said = [], []
    for photo, found in zip(photos, maps):
        if found is not None:
            candidate.append(named(found.candidate, photo, photo.meant[0]))
            said += [named(own, photo, meant) for own, meant in zip(found.references, photo.meant[1:])]
    ours = [_gap(said), _gap(candidate)]
    label = f"{references} reference{'s' * (references != 1)}"
    cells: list[Cell] = [references]
    for place, column in enumerate(COLUMNS):
        gap = ours[place // 2]
        value = None if gap is None else gap.others if place % 2 else gap.truth
        cells += [None if value is None else Number(value, digits=2), raw(cell(published, label, column))]
    best = ours[1]
    return [*cells, None if best is None else f"{100 * best.best:.0f} %", None if best is None else best.regions]


def _gap(pairs: Sequence[Pair]) -> WordGrounding | None:
    try:
        return compared(pairs)
    except VericapError:  # nobody names a region
        return None


def named(found: WordMap, photo: BoxedPhoto, meant: Sequence[Meant]) -> Pair:
    """The map's scores, and whether a word names the object that a region shows."""
    boxes = [(label, box) for label, own in photo.boxes.items() for box in own]
    places = np.array([box for _, box in boxes], dtype=np.float64).reshape(-1, 4)
    shows = labels_of_boxes(found.boxes, places, [label for label, _ in boxes], overlap=OVERLAP)
    hit = np.zeros(found.values.shape, dtype=bool)
    for own in meant:
        columns = found.places(own.start, own.end)
        rows = [row for row, label in enumerate(shows) if label in own.labels]
        hit[np.ix_(rows, columns)] = True
    return found.values, hit
