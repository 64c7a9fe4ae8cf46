"""Losses over a score matrix: rows are images, columns are captions.

The papers train with the hardest negative; distillation of a text teacher agrees better with people.
"""

from __future__ import annotations

from typing import TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor

from vericap.core.typing import Floats32

Values = TypeVar("Values", torch.Tensor, Floats32)


def hardest_negative(scores: Tensor, *, margin: float = 0.2, hardest: float = 1.0) -> Tensor:
    """Triplet loss of a square matrix whose diagonal holds the true pairs (SCAN, eq. 10; FAIEr, eq. 5).

    `hardest` moves from the mean over all negatives (0) to the hardest one (1), for warm-up.
    """
    captions, images = _violations(scores, margin)
    size = len(scores)
    hard = captions.max(dim=1).values.sum() + images.max(dim=0).values.sum()
    every = (captions.sum() + images.sum()) / max(size - 1, 1)
    return (hardest * hard + (1.0 - hardest) * every) / size


def all_negatives(scores: Tensor, *, margin: float = 0.2) -> Tensor:
    """Triplet loss over all negatives of every true pair, summed (FAIEr, eq. 4), as a mean over the pairs."""
    captions, images = _violations(scores, margin)
    return (captions.sum() + images.sum()) / len(scores)


def _violations(scores: Tensor, margin: float) -> tuple[Tensor, Tensor]:
    """How far other captions, and other images, come within the margin of the true pair."""
    true = scores.diagonal()
    same = torch.eye(len(scores), dtype=torch.bool, device=scores.device)
    captions = (margin + scores - true[:, None]).clamp(min=0).masked_fill(same, 0.0)
    images = (margin + scores - true[None, :]).clamp(min=0).masked_fill(same, 0.0)
    return captions, images


def info_nce(scores: Tensor, temperature: Tensor | float = 20.0) -> Tensor:
    """Both directions of the cross entropy over the batch; `temperature` multiplies the scores."""
    logits = scores * temperature
    true = torch.arange(len(scores))
    return (F.cross_entropy(logits, true) + F.cross_entropy(logits.t(), true)) / 2


def distillation(scores: Tensor, target: Tensor, scale: Tensor | float = 1.0, bias: Tensor | float = 0.0) -> Tensor:
    """Squared error of the affinely mapped scores, as a share of the target's variance (1 - R^2)."""
    return ((scale * scores + bias - target) ** 2).mean() / target.var().clamp(min=1e-6)


def unlike(scores: Tensor, target: Tensor) -> Tensor:
    """1 - r, the correlation over all pairs: of scores whose unit and zero say nothing."""
    x, y = scores - scores.mean(), target - target.mean()
    return 1 - (x * y).mean() / (x.square().mean() * y.square().mean()).clamp(min=1e-12).sqrt()


