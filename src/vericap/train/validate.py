"""Validation of a score matrix: retrieval both ways, and agreement with the text teacher on near pairs.

No judgements of people exist for the validation photos, so agreement is measured on pairs like those people are asked
about: captions of other images at graded nearness, and own captions; the target is the teacher's cosine to the image's
other captions. Retrieval alone picks the wrong checkpoint for a metric.
"""

from __future__ import annotations

import numpy as np

from vericap.core.typing import Floats32, Ints

Pairs = tuple[Ints, Ints, Floats32]  # images, captions, target
NEAR = (0, 1, 2, 4, 8, 16, 32, 64, 128, 256)  # ranks of other images' captions


def recall(scores: Floats32, *, per_image: int = 5) -> dict[str, float]:
    """R@1/5/10 in percent: image to text and text to image. Captions of image i are columns i*per_image..."""
    images = len(scores)
    own = np.arange(images * per_image) // per_image
    ranks = np.empty(images)
    for image in range(images):
        row = scores[image]
        ranks[image] = (row > row[own == image].max()).sum()
    columns = np.arange(images * per_image)
    text_ranks = (scores > scores[own, columns][None, :]).sum(axis=0)
    found = {f"i2t_r{k}": 100.0 * float((ranks < k).mean()) for k in (1, 5, 10)}
    found.update({f"t2i_r{k}": 100.0 * float((text_ranks < k).mean()) for k in (1, 5, 10)})
    return found


def near_pairs(captions: Floats32) -> Pairs:
    """Images, caption columns and teacher targets of graded pairs; `captions` (images, k, d): centred unit vectors."""
    images, per_image, width = captions.shape
    flat = captions.reshape(-1, width)
    target = captions.mean(axis=1) @ flat.T
    rows, columns, values = [], [], []
    for image in range(images):
        line = target[image].copy()
        line[image * per_image : (image + 1) * per_image] = -np.inf
        order = np.argsort(-line, kind="stable")
        chosen = order[[rank for rank in NEAR if rank < len(order) - per_image]]
        others = captions[image, 1:].mean(axis=0) if per_image > 1 else captions[image, 0]
        rows += [image] * (len(chosen) + 1)
        columns += [*chosen.tolist(), image * per_image]
        values += [*line[chosen].tolist(), float(others @ captions[image, 0])]
    return np.array(rows), np.array(columns), np.array(values, dtype=np.float32)


def agreement(scores: Floats32, pairs: Pairs) -> float:
    """Spearman's rank correlation with the teacher on the near pairs, in percent."""
    from scipy.stats import spearmanr

    rows, columns, target = pairs
    return 100.0 * float(spearmanr(scores[rows, columns], target)[0])
