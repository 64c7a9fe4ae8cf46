"""The discriminator in torch (formula: models.learn_to_eval)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from vericap.core.shipped import save_weights, write_meta
from vericap.models.learn_to_eval import PART

SIDES = ("caption", "image", "reference")


class Discriminator(nn.Module):
    """Vectors of caption, image and references, and word pairs in; the log odds of a human caption out."""

    def __init__(self, space: int, width: int = 64, buckets: int = 8192, pairs: int = 24, hidden: int = 64) -> None:
        super().__init__()
        self.caption, self.image, self.reference = (nn.Linear(space, width, bias=False) for _ in SIDES)
        self.pairs = nn.EmbeddingBag(buckets, pairs, mode="mean")
        nn.init.normal_(self.pairs.weight, std=0.3)
        self.hidden = nn.Linear(5 * width + pairs + 3, hidden)
        self.output = nn.Linear(hidden, 1)
        self.dropout = nn.Dropout(0.2)

    def forward(
        self,
        captions: torch.Tensor,
        images: torch.Tensor,
        references: torch.Tensor,
        known: torch.Tensor,
        pairs: Sequence[Sequence[int]],
    ) -> torch.Tensor:
        """(n, d) each, (n,) whether there are references, and the numbers of the captions' word pairs -> (n,)."""
        c, v, r = self.caption(captions), self.image(images), self.reference(references)
        numbers = torch.as_tensor(np.concatenate([np.asarray(own, dtype=np.int64) for own in pairs]))
        starts = torch.as_tensor(np.cumsum([0, *map(len, pairs[:-1])]))
        cosines = [(captions * other).sum(dim=1, keepdim=True) for other in (images, references)]
        x = torch.cat([c, v, r, c * v, c * r, self.pairs(numbers, starts), *cosines, known[:, None].float()], dim=1)
        found: torch.Tensor = self.output(self.dropout(torch.relu(self.hidden(x))))[:, 0]
        return found


def save_discriminator(model: Discriminator, folder: Path, about: dict[str, Any]) -> None:
    """Write `learn_to_eval.safetensors` (8-bit matrices) and its meta.json."""
    weights = {
        **{side: getattr(model, side).weight for side in SIDES},
        "pairs": model.pairs.weight,
        "hidden": model.hidden.weight,
        "hidden_bias": model.hidden.bias,
        "output": model.output.weight[0],
        "output_bias": model.output.bias[0],
    }
    save_weights({name: value.detach().cpu().numpy() for name, value in weights.items()}, folder, PART)
    write_meta(folder, {**about, "licence": "Apache-2.0", "source": "trained by `vericap train learn-to-eval`"})