def teacher(captions: Tensor, extra: Tensor | None = None, there: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Candidates and their target for each image.

    `captions` (images, k, d) are centred unit sentence vectors, `there` (images, k) says which of them count; every
    one of these and every `extra` (m, d) one is a candidate. The target is the mean cosine to the image's captions, the
    candidate itself left out; an image's only caption stands for itself.
    """
    there = torch.ones(captions.shape[:2], dtype=torch.bool) if there is None else there
    counts = there.sum(dim=1)
    own = captions[there]
    candidates = own if extra is None else torch.cat([own, extra])
    sums = (captions * there[..., None]).sum(dim=1)
    target = (sums / counts[:, None]) @ candidates.t()
    owners = torch.repeat_interleave(counts)
    others = torch.where(counts[owners, None] > 1, (sums[owners] - own) / (counts[owners, None] - 1).clamp(min=1), own)
    target[owners, torch.arange(len(own))] = (others * own).sum(dim=-1)
    return candidates, target


def held_out(similar: Tensor, own: Tensor, held: Tensor) -> Tensor:
    """Mean similarity (images, images * k) of the candidates with the captions of every image that are held (1) and are
    not the candidate itself: what a further person says. A candidate beside which no other is held stands for itself.

    `similar` (images, n, images * k) compares all captions with the candidates, `own` (images, k) says which captions
    are candidates, `held` (images, n) which were not given to the model.
    """
    images, k = own.shape
    rows = torch.arange(images)
    target = torch.einsum("in,inc->ic", _shares(held), similar)
    for place in range(k):
        columns = rows * k + place
        target[rows, columns] = (_shares(_rest(held, own[:, place])) * similar[rows, :, columns]).sum(dim=-1)
    return target


def _rest(held: Tensor, own: Tensor) -> Tensor:
    """What is held (images, n) besides each image's candidate; the candidate itself where that is nothing."""
    rest = held.scatter(1, own[:, None], 0.0)
    alone = rest.sum(dim=1, keepdim=True) == 0
    return rest.scatter_add(1, own[:, None], alone.to(rest.dtype))


def _shares(held: Tensor) -> Tensor:
    return held / held.sum(dim=1, keepdim=True).clamp(min=1.0)


def cosines(captions: Tensor, own: Tensor) -> Tensor:
    """Cosines (images, n, images * k) of all captions (images, n, d), unit vectors, with those that `own` (images, k)
    names."""
    candidates = captions[torch.arange(len(own))[:, None], own].flatten(0, 1)
    return captions @ candidates.t()


def overlap(words: Tensor, counts: Tensor, own: Tensor) -> Tensor:
    """How far captions say the same, word by word, (images, n, images * k): mean cosine of each word with the nearest
    one of the other caption, both ways.

    `words` (words, d) are unit vectors of all captions, n of each image; `counts` (images * n) says how many are each
    caption's.
    """
    images, each = len(own), len(counts) // len(own)
    candidates = (torch.arange(images)[:, None] * each + own).flatten()
    parts, sizes = torch.split(words, counts.tolist()), counts[candidates]
    similar = torch.cat([parts[caption] for caption in candidates.tolist()]) @ words.t()
    found = torch.segment_reduce(similar.t().contiguous(), "max", lengths=counts)
    precision = torch.segment_reduce(found.t().contiguous(), "mean", lengths=sizes).t()
    best = torch.segment_reduce(similar, "max", lengths=sizes)
    recall = torch.segment_reduce(best.t().contiguous(), "mean", lengths=counts)
    both = (precision + recall) / 2
    return both.nan_to_num(0.0, neginf=0.0).view(images, each, -1)  # a caption without words is like none


def half(target: Values, other: Values) -> Values:
    """The mean of a target and another one, which is brought to its mean and spread first."""
    scaled = target.mean() + (other - other.mean()) * (target.std() / max(float(other.std()), 1e-6))
    return (target + scaled) / 2


class Claimed:
    """How far candidates claim what the captions of every image claim, and the other way round.

    `vectors` (claims, d) are unit vectors of all captions' claims, n captions of each image, with `weights` (claims,);
    `counts` (images * n) says how many are each caption's, `own` (images, k) which captions are candidates. Further
    captions, counted in `counts` after those of the images, are candidates too.
    """

    def __init__(self, vectors: Tensor, weights: Tensor, counts: Tensor, own: Tensor, each: int = 5) -> None:
        self.own, told = own, len(own) * each
        first = torch.cumsum(counts, 0) - counts
        candidates = (torch.arange(len(own))[:, None] * each + own).flatten()
        candidates = torch.cat([candidates, torch.arange(told, len(counts))])
        self._sizes = counts[candidates]
        self._owner = torch.repeat_interleave(torch.arange(len(candidates)), self._sizes)
        places = torch.arange(len(self._owner)) - (torch.cumsum(self._sizes, 0) - self._sizes)[self._owner]
        mine = first[candidates][self._owner] + places
        counts = counts[:told]
        mine_vectors, vectors = vectors[mine], vectors[: int(counts.sum())]
        mine_weights, weights = weights[mine], weights[: len(vectors)]
        similar = mine_vectors @ vectors.t()
        best = torch.segment_reduce(similar.t().contiguous(), "max", lengths=counts, initial=-1.0)
        self._best = best.t().reshape(len(mine), len(own), each)  # of a candidate's claim in each caption
        self._weights = mine_weights
        self._total = self._summed(self._weights).clamp(min=1e-6)
        best = torch.segment_reduce(similar, "max", lengths=self._sizes, initial=-1.0) * weights
        owner = torch.repeat_interleave(torch.arange(len(counts)), counts)
        summed = torch.zeros(len(counts), len(candidates)).index_add_(0, owner, best.t())
        self._told = summed.view(len(own), each, -1)  # of a caption's claims in each candidate, weighted sum
        self._there = torch.zeros(len(counts)).index_add_(0, owner, weights).view(len(own), each)

    def _summed(self, values: Tensor) -> Tensor:
        """Sums over each candidate's claims."""
        return torch.zeros(len(self._sizes), *values.shape[1:]).index_add_(0, self._owner, values)

    def target(self, held: Tensor) -> Tensor:
        """Mean of precision and recall (images, candidates) against the held (1) captions of every image together,
        the candidate itself left out; 0 where one side claims nothing."""
        images, k = self.own.shape
        found = self._mean(self._best.masked_fill(held[None] == 0, -1.0).amax(dim=2), held)
        rows = torch.arange(images)
        for place in range(k):
            rest = _rest(held, self.own[:, place])
            best = self._best.masked_fill(rest[None] == 0, -1.0).amax(dim=2)
            columns = rows * k + place
            found[rows, columns] = self._mean(best, rest)[rows, columns]
        return found

    def _mean(self, best: Tensor, held: Tensor) -> Tensor:
        precision = (self._summed(best * self._weights[:, None]) / self._total[:, None]).t()
        there = (self._there * held).sum(dim=1)
        recall = torch.einsum("inc,in->ic", self._told, held) / there.clamp(min=1e-6)[:, None]
        empty = (there == 0)[:, None] | (self._sizes == 0)[None]
        return ((precision + recall) / 2).masked_fill(empty, 0.0)


def harder(captions: Tensor, pool: Tensor, keep: int) -> Tensor:
    """Places of the `keep` captions of a pool that are nearest to any image of the batch: what people are asked to
    judge is near."""
    nearness = (captions.mean(dim=1) @ pool.t()).max(dim=0).values
    return nearness.topk(min(keep, len(pool))).indices
