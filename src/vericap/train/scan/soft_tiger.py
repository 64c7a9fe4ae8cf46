"""TIGEr in torch, with ranks that have a slope, so that SCAN can learn to ground as TIGEr reads it.

WDS is the metric's own. RRS needs the place of every region in the candidate's order; here it is one more than the sum
of how far all others are ahead, a sigmoid of the difference.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F

_SOFT = 0.01  # difference of two groundings at which the nearer region is clearly ahead
_TINY = 1e-8


def soft_tiger(candidate: torch.Tensor, reference: torch.Tensor, there: torch.Tensor | None = None) -> torch.Tensor:
    """(captions, images) of the groundings (captions, images, regions) of candidates and (images, regions) of
    references; `there` (images, regions) says which regions are there."""
    inside = torch.ones_like(reference) if there is None else there
    return (_ranking(candidate, reference, inside) + _weights(candidate, reference, inside)) / 2


def _ranking(candidate: torch.Tensor, reference: torch.Tensor, inside: torch.Tensor) -> torch.Tensor:
    low = reference.masked_fill(inside == 0, torch.inf).amin(dim=-1, keepdim=True)
    high = reference.masked_fill(inside == 0, -torch.inf).amax(dim=-1, keepdim=True)
    gains = (reference - low) / (high - low).clamp(min=_TINY) * inside
    ahead = torch.sigmoid((candidate[..., None, :] - candidate[..., :, None]) / _SOFT) * inside[:, None, :]
    places = 0.5 + ahead.sum(dim=-1)  # a region is half ahead of itself
    found = (gains / torch.log2(places + 1)).sum(dim=-1)
    discount = 1.0 / torch.log2(torch.arange(2, reference.shape[-1] + 2, device=reference.device))
    best = (gains.sort(dim=-1, descending=True).values * discount).sum(dim=-1)
    return found / best.clamp(min=_TINY)


def _weights(candidate: torch.Tensor, reference: torch.Tensor, inside: torch.Tensor) -> torch.Tensor:
    log_reference = F.log_softmax(reference.masked_fill(inside == 0, -1e4), dim=-1)
    log_candidate = F.log_softmax(candidate.masked_fill(inside == 0, -1e4), dim=-1)
    divergence = (log_reference.exp() * (log_reference - log_candidate)).sum(dim=-1)
    own, other = ((values * inside).norm(dim=-1).clamp(min=_TINY) for values in (candidate, reference))
    return torch.sigmoid(-1.5 * (divergence + other.log() - own.log()))
