"""Captions that the COCO benchmarks score: real data where it is, otherwise a clear message."""

from __future__ import annotations

import gzip
import json

from benchmarks.library.data import data_folder

Pairs = tuple[dict[str, str], dict[str, list[str]]]  # candidates, references, both by id


def coco_captions(split: str) -> list[tuple[str, str]]:
    """(image id, caption) in file order."""
    with gzip.open(data_folder() / "coco" / f"captions_{split}2014.json.gz") as stream:
        return [(str(item["image_id"]), item["caption"]) for item in json.load(stream)["annotations"]]


def flickr_captions() -> list[tuple[str, str]]:
    lines = (data_folder() / "flickr8k" / "Flickr8k.token.txt").read_text("utf-8").split("\n")
    pairs = (line.split("\t") for line in lines if line)
    return [(name.split("#")[0], caption) for name, caption in pairs]


def systems() -> list[str]:
    return [
        file.stem.removeprefix("karpathy_test_")
        for file in sorted((data_folder() / "coco").glob("karpathy_test_*.json"))
        if not file.stem.endswith("references")
    ]


def karpathy(system: str) -> Pairs:
    coco = data_folder() / "coco"
    references = json.loads((coco / "karpathy_test_references.json").read_text("utf-8"))
    results = json.loads((coco / f"karpathy_test_{system}.json").read_text("utf-8"))
    candidates = {str(item["image_id"]): item["caption"] for item in results}
    return candidates, {key: references[key] for key in candidates}


def human(split: str = "val", images: int | None = None) -> Pairs:
    """One human caption per image as the candidate, the others as references."""
    grouped: dict[str, list[str]] = {}
    for image, caption in coco_captions(split):
        grouped.setdefault(image, []).append(caption)
    chosen = [image for image, captions in grouped.items() if len(captions) > 1][:images]
    return {key: grouped[key][0] for key in chosen}, {key: grouped[key][1:] for key in chosen}


def flickr8k_expert() -> Pairs:
    """Every judged (image, caption) pair, against the image's own five captions."""
    lines = (data_folder() / "flickr8k" / "Flickr8k.token.txt").read_text("utf-8").split("\n")
    captions = [line.split("\t") for line in lines if line]
    by_name = dict(captions)  # type: ignore[arg-type]
    references: dict[str, list[str]] = {}
    for name, caption in captions:
        references.setdefault(name.split("#")[0], []).append(caption)
    rows = (data_folder() / "flickr8k" / "ExpertAnnotations.txt").read_text("utf-8").split("\n")
    judged = [row.split("\t")[:2] for row in rows if row]
    candidates = {f"{image}|{name}": by_name[name] for image, name in judged}
    return candidates, {key: references[key.split("|")[0]] for key in candidates}


def repeated(count: int, references_each: int = 5) -> Pairs:
    """`count` candidates with up to five references: COCO captions, one of them the candidate (train + val)."""
    grouped: dict[str, list[str]] = {}
    for split in ("val", "train"):
        for image, caption in coco_captions(split):
            grouped.setdefault(image, []).append(caption)
        if len(grouped) > count:
            break
    # the candidate is the next image's caption, so that no reference repeats it
    keys = [key for key, captions in grouped.items() if len(captions) >= references_each][:count]
    candidates = {key: grouped[keys[(i + 1) % len(keys)]][0] for i, key in enumerate(keys)}
    return candidates, {key: grouped[key][:references_each] for key in keys}
