"""The image-sentence encoder in torch: a head that maps windows into the sentence space (formula: models.vse)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from vericap.core.shipped import write_meta
from vericap.core.typing import Array


class VseHead(nn.Module):
    """Windows into the sentence space, and the score of captions."""

    def __init__(self, width: int = 1280, space: int = 384, hidden: int = 768) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width, elementwise_affine=False)
        self.linear = nn.Linear(width, space)
        self.hidden = nn.Linear(width, hidden)
        self.output = nn.Linear(hidden, space)
        nn.init.zeros_(self.output.weight)
        self.sharpness = nn.Parameter(torch.tensor(2.3))
        self.scale = nn.Parameter(torch.tensor(1.0))
        self.bias = nn.Parameter(torch.tensor(0.0))
        self.temperature = nn.Parameter(torch.tensor(3.0))

    def begin_with(self, weights: Mapping[str, Array]) -> None:
        """Take over the weights of a written encoder (`vse.safetensors`)."""
        with torch.no_grad():
            for name in ("linear", "hidden", "output"):
                layer = getattr(self, name)
                layer.weight.copy_(torch.from_numpy(np.asarray(weights[name], dtype=np.float32)))
                layer.bias.copy_(torch.from_numpy(np.asarray(weights[f"{name}_bias"], dtype=np.float32)))
            self.sharpness.fill_(float(np.log(weights["sharpness"])))

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        x = self.norm(features)
        return F.normalize(self.linear(x) + self.output(F.relu(self.hidden(x))), dim=-1)

    def score(self, regions: torch.Tensor, texts: torch.Tensor) -> torch.Tensor:
        """(images, regions, d) and (captions, d) -> (images, captions)."""
        images, count, width = regions.shape
        cosines = (regions.reshape(images * count, width) @ texts.t()).view(images, count, -1)
        weights = torch.softmax(cosines[:, 1:] * self.sharpness.exp(), dim=1)
        return 0.5 * cosines[:, 0] + 0.5 * (weights * cosines[:, 1:]).sum(dim=1)


class HeadedModule(nn.Module):
    """A network that ends in a head: images in, windows in the sentence space out."""

    head: VseHead


class VseModule(HeadedModule):
    """The head alone, on pooled windows (n, windows, 1280) of a finished backbone."""

    def __init__(self, hidden: int, start: Mapping[str, Array] | None = None) -> None:
        super().__init__()
        self.head = VseHead(hidden=hidden)
        if start is not None:
            self.head.begin_with(start)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.head(features)
        return found


def save_encoder(head: VseHead, folder: Path, features: str, *, name: str, trained: dict[str, Any]) -> None:
    """Write `vse.safetensors` (float16) and its meta.json; `features` is the extractor's fingerprint."""
    from safetensors.numpy import save_file

    folder.mkdir(parents=True, exist_ok=True)
    weights = {
        "linear": head.linear.weight,
        "linear_bias": head.linear.bias,
        "hidden": head.hidden.weight,
        "hidden_bias": head.hidden.bias,
        "output": head.output.weight,
        "output_bias": head.output.bias,
        "sharpness": head.sharpness.exp(),
    }
    halved = {key: value.detach().numpy().astype(np.float16) for key, value in weights.items()}
    save_file(halved, folder / "vse.safetensors")
    describe = {
        "name": name,
        "fingerprint": features,
        "licence": "Apache-2.0",
        "source": "trained by `vericap train backbone`, `vericap train vse`; text side: the shipped sentence encoder",
        "trained": trained,
    }
    write_meta(folder, describe)
