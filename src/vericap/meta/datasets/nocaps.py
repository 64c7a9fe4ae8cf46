"""nocaps (Agrawal et al. 2019): images and captions beyond COCO's classes, used here for retrieval."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from vericap.core.errors import InputError, Problem
from vericap.meta.datasets.common import first_of, flickr_captions, json_file, lines, present
from vericap.meta.judgements import Retrieval


def read(folder: Path) -> Retrieval:
    """`nocaps_val_4500_captions.json` in COCO's caption format; images carry `domain`."""
    path = first_of(folder, "nocaps_val_4500_captions.json", "nocaps_val.json")
    data = json_file(path)
    if not isinstance(data, dict) or not {"images", "annotations"} <= set(data):
        raise InputError(f"{path}: expected an object with 'images' and 'annotations'")
    place_of = {entry["id"]: place for place, entry in enumerate(data["images"])}
    captions, owner, problems = [], [], []
    for entry in data["annotations"]:
        if entry["image_id"] not in place_of:
            reason = f"image {entry['image_id']} is not in 'images'; left out"
            problems.append(Problem(f"annotation {entry.get('id', '?')}", reason, str(path)))
            continue
        captions.append(entry["caption"].strip())
        owner.append(place_of[entry["image_id"]])
    return Retrieval(
        name="nocaps",
        images=[str(entry.get("file_name", entry["id"])) for entry in data["images"]],
        captions=captions,
        owner=np.array(owner, dtype=np.int64),
        domains=[str(entry.get("domain", "")) for entry in data["images"]],
        problems=problems,
        image_folder=present(folder, "images", "validation"),
    )


def read_flickr8k_split(folder: Path, *, split: str = "dev") -> Retrieval:
    """The images of one Flickr8k split with their five captions each."""
    images = [text.strip() for _, text in lines(first_of(folder, f"Flickr_8k.{split}Images.txt"))]
    captions = flickr_captions(first_of(folder, "Flickr8k.token.txt"))[1]
    texts = [(place, text) for place, image in enumerate(images) for text in captions[image]]
    return Retrieval(
        name=f"flickr8k-{split}",
        images=images,
        captions=[text for _, text in texts],
        owner=np.array([place for place, _ in texts], dtype=np.int64),
        image_folder=present(folder, "Images", "Flicker8k_Dataset", "images"),
    )
