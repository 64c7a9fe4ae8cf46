"""The image-sentence encoder in torch: a head that maps windows into the sentence space (formula: models.vse)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from vericap.core.errors import VericapError
from vericap.core.shipped import save_weights, write_meta
from vericap.core.typing import Array


class VseHead(nn.Module):
    """Windows into the sentence space, and the score of captions."""

    def __init__(self, width: int, space: int, hidden: int = 768) -> None:
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
        """Take over the weights of a written encoder (`vse.safetensors`).

        Features that have grown at their end (cells after the map's channels) begin without weight.
        """
        with torch.no_grad():
            for name in ("linear", "hidden", "output"):
                layer, given = getattr(self, name), np.asarray(weights[name], dtype=np.float32)
                grown = layer.weight.shape[1] - given.shape[1]
                if name != "output" and grown > 0:
                    given = np.pad(given, ((0, 0), (0, grown)))
                if layer.weight.shape != given.shape:
                    raise VericapError(
                        f"the encoder to begin with has a layer '{name}' of shape {weights[name].shape}, not "
                        f"{tuple(layer.weight.shape)}: features of another width, or other options"
                    )
                layer.weight.copy_(torch.from_numpy(given))
                layer.bias.copy_(torch.from_numpy(np.asarray(weights[f"{name}_bias"], dtype=np.float32)))
            self.sharpness.fill_(float(np.log(weights["sharpness"])))

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        x = self.norm(features)
        return F.normalize(self.linear(x) + self.output(F.relu(self.hidden(x))), dim=-1)

    def score(self, regions: torch.Tensor, texts: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """(images, regions, d) and (captions, d) -> (images, captions); `mask` (images, regions): which are there."""
        images, count, width = regions.shape
        cosines = (regions.reshape(images * count, width) @ texts.t()).view(images, count, -1)
        return whole_and_parts(cosines, self.sharpness.exp(), mask)


def whole_and_parts(cosines: torch.Tensor, sharpness: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
    """Half the whole image (region 0), half the other regions, the better ones weighing more: (images, regions,
    captions) -> (images, captions). An image with no region besides itself is the whole image alone."""
    whole, windows = cosines[:, 0], cosines[:, 1:]
    if not windows.shape[1]:
        return whole
    logits = windows * sharpness
    if mask is None or bool(mask.all()):
        return 0.5 * whole + 0.5 * (torch.softmax(logits, dim=1) * windows).sum(dim=1)
    inside = mask[:, 1:, None]
    some = inside.any(dim=1)
    weights = torch.softmax(logits.masked_fill(~inside & some[:, None], -torch.inf), dim=1)
    return 0.5 * whole + 0.5 * torch.where(some, (weights * windows).sum(dim=1), whole)


class HeadedModule(nn.Module):
    """A network that ends in a head: images in, windows in the sentence space out."""

    head: VseHead


class VseModule(HeadedModule):
    """The head alone, on regions (n, regions, width) of a finished extractor."""

    def __init__(self, width: int, space: int, hidden: int, start: Mapping[str, Array] | None = None) -> None:
        super().__init__()
        self.head = VseHead(width, space, hidden)
        if start is not None:
            self.head.begin_with(start)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.head(features)
        return found


def save_encoder(head: VseHead, folder: Path, about: dict[str, Any]) -> None:
    """Write `vse.safetensors` (8-bit matrices) and its meta.json; `about` says name, fingerprint and more."""
    weights = {
        "linear": head.linear.weight,
        "linear_bias": head.linear.bias,
        "hidden": head.hidden.weight,
        "hidden_bias": head.hidden.bias,
        "output": head.output.weight,
        "output_bias": head.output.bias,
        "sharpness": head.sharpness.exp(),
    }
    save_weights({key: value.detach().cpu().numpy() for key, value in weights.items()}, folder, "vse")
    source = "trained by `vericap train backbone`, `vericap train vse`"
    write_meta(folder, {**about, "licence": "Apache-2.0", "source": source})
