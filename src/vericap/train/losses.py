"""Losses over a score matrix: rows are images, columns are captions.

The papers train with the hardest negative; distillation of a text teacher agrees better with people.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F

Tensor = torch.Tensor


def hardest_negative(scores: Tensor, *, margin: float = 0.2, hardest: float = 1.0) -> Tensor:
    """Triplet loss of a square matrix whose diagonal holds the true pairs (SCAN, eq. 10).

    `hardest` moves from the sum over all negatives (0) to the hardest one (1), for warm-up.
    """
    true = scores.diagonal()
    size = len(scores)
    same = torch.eye(size, dtype=torch.bool)
    captions = (margin + scores - true[:, None]).clamp(min=0).masked_fill(same, 0.0)
    images = (margin + scores - true[None, :]).clamp(min=0).masked_fill(same, 0.0)
    hard = captions.max(dim=1).values.sum() + images.max(dim=0).values.sum()
    every = (captions.sum() + images.sum()) / max(size - 1, 1)
    return (hardest * hard + (1.0 - hardest) * every) / size


def info_nce(scores: Tensor, temperature: Tensor | float = 20.0) -> Tensor:
    """Both directions of the cross entropy over the batch; `temperature` multiplies the scores."""
    logits = scores * temperature
    true = torch.arange(len(scores))
    return (F.cross_entropy(logits, true) + F.cross_entropy(logits.t(), true)) / 2


def distillation(scores: Tensor, target: Tensor, scale: Tensor | float = 1.0, bias: Tensor | float = 0.0) -> Tensor:
    """Squared error of the affinely mapped scores, as a share of the target's variance (1 - R^2)."""
    return ((scale * scores + bias - target) ** 2).mean() / target.var().clamp(min=1e-6)


def teacher(captions: Tensor, extra: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Candidates and their target for each image.

    `captions` (images, k, d) are centred unit sentence vectors; every one of them and every `extra` (m, d)
    one is a
    candidate. The target is the mean cosine to the image's captions, the candidate itself left out.
    """
    images, per_image, width = captions.shape
    candidates = captions.reshape(-1, width)
    if extra is not None:
        candidates = torch.cat([candidates, extra])
    target = captions.mean(dim=1) @ candidates.t()
    others = (captions.sum(dim=1, keepdim=True) - captions) / max(per_image - 1, 1)
    rows = torch.arange(images).repeat_interleave(per_image)
    target[rows, torch.arange(images * per_image)] = (others * captions).sum(dim=-1).reshape(-1)
    return candidates, target


def held_out(captions: Tensor, own: Tensor, held: Tensor) -> Tensor:
    """Cosines (images, images * k) of the candidates to the captions of every image that are held (1) and are not the
    candidate itself: what a further person says.

    `captions` (images, n, d) are centred unit vectors, `own` (images, k) says which of them are candidates, `held`
    (images, n) which were not given to the model.
    """
    images, k = own.shape
    rows = torch.arange(images)
    candidates = captions[rows[:, None], own]
    target = _mean(captions, held) @ candidates.reshape(images * k, -1).t()
    for place in range(k):
        rest = held.clone()
        rest[rows, own[:, place]] = 0.0
        target[rows, rows * k + place] = (_mean(captions, rest) * candidates[:, place]).sum(dim=-1)
    return target


def _mean(captions: Tensor, weights: Tensor) -> Tensor:
    return (captions * weights[..., None]).sum(dim=1) / weights.sum(dim=1, keepdim=True).clamp(min=1.0)


def harder(captions: Tensor, pool: Tensor, keep: int) -> Tensor:
    """Of a pool of captions, the `keep` nearest to any image of the batch: what people are asked to judge
    is near."""
    nearness = (captions.mean(dim=1) @ pool.t()).max(dim=0).values
    return pool[nearness.topk(min(keep, len(pool))).indices]
