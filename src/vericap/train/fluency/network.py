"""The network of `vericap.models.fluency` in torch."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from vericap.core.typing import Floats
from vericap.models.fluency import DILATIONS, GOOD, KINDS, WIDTH
from vericap.models.fluency_words import FLAG_BITS


class FluencyNetwork(nn.Module):
    """Classes and flags of tokens -> log chances of every kind of error."""

    def __init__(self, classes: int, *, embedding: int = 48, hidden: int = 96) -> None:
        super().__init__()
        self.classes = nn.Embedding(classes, embedding)
        self.flags = nn.Linear(FLAG_BITS, embedding, bias=False)
        self.first = nn.Conv1d(embedding, hidden, WIDTH, padding=WIDTH // 2)
        self.second, self.third = (nn.Conv1d(hidden, hidden, 3, padding=d, dilation=d) for d in DILATIONS)
        self.dropout = nn.Dropout(0.05)
        self.out = nn.Linear(hidden, len(KINDS))
        nn.init.normal_(self.classes.weight, std=0.3)
        nn.init.zeros_(self.out.weight)
        with torch.no_grad():
            self.out.bias.zero_()[GOOD] = 5.0  # few tokens are wrong

    def forward(self, classes: Tensor, flags: Tensor, inside: Tensor) -> Tensor:
        """Log chances (sentences, tokens, kinds); `inside` is 1 on tokens and 0 on what fills a row up."""
        bits = (flags[..., None] >> torch.arange(FLAG_BITS)) & 1
        mask = inside[:, None]
        state = (self.classes(classes) + self.flags(bits.float())) * inside[..., None]
        state = torch.relu(self.first(state.transpose(1, 2))) * mask
        for layer in (self.second, self.third):
            state = (state + self.dropout(torch.relu(layer(state)))) * mask
        return torch.log_softmax(self.out(state.transpose(1, 2)), dim=-1)


def sentence_log(found: Tensor, inside: Tensor) -> Tensor:
    """Log of the chance that no token of a sentence is wrong; its start never is."""
    return (found[..., GOOD] * inside)[:, 1:].sum(dim=1)


def arrays(network: FluencyNetwork) -> dict[str, Floats]:
    """Weights in the shapes that `vericap.models.fluency` reads."""
    found = {"classes": network.classes.weight, "flags": network.flags.weight.T}
    for name in ("first", "second", "third"):
        layer = getattr(network, name)
        found |= {name: layer.weight.permute(2, 1, 0), f"{name}.bias": layer.bias}
    found |= {"out": network.out.weight.T, "out.bias": network.out.bias}
    return {name: np.ascontiguousarray(value.detach().numpy()) for name, value in found.items()}
