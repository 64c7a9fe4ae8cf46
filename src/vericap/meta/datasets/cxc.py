"""Crisscrossed Captions (Parekh et al. 2021): people rate captions of COCO against photos and against each other.

The published files have the columns caption, image (or a second caption), score 0-5, sampling, with COCO's ids
(README of https://github.com/google-research-datasets/Crisscrossed-Captions); texts come from COCO's own captions.
JSON lines that carry the texts already (`caption`, or `caption_a` and `caption_b`) are read as well.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from vericap.core.errors import InputError, Problem
from vericap.meta.datasets.common import (
    coco_id,
    coco_references,
    first_of,
    json_file,
    json_lines,
    need,
    number,
    present,
    text_of,
)
from vericap.meta.judgements import Ratings

SCALE = (0.0, 5.0)
Row = tuple[str, str, str, str, float]  # id, image, one text, the other text (or the writer's image), rating


def read_sits(folder: Path) -> Ratings:
    """`sits_val.jsonl[.gz]` (image_id, caption_id, caption, own, rating) or the published `sits_val.csv`."""
    path, problems = first_of(folder, "sits_val.jsonl", "sits_val.csv"), list[Problem]()
    rows = list(_sits(path) if ".jsonl" in path.name else _published_sits(path, problems))
    if not rows:
        raise InputError(f"{path}: no rating was found")
    references = coco_references(folder, {image for _, image, _, _, _ in rows})
    return Ratings(
        name="cxc-sits",
        candidates=[caption for _, _, caption, _, _ in rows],
        references=[references.get(image, ()) for _, image, _, _, _ in rows],
        ratings=np.array([rating for *_, rating in rows]),
        scale=SCALE,
        images=[image for _, image, _, _, _ in rows],
        ids=[identifier for identifier, *_ in rows],
        own=[0 if writer == image else -1 for _, image, _, writer, _ in rows],
        problems=problems,
        image_folder=present(folder, "images"),
    )


def read_sts(folder: Path) -> Ratings:
    """`sts_val.jsonl[.gz]` (a, b, caption_a, caption_b, image_a, rating) or the published `sts_val.csv`."""
    path, problems = first_of(folder, "sts_val.jsonl", "sts_val.csv"), list[Problem]()
    rows = list(_sts(path) if ".jsonl" in path.name else _published_sts(path, problems))
    if not rows:
        raise InputError(f"{path}: no rating was found")
    return Ratings(
        name="cxc-sts",
        candidates=[one for _, _, one, _, _ in rows],
        references=[(two,) for _, _, _, two, _ in rows],
        ratings=np.array([rating for *_, rating in rows]),
        scale=SCALE,
        images=[image for _, image, _, _, _ in rows],
        ids=[identifier for identifier, *_ in rows],
        problems=problems,
        image_folder=present(folder, "images"),
    )


def _sits(path: Path) -> Iterator[Row]:
    for line, record in json_lines(path):
        image, caption = (str(need(record, [key], path, line)) for key in ("image_id", "caption"))
        rating = number(need(record, ["rating"], path, line), path, line, "rating")
        writer = image if record.get("own") else ""
        yield f"{image}/{record.get('caption_id', line)}", image, caption, writer, rating


def _sts(path: Path) -> Iterator[Row]:
    for line, record in json_lines(path):
        one, two = (str(need(record, [key], path, line)) for key in ("caption_a", "caption_b"))
        rating = number(need(record, ["rating"], path, line), path, line, "rating")
        name = f"{record.get('a', line)}/{record.get('b', line)}"
        yield name, str(record.get("image_a", line)), one, two, rating


def _published_sits(path: Path, problems: list[Problem]) -> Iterator[Row]:
    captions = _captions_by_id(path.parent)
    for line, cells in _cells(path):
        caption, image = coco_id(cells[0]), coco_id(cells[1])
        if caption not in captions:
            problems.append(_unknown(caption, path, line))
            continue
        writer, text = captions[caption]
        yield f"{image}/{caption}", image, text, writer, number(cells[2], path, line, "score")


def _published_sts(path: Path, problems: list[Problem]) -> Iterator[Row]:
    captions = _captions_by_id(path.parent)
    for line, cells in _cells(path):
        one, two = coco_id(cells[0]), coco_id(cells[1])
        if one not in captions or two not in captions:
            problems.append(_unknown(one if one not in captions else two, path, line))
            continue
        image, text = captions[one]
        yield f"{one}/{two}", image, text, captions[two][1], number(cells[2], path, line, "score")


def _cells(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Rows of a published file below its header; the order of columns is fixed, their names are not."""
    reader = csv.reader(text_of(path).splitlines())
    for line, cells in enumerate(reader, 1):
        if len(cells) < 3:
            raise InputError(f"{path}, line {line}: {len(cells)} columns, at least 3 were expected")
        if line > 1:
            yield line, cells


def _captions_by_id(folder: Path) -> dict[str, tuple[str, str]]:
    """Caption id -> image and text, from COCO's validation captions."""
    place = folder if any(folder.glob("captions_val2014.json*")) else folder.parent / "coco"
    data: dict[str, Any] = json_file(first_of(place, "captions_val2014.json"))
    return {str(own["id"]): (str(own["image_id"]), own["caption"].strip()) for own in data["annotations"]}


def _unknown(caption: str, path: Path, line: int) -> Problem:
    return Problem(f"line {line}", f"caption {caption} is not in COCO's validation captions; left out", str(path))
