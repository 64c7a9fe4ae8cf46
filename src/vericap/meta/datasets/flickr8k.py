"""Flickr8k-Expert and Flickr8k-CF (Hodosh et al. 2013)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from vericap.core.errors import InputError, Problem
from vericap.meta.datasets.common import first_of, flickr_captions, lines, number, present
from vericap.meta.judgements import Ratings

IMAGES = ("Images", "Flicker8k_Dataset", "Flickr8k_Dataset", "images")


def read_expert(folder: Path) -> Ratings:
    """`ExpertAnnotations.txt`: image, caption id, three ratings 1-4."""
    return _read(folder, "ExpertAnnotations.txt", expert=True)


def read_crowd(folder: Path) -> Ratings:
    """`CrowdFlowerAnnotations.txt`: image, caption id, share of yes, number of yes, number of no."""
    return _read(folder, "CrowdFlowerAnnotations.txt", expert=False)


def _read(folder: Path, name: str, *, expert: bool) -> Ratings:
    path = first_of(folder, name)
    captions, by_image = flickr_captions(first_of(folder, "Flickr8k.token.txt"))
    images, ids, candidates, own, values, votes, problems = [], [], [], [], [], [], []
    for line, text in lines(path):
        cells = text.split()
        if len(cells) != 5:
            raise InputError(f"{path}, line {line}: {len(cells)} columns, 5 were expected")
        image, caption = cells[:2]
        if caption not in captions or image not in by_image:
            unknown = image if image not in by_image else caption
            problems.append(Problem(f"line {line}", f"'{unknown}' is not in Flickr8k.token.txt; left out", str(path)))
            continue
        images.append(image)
        ids.append(f"{image}/{caption}")
        candidates.append(captions[caption])
        writer, _, place = caption.rpartition("#")
        own.append(int(place) if writer == image else -1)
        numbers = [number(cell, path, line, "rating") for cell in cells[2:]]
        values.append(numbers if expert else numbers[:1])
        votes.append([int(n) for n in numbers[1:]] if not expert else [0, 0])
    return Ratings(
        name="flickr8k-expert" if expert else "flickr8k-cf",
        candidates=candidates,
        references=[by_image[image] for image in images],
        ratings=np.array(values, dtype=np.float64).reshape(len(values), -1),
        scale=(1.0, 4.0) if expert else (0.0, 1.0),
        images=images,
        ids=ids,
        votes=None if expert else np.array(votes, dtype=np.int64),
        own=own,
        problems=problems,
        image_folder=present(folder, *IMAGES),
    )
