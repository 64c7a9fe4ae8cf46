"""Statements about photos that people found true or false: VSR (Liu et al. 2023) and FAITHSCORE (Jing et al. 2024)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from vericap.core.errors import InputError
from vericap.meta.datasets.common import coco_id, coco_references, first_of, json_lines, need, number, present
from vericap.meta.judgements import Ratings

Row = tuple[str, str, str, float]  # id, image, statement, 1 for true and 0 for false


def read_vsr(folder: Path) -> Ratings:
    """`statements.jsonl[.gz]` (image_id, statement, label 1 for true) or a published part of VSR.

    Published parts are `train.jsonl`, `dev.jsonl` and `test.jsonl` (README of
    https://github.com/cambridgeltl/visual-spatial-reasoning, which does not list the fields); `image`, `caption` and
    `label` are taken.
    """
    path = first_of(folder, "statements.jsonl", "dev.jsonl", "test.jsonl", "train.jsonl")
    rows = []
    for line, record in json_lines(path):
        image = coco_id(need(record, ["image_id", "image"], path, line))
        statement = str(need(record, ["statement", "caption"], path, line))
        rows.append((f"{image}/{line}", image, statement, _label(record.get("label"), path, line)))
    return _ratings("vsr", path, rows)


def read_faithscore(folder: Path) -> Ratings:
    """`annotation.jsonl`: `id` of a photo of COCO val2014, `answer`, `stage 1`, `stage 2`.

    `stage 2` has the single facts of an answer, 1 where a fact is hallucinated (README of
    https://github.com/bcdnlp/FAITHSCORE); sub-sentences (`stage 1`) are not judged against the photo.
    """
    path = first_of(folder, "annotation.jsonl")
    rows = []
    for line, record in json_lines(path):
        image = coco_id(need(record, ["id"], path, line))
        facts = record.get("stage 2")
        if not isinstance(facts, dict):
            raise InputError(f"{path}, line {line}: no `stage 2` with facts and their labels")
        for place, (fact, wrong) in enumerate(facts.items()):
            rows.append((f"{image}/{line}.{place}", image, fact.strip(), 1.0 - _label(wrong, path, line)))
    return _ratings("faithscore", path, rows)


def _label(value: object, path: Path, line: int) -> float:
    found = number(value, path, line, "label")
    if found not in (0.0, 1.0):
        raise InputError(f"{path}, line {line}: label {value!r} is not 0 or 1")
    return found


def _ratings(name: str, path: Path, rows: list[Row]) -> Ratings:
    if not rows:
        raise InputError(f"{path}: no statement was found")
    references = coco_references(path.parent, {image for _, image, _, _ in rows})
    return Ratings(
        name=name,
        candidates=[statement for _, _, statement, _ in rows],
        references=[references.get(image, ()) for _, image, _, _ in rows],
        ratings=np.array([label for *_, label in rows]),
        scale=(0.0, 1.0),
        images=[image for _, image, _, _ in rows],
        ids=[identifier for identifier, *_ in rows],
        image_folder=present(path.parent, "images", "val2014"),
    )
