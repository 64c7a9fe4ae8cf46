"""Teach the caption encoder: sentence vectors, likeness of all pairs in a batch, word states, and people's ratings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from vericap.core.typing import Ints
from vericap.train.data import Draw, NeighbourDraw
from vericap.train.encoder.corpus import LONG
from vericap.train.encoder.data import Lessons, groups
from vericap.train.encoder.network import EncoderModule, PieceGroup, flat_parts
from vericap.train.trainer import Losses

_NEAR = 0.3  # cosine of centred vectors
_VALIDATED = 2048  # texts that are not trained on but show how the training goes


@dataclass(frozen=True)
class EncoderOptions:
    """What moves the result, besides the texts and the plan."""

    batch: int = 256
    rate: float = 2e-3
    pairs: float = 10.0  # weight of the likeness of all pairs
    near: float = 3.0  # and of those pairs that the teacher finds alike
    size: float = 0.2  # weight of lengths: vectors are centred again later, so directions alone are not enough
    states: float = 0.3
    ratings: float = 0.1
    rated: int = 32  # rated pairs of a step
    long: int = 1  # how often a pass draws each text of several sentences


@dataclass(frozen=True)
class Rated:
    """Word pieces of caption pairs that people rated."""

    first: list[list[int]]
    second: list[list[int]]
    ratings: NDArray[np.float32]


class EncoderTask:
    """Batches and validation of one training."""

    def __init__(
        self,
        model: EncoderModule,
        options: EncoderOptions,
        lessons: Lessons,
        rated: Rated | None,
        phrase_mean: NDArray[np.float32],
        *,
        seed: int,
    ) -> None:
        self.model, self.options, self.lessons, self.rated = model, options, lessons, rated
        validation = min(_VALIDATED, len(lessons) // 10)
        self._validation = np.arange(len(lessons) - validation, len(lessons))
        self._drawn = drawn_rows(lessons.sources[: len(lessons) - validation], options.long)
        self._draw = NeighbourDraw(lessons.vectors[self._drawn], options.batch, seed)
        self._pairs = Draw(len(rated.ratings), options.rated, seed + 1) if rated else None
        self._shift = model.caption_mean - torch.from_numpy(phrase_mean)

    def losses(self, step: int, generator: np.random.Generator) -> Losses:
        rows, rated = np.unique(self._drawn[self._draw.batch(step)]), self._rated_rows(step)
        texts = [self.lessons.pieces[row] for row in rows]
        if self.rated is not None:
            texts += [side[row] for side in (self.rated.first, self.rated.second) for row in rated]
        made, hidden, parts = self._forward(texts)
        found = self._taught(made[: len(rows)], rows) | self._states(parts, hidden, rows)
        if self.rated is not None:
            first, second = made[len(rows) :].chunk(2)
            ratings = torch.from_numpy(self.rated.ratings[rated])
            found["ratings"] = 1.0 - correlation(functional.cosine_similarity(first, second), ratings)
        weights = {"sentences": 1.0, "pairs": self.options.pairs, "near": self.options.near}
        weights |= {"size": self.options.size, "states": self.options.states, "ratings": self.options.ratings}
        return {"loss": torch.stack([weights[name] * value for name, value in found.items()]).sum(), **found}

    def _rated_rows(self, step: int) -> Ints:
        return self._pairs.batch(step) if self._pairs else np.zeros(0, dtype=np.int64)

    def _forward(self, texts: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor, list[PieceGroup]]:
        """Sentence vectors of texts in their order, and the network's last states group by group."""
        parts = groups(texts)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            found = self.model(parts)
        places = torch.argsort(torch.cat([part.rows for part in parts]))
        return found.sentences.float()[places], found.hidden, parts

    def _taught(self, made: Tensor, rows: Ints) -> Losses:
        target = torch.from_numpy(self.lessons.vectors[rows].astype(np.float32)) - self.model.caption_mean
        phrase = torch.from_numpy(self.lessons.phrase[rows].astype(np.float32))[:, None] * self._shift
        pairs, near = likeness_errors(made, target)
        return {
            "sentences": (1.0 - functional.cosine_similarity(made + phrase, target + phrase)).mean(),
            "pairs": pairs,
            "near": near,
            "size": (made - target).square().sum(dim=1).mean() / target.square().sum(dim=1).mean(),
        }

    def _states(self, parts: Sequence[PieceGroup], hidden: Tensor, rows: Ints) -> Losses:
        """How far states are from the teacher's, where these are kept; both centred."""
        own, kept = [], []
        for part, flat in zip(parts, flat_parts(hidden, parts)):
            known = [i for i, row in enumerate(part.rows) if row < len(rows) and self.lessons.has_states(rows[row])]
            own.append(flat.view(*part.ids.shape, -1)[known][part.mask[known]])
            kept += [self.lessons.states(rows[part.rows[i]]) for i in known]
        if not kept:
            return {}
        with torch.autocast("cpu", dtype=torch.bfloat16):
            ours = self.model.state(torch.cat(own)).float()
        theirs = torch.from_numpy(np.concatenate(kept).astype(np.float32)) - self.model.state_mean
        size = (ours - theirs).square().mean() / theirs.square().mean()
        return {"states": (1.0 - functional.cosine_similarity(ours, theirs)).mean() + self.options.size * size}

    def validate(self) -> dict[str, float]:
        """Likeness to the teacher on texts that are not trained on; `agreement` is that of pairs."""
        rows = self._validation
        captions = rows[~self.lessons.phrase[rows]]
        made, _, _ = self._forward([self.lessons.pieces[row] for row in captions])
        target = torch.from_numpy(self.lessons.vectors[captions].astype(np.float32)) - self.model.caption_mean
        ours, theirs = (functional.normalize(side) for side in (made, target))
        upper = torch.triu_indices(len(captions), len(captions), 1)
        pairs = [(side @ side.T)[upper[0], upper[1]] for side in (ours, theirs)]
        return {"agreement": 100 * float(correlation(*pairs)), "cosine": float((ours * theirs).sum(dim=1).mean())}


def drawn_rows(sources: Sequence[str], long: int) -> Ints:
    """Rows of texts, those of several sentences more than once."""
    own = np.arange(len(sources))
    several = own[[source in LONG for source in sources]]
    return np.concatenate([own, *[several] * (long - 1)])


def likeness_errors(made: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Squared error of the cosines of all pairs in a batch, and of those that the teacher finds alike."""
    ours, theirs = functional.normalize(made), functional.normalize(target)
    wanted = theirs @ theirs.T
    errors = (ours @ ours.T - wanted).square()
    near = (wanted > _NEAR) & ~torch.eye(len(wanted), dtype=torch.bool)
    return errors.mean(), (errors * near).sum() / near.sum().clamp(min=1)


def correlation(a: Tensor, b: Tensor) -> Tensor:
    """Pearson's, differentiable."""
    return functional.cosine_similarity(a - a.mean(), b - b.mean(), dim=0)


def parameter_groups(model: EncoderModule, options: EncoderOptions) -> list[dict[str, Any]]:
    return [{"params": list(model.parameters()), "lr": options.rate}]
