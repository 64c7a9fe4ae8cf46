"""Captions whose wrong words or passages people marked: HAT, M-HalDetect, DetailVerifyBench."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from vericap.core.errors import InputError, Problem
from vericap.meta.datasets.common import (
    coco_id,
    coco_references,
    first_of,
    json_file,
    json_lines,
    listed,
    need,
    present,
)
from vericap.meta.judgements import Spans

Passages = tuple[tuple[int, int], ...]
_TAG = re.compile(r"<(/?)([A-Za-z][\w-]*)[^<>]*>")


def read_hat(folder: Path) -> Spans:
    """`dev.jsonl` (image_id, caption, words, references): `words` are pairs of a word and 1 where it is wrong.

    The archive of ALOHa (Petryk et al. 2024) does not document a file of its own; these are the fields of the part
    that is given out for development.
    """
    path = first_of(folder, "dev.jsonl", "hat.jsonl", "test.jsonl")
    rows, problems = [], []
    for line, record in json_lines(path):
        caption = str(need(record, ["caption"], path, line))
        wrong = _marked_words(caption, record.get("words") or ())
        if wrong is None:
            problems.append(Problem(f"line {line}", "its words are not those of its caption; left out", str(path)))
            continue
        image = coco_id(need(record, ["image_id", "image"], path, line))
        rows.append((f"{image}/{line}", image, caption, wrong, listed(record.get("references") or (), path, line)))
    return _spans("hat", folder, rows, problems)


def _marked_words(caption: str, words: Sequence[Any]) -> Passages | None:
    """The passages of words that are marked; None where a word is not found in the caption, in order."""
    found, end = [], 0
    for word, wrong in words:
        start = caption.find(str(word), end)
        if start < 0:
            return None
        end = start + len(str(word))
        if wrong:
            found.append((start, end))
    return tuple(found)


def read_mhal(folder: Path) -> Spans:
    """`dev.jsonl` (image_id, caption, wrong: pairs of places), or the published `val_raw.json`.

    A published sample has the question, the id of a photo of COCO val2014, and annotations: segments with start, end,
    text and a class label (README of https://github.com/hendryx-scale/mhal-detect). It does not tell how they are
    called: `image` (or `image_id`), `response` (or `answer`), `annotations` and the label `INACCURATE` are assumed.
    """
    path = first_of(folder, "dev.jsonl", "val_raw.json", "train_raw.json")
    records = json_lines(path) if path.name.startswith("dev") else enumerate(_list(path), 1)
    rows, problems = [], []
    for line, record in records:
        caption = str(need(record, ["caption", "response", "answer"], path, line))
        image = coco_id(need(record, ["image_id", "image"], path, line))
        wrong = _inside(caption, _segments(record))
        if wrong is None:
            problems.append(Problem(f"record {line}", "a marked passage lies outside its text; left out", str(path)))
            continue
        rows.append((f"{image}/{line}", image, caption, wrong, ()))
    references = coco_references(folder, {image for _, image, _, _, _ in rows})
    return _spans("mhal", folder, [(*row[:4], references.get(row[1], ())) for row in rows], problems)


def _list(path: Path) -> list[dict[str, Any]]:
    data = json_file(path)
    if not isinstance(data, list):
        raise InputError(f"{path}: expected a list of samples")
    return data


def _segments(record: dict[str, Any]) -> Iterable[tuple[int, int]]:
    if "wrong" in record:
        return ((int(start), int(end)) for start, end in record["wrong"])
    segments = record.get("annotations") or ()
    return ((int(s["start"]), int(s["end"])) for s in segments if str(s.get("label")).upper() == "INACCURATE")


def _inside(caption: str, passages: Iterable[tuple[int, int]]) -> Passages | None:
    """Passages without blanks at their ends; None where one leaves the text."""
    found = []
    for start, end in passages:
        if not 0 <= start <= end <= len(caption):
            return None
        text = caption[start:end]
        start, end = start + len(text) - len(text.lstrip()), start + len(text.rstrip())
        if start < end:
            found.append((start, end))
    return tuple(found)


def read_detailverify(folder: Path) -> Spans:
    """`real_test.jsonl` or `synthetic_test.jsonl` of DetailVerifyBench (also below `data/`).

    Fields as its data card tells them (https://huggingface.co/datasets/zyxhhnkh/DetailVerifyBench): `description_tag`
    is the text with tags around wrong passages, `GT_description` the corrected one, `filename` or `image_path` the
    photo. The card does not spell the tags: whatever stands between `<NAME>` and `</NAME>` is taken to be marked.
    """
    path = first_of(
        folder, "real_test.jsonl", "data/real_test.jsonl", "synthetic_test.jsonl", "data/synthetic_test.jsonl"
    )
    rows, problems = [], []
    for line, record in json_lines(path):
        untagged = untag(str(need(record, ["description_tag"], path, line)))
        if untagged is None:
            problems.append(Problem(f"line {line}", "its tags do not open and close in turn; left out", str(path)))
            continue
        image = str(need(record, ["filename", "image_path", "id"], path, line))
        truth = record.get("GT_description") or record.get("original_description")
        rows.append((f"{image}/{line}", image, *untagged, (str(truth),) if truth else ()))
    return _spans("detailverify", folder, rows, problems)


def untag(text: str) -> tuple[str, Passages] | None:
    """A text without its tags, and what stood inside them; None where tags do not fit each other."""
    plain, passages, opened, last = "", [], list[tuple[str, int]](), 0
    for match in _TAG.finditer(text):
        plain += text[last : match.start()]
        last = match.end()
        if not match.group(1):
            opened.append((match.group(2), len(plain)))
        elif not opened or opened[-1][0] != match.group(2):
            return None
        else:
            passages.append((opened.pop()[1], len(plain)))
    plain += text[last:]
    inside = _inside(plain, sorted(passages))
    return None if opened or inside is None else (plain, inside)


def _spans(
    name: str,
    folder: Path,
    rows: Sequence[tuple[str, str, str, Passages, tuple[str, ...]]],
    problems: list[Problem],
) -> Spans:
    return Spans(
        name=name,
        ids=[identifier for identifier, *_ in rows],
        images=[image for _, image, *_ in rows],
        captions=[caption for _, _, caption, _, _ in rows],
        wrong=[wrong for *_, wrong, _ in rows],
        references=[references for *_, references in rows],
        problems=problems,
        image_folder=present(folder, "images", "val2014"),
    )
