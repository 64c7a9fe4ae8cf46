"""FOIL (Shekhar et al. 2017): a correct COCO caption against the same caption with one wrong word."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from vericap.core.errors import InputError, Problem
from vericap.meta.datasets.common import coco_captions, first_of, json_file
from vericap.meta.judgements import Pairs


def read(folder: Path) -> Pairs:
    """`foilv1.0_test_2017.json` and `captions_val2014.json[.gz]`; the two captions share an annotation id."""
    path = first_of(folder, "foilv1.0_test_2017.json", "foil.json")
    place = folder if any(folder.glob("captions_val2014.json*")) else folder.parent / "coco"
    references = coco_captions(first_of(place, "captions_val2014.json"))
    true: dict[str, dict[str, str]] = {}
    foils: list[dict[str, str]] = []
    data = json_file(path)
    if not isinstance(data, dict) or "annotations" not in data:
        raise InputError(f"{path}: expected an object with 'annotations'")
    for entry in data["annotations"]:
        # `foil` is a boolean in the file; some copies store it as text.
        if str(entry["foil"]).lower() == "true":
            foils.append(entry)
        else:
            true[str(entry["id"])] = entry
    pairs: list[tuple[str, str, str, dict[str, str]]] = []
    problems = []
    for entry in foils:
        original = true.get(str(entry["id"]))
        image = str(entry["image_id"])
        if original is None or image not in references:
            reason = "no original caption" if original is None else f"image {image} has no references"
            problems.append(Problem(f"annotation {entry['id']}", f"{reason}; left out", str(path)))
            continue
        pairs.append((str(entry.get("foil_id", len(pairs))), image, original["caption"].strip(), entry))
    return Pairs(
        name="foil",
        ids=[identifier for identifier, *_ in pairs],
        images=[image for _, image, _, _ in pairs],
        first=[caption for _, _, caption, _ in pairs],
        second=[entry["caption"].strip() for *_, entry in pairs],
        references=[references[image] for _, image, _, _ in pairs],
        preferences={"original": np.zeros(len(pairs))},
        problems=problems,
    )
