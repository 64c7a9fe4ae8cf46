"""Composite (Aditya et al. 2018): captions of Flickr8k, Flickr30k and COCO images, rated by a crowd."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

from vericap.core.errors import InputError, Problem
from vericap.meta.datasets.common import coco_captions, flickr_captions, number, table
from vericap.meta.judgements import Ratings, ragged

PARTS = ("8k", "30k", "coco")
# The thoroughness files are spelt so in the published archive.
ASPECTS = {"correctness": ("correctness",), "thoroughness": ("throughness", "thoroughness")}
REFERENCES = {
    "8k": ("Flickr8k.token.txt", "../flickr8k/Flickr8k.token.txt"),
    "30k": ("results_20130124.token", "../flickr30k/results_20130124.token"),
    "coco": ("captions_val2014.json", "captions_val2014.json.gz", "../coco/captions_val2014.json.gz"),
}
_TEXT = re.compile(r"^Input\.text(\d+)$")

Found = dict[tuple[str, str], list[float]]


def read(folder: Path) -> Ratings:
    """`{8k,30k,coco}_correctness.csv`, `..._throughness.csv` (semicolons), and the references beside them."""
    tables: dict[str, Found] = {name: {} for name in ASPECTS}
    references: dict[str, tuple[str, ...]] = {}
    sources: dict[str, str] = {}
    problems: list[Problem] = []
    for part in PARTS:
        known = _references(folder, part)
        for aspect, spellings in ASPECTS.items():
            for path in (folder / f"{part}_{spelling}.csv" for spelling in spellings):
                if path.is_file():
                    _read_part(path, known, tables[aspect], references, problems)
        sources.update({image: part for image in references if image not in sources})
    keys = list(tables["correctness"])
    if not keys:
        raise InputError(f"{folder}: no *_correctness.csv with ratings was found")
    return Ratings(
        name="composite",
        candidates=[caption for _, caption in keys],
        references=[references[image] for image, _ in keys],
        ratings=ragged(tables["correctness"][key] for key in keys),
        aspects={"thoroughness": ragged(tables["thoroughness"].get(key, [float("nan")]) for key in keys)}
        if tables["thoroughness"]
        else {},
        scale=(1.0, 5.0),
        sources=[sources[image] for image, _ in keys],
        images=[image for image, _ in keys],
        ids=[f"{image}/{place}" for place, (image, _) in enumerate(keys)],
        problems=problems,
    )


def _references(folder: Path, part: str) -> dict[str, tuple[str, ...]]:
    for name in REFERENCES[part]:
        path = folder / name
        if path.is_file():
            found = coco_captions(path) if part == "coco" else flickr_captions(path)[1]
            return {_image_key(image): texts for image, texts in found.items()}
    return {}


def _image_key(name: str) -> str:
    """One spelling for an image: file stem, COCO ids without prefix and zeros."""
    stem = PurePosixPath(name).stem
    coco = re.match(r"^(?:COCO_[a-z]+\d{4}_)?0*(\d{1,12})$", stem)
    return coco.group(1) if coco else stem


def _read_part(
    path: Path,
    known: dict[str, tuple[str, ...]],
    found: Found,
    references: dict[str, tuple[str, ...]],
    problems: list[Problem],
) -> None:
    for line, row in table(path, delimiter=";"):
        address = row.get("Input.image_url") or row.get("Input.image") or ""
        if not address:
            continue  # the archive ends with summary rows
        image = _image_key(address)
        if image not in known:
            problems.append(Problem(f"line {line}", f"image '{image}' has no references; left out", str(path)))
            continue
        references[image] = known[image]
        for name, caption in row.items():
            column = _TEXT.match(name)
            answer = row.get(f"Answer.Q{column.group(1)}Answer", "") if column else ""
            if column and caption and answer:
                value = number(answer, path, line, "rating")
                found.setdefault((image, caption.strip()), []).append(value)
