"""PASCAL-50S (Vedantam et al. 2015): pairs of captions, by the authors' MATLAB files or by JSON lines."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from vericap.core.errors import InputError
from vericap.meta.datasets.common import coco_captions, first_of, json_file, json_lines, need, present
from vericap.meta.judgements import Pairs

GROUPS = {1: "HC", 2: "HI", 3: "HM", 4: "MM"}


def read(folder: Path) -> Pairs:
    """`pairs.jsonl` + `references.json`, or `pair_pascal.mat` + `consensus_pascal.mat`."""
    for base in (folder, folder / "pyCIDErConsensus"):
        if (base / "pair_pascal.mat").is_file():
            return _read_matlab(base)
    return _read_lines(folder)


def _read_lines(folder: Path) -> Pairs:
    path = first_of(folder, "pairs.jsonl")
    references = coco_captions(first_of(folder, "references.json"))
    rows = []
    for line, record in json_lines(path):
        captions = need(record, ["captions"], path, line)
        if len(captions) != 2:
            raise InputError(f"{path}, line {line}: {len(captions)} captions, 2 were expected")
        image = need(record, ["image"], path, line)
        if image not in references:
            raise InputError(f"{path}, line {line}: image '{image}' has no captions in references.json")
        rows.append(record)
    objects = folder / "voc_objects.json"
    return Pairs(
        name="pascal50s",
        images=[row["image"] for row in rows],
        first=[row["captions"][0] for row in rows],
        second=[row["captions"][1] for row in rows],
        references=[references[row["image"]] for row in rows],
        fixed_references=[tuple(row.get("references", ())) for row in rows],
        preferences={
            "consensus48": np.array([_or_nan(row.get("consensus48")) for row in rows]),
            "votes11": np.array([_majority(row.get("votes11")) for row in rows]),
        },
        groups=[row["group"] for row in rows],
        objects={image: Counter(found) for image, found in json_file(objects).items()} if objects.is_file() else {},
        image_folder=present(folder, "images", "JPEGImages"),
    )


def _read_matlab(folder: Path) -> Pairs:
    """`new_input`: image, two captions; `category`: group 1-4; `triplets`: 48 votes per pair.

    The eleven direct votes are read from `votes` (pairs x 2) where the file has them; where it has not,
    the label `votes11` is missing, not guessed.
    """
    from scipy.io import loadmat

    pairs = loadmat(folder / "pair_pascal.mat")
    inputs = np.ravel(pairs["new_input"])
    rows = [[_text(cell) for cell in np.ravel(entry)[:3]] for entry in inputs]
    triplets = np.ravel(loadmat(folder / "consensus_pascal.mat")["triplets"])
    if len(triplets) % len(rows):
        raise InputError(
            f"{folder}: {len(triplets)} triplets for {len(rows)} pairs; a whole number per pair was expected"
        )
    each = len(triplets) // len(rows)
    references, consensus = [], []
    for place, (_, first, second) in enumerate(rows):
        asked = [_triplet(triplet) for triplet in triplets[place * each : (place + 1) * each]]
        references.append(tuple(reference for reference, _ in asked))
        consensus.append(_consensus([chosen for _, chosen in asked], first, second))
    preferences = {"consensus48": np.array(consensus)}
    if "votes" in pairs:
        preferences["votes11"] = np.array([_majority(v) for v in np.asarray(pairs["votes"]).tolist()])
    return Pairs(
        name="pascal50s",
        images=[image for image, _, _ in rows],
        first=[first for _, first, _ in rows],
        second=[second for _, _, second in rows],
        references=references,
        preferences=preferences,
        groups=[GROUPS[int(code)] for code in np.ravel(pairs["category"])],
        image_folder=present(folder.parent, "JPEGImages", "images"),
    )


def _text(cell: Any) -> str:
    """The text at the bottom of MATLAB's nested cells."""
    while isinstance(cell, np.ndarray):
        cell = cell.ravel()[0] if cell.size else ""
    return str(cell).strip()


def _triplet(entry: Any) -> tuple[str, str]:
    """(reference, caption that was chosen) of one triplet: A, B, C, winner (1: B, -1: C)."""
    cells = list(entry.item()) if isinstance(entry, np.void) else list(np.ravel(entry))
    reference, first, second = (_text(cell) for cell in cells[:3])
    winner = cells[3]
    while isinstance(winner, np.ndarray):
        winner = winner.ravel()[0]
    return reference, first if int(winner) == 1 else second


def _consensus(chosen: list[str], first: str, second: str) -> float:
    votes = Counter(chosen)
    if set(votes) - {first, second}:
        raise InputError(f"a triplet chose a caption that is not in its pair: {set(votes) - {first, second}}")
    return 0.5 if votes[first] == votes[second] else float(votes[second] > votes[first])


def _majority(votes: Any) -> float:
    """Preference by direct votes [for the first, for the second]."""
    if not votes or len(votes) != 2 or sum(votes) == 0:
        return float("nan")
    return 0.5 if votes[0] == votes[1] else float(votes[1] > votes[0])


def _or_nan(value: Any) -> float:
    return float("nan") if value is None else float(value)
