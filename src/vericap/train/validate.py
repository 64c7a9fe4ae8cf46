"""Validation of a score matrix: retrieval both ways, and agreement with the text teacher on near pairs.

No judgements of people exist for the validation photos, so agreement is measured on pairs like those people are asked
about: captions of other images at graded nearness, and own captions; the target is the teacher's cosine to the image's
other captions. Retrieval alone picks the wrong checkpoint for a metric.
"""

from __future__ import annotations

import numpy as np

from vericap.core.typing import Array, Floats32, Ints
from vericap.train.data import CaptionPlaces

Pairs = tuple[Ints, Ints, Floats32]  # images, columns of the score matrix (one per caption), target
NEAR = (0, 1, 2, 4, 8, 16, 32, 64, 128, 256)  # ranks of other images' captions


def recall(scores: Floats32, *, per_image: int = 5, owners: Ints | None = None) -> dict[str, float]:
    """R@1/5/10 in percent: image to text and text to image. `owners` says whose caption each column is; without it
    captions of image i are columns i*per_image..."""
    images, columns = scores.shape
    own = np.arange(columns) // per_image if owners is None else owners
    true = np.full((images, columns), -np.inf, dtype=np.float32)
    true[own, np.arange(columns)] = scores[own, np.arange(columns)]
    ranks = (scores > true.max(axis=1, keepdims=True)).sum(axis=1)
    text_ranks = (scores > scores[own, np.arange(columns)][None, :]).sum(axis=0)
    found = {f"i2t_r{k}": 100.0 * float((ranks < k).mean()) for k in (1, 5, 10)}
    found.update({f"t2i_r{k}": 100.0 * float((text_ranks < k).mean()) for k in (1, 5, 10)})
    return found


def mean_recall(found: dict[str, float]) -> float:
    """The mean of all figures of retrieval."""
    return float(np.mean([value for name, value in found.items() if name.startswith(("i2t_", "t2i_"))]))


def near_pairs(captions: Floats32, places: CaptionPlaces | None = None) -> Pairs:
    """Images, caption columns and teacher targets of graded pairs; `captions` (images, k, d): centred unit vectors.

    Columns count the captions that are there. An image's only caption stands for itself.
    """
    images, each, width = captions.shape
    places = places or CaptionPlaces.full(images, each)
    flat, owners = captions.reshape(-1, width)[places.columns], places.owners
    target = means(captions, places) @ flat.T
    rows, columns, values = [], [], []
    for image, count in enumerate(places.counts.tolist()):
        line = target[image].copy()
        line[owners == image] = -np.inf
        order = np.argsort(-line, kind="stable")
        chosen = order[[rank for rank in NEAR if rank < len(order) - count]]
        others = captions[image, 1:count].mean(axis=0) if count > 1 else captions[image, 0]
        rows += [image] * (len(chosen) + 1)
        columns += [*chosen.tolist(), int(np.searchsorted(owners, image))]
        values += [*line[chosen].tolist(), float(others @ captions[image, 0])]
    return np.array(rows), np.array(columns), np.array(values, dtype=np.float32)


def means(captions: Array, places: CaptionPlaces) -> Floats32:
    """Mean vector (images, d) of every image's captions."""
    there = places.there(np.arange(len(places)))[..., None]
    return np.asarray((captions * there).sum(axis=1) / places.counts[:, None], dtype=np.float32)


def agreement(scores: Floats32, pairs: Pairs) -> float:
    """Spearman's rank correlation with the teacher on the near pairs, in percent."""
    from scipy.stats import spearmanr

    rows, columns, target = pairs
    return 100.0 * float(spearmanr(scores[rows, columns], target)[0])
