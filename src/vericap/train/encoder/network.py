"""The caption encoder as torch sees it: word pieces, thin attention layers, a weighted mean, two linear heads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from vericap.text.encoders.base import LENGTH

WIDTH = 384  # of sentence vectors and states, as the teacher's


@dataclass(frozen=True)
class EncoderConfig:
    """Sizes of the network."""

    pieces: int
    width: int = 256
    layers: int = 1
    heads: int = 4
    inner: int = 512


@dataclass(frozen=True)
class PieceGroup:
    """Texts of like length, padded: `rows` are their places in the batch."""

    rows: Tensor
    ids: Tensor
    mask: Tensor


@dataclass(frozen=True)
class Encoded:
    """What the network says of groups of texts: `sentences` (texts, 384) and `hidden` (pieces, width), flat."""

    sentences: Tensor
    hidden: Tensor


class Layer(nn.Module):
    """One pre-norm transformer block."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        width = config.width
        self.heads = config.heads
        self.before_attention, self.before_inner = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.inner, self.outer = nn.Linear(width, config.inner), nn.Linear(config.inner, width)

    def forward(self, x: Tensor, groups: Sequence[PieceGroup]) -> Tensor:
        parts = flat_parts(self.qkv(self.before_attention(x)), groups)
        x = x + self.out(torch.cat([self.attended(qkv, group) for qkv, group in zip(parts, groups)]))
        found: Tensor = x + self.outer(torch.relu(self.inner(self.before_inner(x))))
        return found

    def attended(self, qkv: Tensor, group: PieceGroup) -> Tensor:
        """Attention among the pieces of each text; written out, because the fused one is slow backwards."""
        texts, length = group.ids.shape
        query, key, value = qkv.view(texts, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        likeness = (query @ key.transpose(-1, -2)) * query.shape[-1] ** -0.5
        shares = likeness.masked_fill(~group.mask[:, None, None, :], -1e4).softmax(dim=-1).to(value.dtype)
        found: Tensor = (shares @ value).transpose(1, 2).reshape(texts * length, -1)
        return found


def flat_parts(x: Tensor, groups: Sequence[PieceGroup]) -> tuple[Tensor, ...]:
    """Rows of each group's pieces."""
    return torch.split(x, [group.ids.numel() for group in groups])


class EncoderModule(nn.Module):
    """A small network that says what the teacher says.

    A piece's vector is the teacher's own input vector, projected, plus a learned difference: pieces that training
    never met move with the projection. Both are folded into one table when the network is written.
    """

    teacher: Tensor
    caption_mean: Tensor
    state_mean: Tensor

    def __init__(
        self,
        config: EncoderConfig,
        teacher: NDArray[np.float32],
        caption_mean: NDArray[np.float32],
        state_mean: NDArray[np.float32],
    ) -> None:
        super().__init__()
        self.config = config
        self.register_buffer("teacher", torch.from_numpy(teacher), persistent=False)
        self.register_buffer("caption_mean", torch.from_numpy(caption_mean), persistent=False)
        self.register_buffer("state_mean", torch.from_numpy(state_mean), persistent=False)
        self.project = nn.Linear(WIDTH, config.width, bias=False)
        self.project.weight.data.copy_(torch.from_numpy(principal(teacher, config.width)))
        self.differences = nn.Parameter(torch.zeros(config.pieces, config.width))
        self.places = nn.Parameter(torch.randn(LENGTH, config.width) * 0.02)
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.layers))
        self.last = nn.LayerNorm(config.width)
        self.piece_weight = nn.Parameter(torch.zeros(config.pieces, config.heads))
        self.weight = nn.Linear(config.width, config.heads)
        self.sentence = nn.Linear(config.width, WIDTH)
        self.state = nn.Linear(config.width, WIDTH)
        nn.init.zeros_(self.weight.weight)
        self.sentence.weight.data.mul_(0.05)  # centred vectors are short

    def forward(self, groups: Sequence[PieceGroup]) -> Encoded:
        ids = torch.cat([group.ids.flatten() for group in groups])
        known, places = torch.unique(ids, return_inverse=True)
        x = (self.project(self.teacher[known]) + functional.embedding(known, self.differences))[places]
        x = x + torch.cat([self.places[: group.ids.shape[1]].repeat(len(group.ids), 1) for group in groups])
        for layer in self.layers:
            x = layer(x, groups)
        hidden = self.last(x)
        logits = self.weight(hidden) + functional.embedding(ids, self.piece_weight)
        parts = zip(flat_parts(hidden, groups), flat_parts(logits, groups), groups)
        return Encoded(self.sentence(torch.cat([self.pooled(*part) for part in parts])), hidden)

    def pooled(self, hidden: Tensor, logits: Tensor, group: PieceGroup) -> Tensor:
        """Weighted mean over the pieces; every head weighs its own part of the width."""
        texts, length = group.ids.shape
        shares = logits.view(texts, length, -1).masked_fill(~group.mask[..., None], -1e4).softmax(dim=1)
        parts = hidden.view(texts, length, self.config.heads, -1) * shares[..., None]
        return parts.sum(dim=1).reshape(texts, -1)

    def table(self) -> Tensor:
        """Vectors of all pieces."""
        found: Tensor = self.project(self.teacher) + self.differences
        return found


def principal(vectors: NDArray[np.float32], width: int) -> NDArray[np.float32]:
    """The `width` directions (rows) in which vectors differ most, scaled so that projected values are about 0.5."""
    centred = vectors - vectors.mean(axis=0)
    _, directions = np.linalg.eigh(centred.T @ centred)
    chosen = directions[:, ::-1][:, :width].T
    found: NDArray[np.float32] = (chosen * (0.5 / np.std(centred @ chosen.T))).astype(np.float32)
    return found
