"""Visual words in torch (formulas: models.visual_words): a head for the whole photo, one for its cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from vericap.core.typing import Floats32


def log_odds(shares: Floats32) -> Tensor:
    """Of entries by how often they are said."""
    bounded = np.clip(shares, 1e-5, 1 - 1e-5)
    return torch.from_numpy(np.log(bounded / (1 - bounded)).astype(np.float32))


class WholeModule(nn.Module):
    """What people say of a photo, from the mean of the backbone's map."""

    def __init__(self, prior: Floats32, *, width: int = 1280, hidden: int = 640, dropout: float = 0.3) -> None:
        super().__init__()
        self.hidden = nn.Linear(width, hidden)
        self.words = nn.Linear(hidden, len(prior))
        self.dropout = nn.Dropout(dropout)
        with torch.no_grad():
            self.words.bias.copy_(log_odds(prior))
            self.words.weight.mul_(0.3)

    def forward(self, means: Tensor) -> Tensor:
        """Logits (photos, entries) from standardised means (photos, width)."""
        found: Tensor = self.words(self.dropout(torch.relu(self.hidden(self.dropout(means)))))
        return found


@dataclass(frozen=True)
class Seen:
    """What the network says of the cells of photos."""

    cells: Tensor  # (photos, cells, space)
    objects: Tensor  # (photos, cells): whether an object has its middle near
    sides: Tensor  # (photos, cells, 4): from the cell's middle to the left, top, right and bottom of its box, shares


class CellsModule(nn.Module):
    """Cells of the finer map in a space of words, and a box for every cell."""

    def __init__(
        self, prior: Floats32, *, middle: int = 120, last: int = 352, hidden: int = 256, space: int = 128
    ) -> None:
        super().__init__()
        self.middle = nn.Linear(middle, hidden)
        self.last = nn.Linear(last, hidden, bias=False)
        self.space = nn.Linear(hidden, space)
        self.words = nn.Embedding(len(prior), space)
        self.bias = nn.Parameter(log_odds(prior))
        self.box = nn.Linear(hidden, 5)
        with torch.no_grad():
            self.words.weight.mul_(0.3 / space**0.5)
            self.box.bias.copy_(torch.tensor([-3.0, -1.5, -1.5, -1.5, -1.5]))

    def forward(self, middle: Tensor, last: Tensor) -> Seen:
        """`middle` (photos, cells, channels) and `last` (photos, cells / 4, channels), both standardised."""
        hidden = torch.relu(self.middle(middle) + doubled(self.last(last)))
        box = self.box(hidden)
        return Seen(self.space(hidden), box[..., 0], nn.functional.softplus(box[..., 1:]))

    def at_cells(self, cells: Tensor, entries: Tensor) -> Tensor:
        """Logits of every cell: of the same entries (m,) for all photos, or of each photo's own (photos, m)."""
        weights, bias = self.words(entries), self.bias[entries]
        if entries.dim() == 1:
            found: Tensor = cells @ weights.t() + bias
            return found
        return torch.baddbmm(bias[:, None], cells, weights.transpose(1, 2))


def pooled(logits: Tensor) -> Tensor:
    """Logits of photos from those of their cells (photos, cells, entries): the log of the mean of the exponentials."""
    return logits.logsumexp(dim=1) - float(np.log(logits.shape[1]))


def doubled(coarse: Tensor) -> Tensor:
    """Cells of a square map twice in both directions."""
    photos, cells, width = coarse.shape
    side = round(cells**0.5)
    grid = coarse.view(photos, side, 1, side, 1, width).expand(photos, side, 2, side, 2, width)
    return grid.reshape(photos, cells * 4, width)
