"""FAIEr-plus in torch: visual and textual nodes, fusion, and the parts of the score for all pairs of a batch.

Parameter names are those that `vericap.models.faier_plus.FaierPlus` reads; a test holds the two together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from vericap.models.faier_plus import LEVELS, PARTS
from vericap.models.faier_text import Texts

Array = NDArray[Any]
TEXT_LEVELS = LEVELS[:2]


@dataclass
class Block:
    """Padded captions as tensors (models.faier_text.Texts)."""

    states: Tensor
    mask: Tensor
    averages: Tensor
    sentences: Tensor

    @classmethod
    def of(cls, texts: Texts) -> Block:
        return cls(*(torch.from_numpy(np.ascontiguousarray(value)) for value in vars(texts).values()))


@dataclass
class Nodes:
    vectors: Tensor  # (captions, nodes, d)
    mask: Tensor
    weights: Tensor


class FaierPlusModule(nn.Module):
    """Visual and textual nodes, fusion, and the parts of the score for all pairs."""

    def __init__(self, hidden: int = 384, d: int = 384) -> None:
        super().__init__()
        self.visual = nn.ModuleDict({level: Visual(d, hidden) for level in LEVELS})
        self.offset = nn.Parameter(0.1 * torch.randn(4))
        self.mix = nn.Parameter(torch.zeros(d, d))
        self.text = nn.ModuleDict({level: nn.Linear(d, d) for level in TEXT_LEVELS})
        self.importance = nn.ParameterDict({level: nn.Parameter(torch.zeros(d)) for level in TEXT_LEVELS})
        self.temperature = nn.ParameterDict({level: nn.Parameter(torch.tensor(2.3)) for level in LEVELS})
        self.gate = nn.ParameterDict({level: nn.Parameter(torch.tensor(0.3)) for level in LEVELS})
        self.sharpness = nn.Parameter(torch.tensor(2.3))
        self.calibration = nn.Parameter(torch.tensor([[[1.0, 0.0]] * len(LEVELS)] * len(PARTS)))
        self.contrast = nn.Parameter(torch.tensor(3.0))

    def start_from(self, token_mean: Array) -> None:
        """Words begin as centred token states: the space the regions are in already."""
        with torch.no_grad():
            for layer in self.text.values():
                assert isinstance(layer, nn.Linear)
                layer.weight.copy_(torch.eye(len(layer.weight)))
                layer.bias.copy_(-torch.from_numpy(token_mean.astype(np.float32)))

    def regions(self, embedded: Tensor, boxes: Tensor, mask: Tensor) -> dict[str, Tensor]:
        found = {level: self.visual[level](embedded) for level in LEVELS}
        place = boxes @ self.offset
        pull = torch.tanh(place[:, :, None] - place[:, None, :]).masked_fill(~mask[:, None, :], -torch.inf)
        mixed = torch.softmax(pull, dim=-1) @ found["relation"]
        found["relation"] = found["relation"] + mixed @ self.mix.t()
        return {level: F.normalize(values, dim=-1) * mask[..., None] for level, values in found.items()}

    def nodes(self, block: Block) -> dict[str, Nodes]:
        given = {
            "object": (block.states, block.mask),
            "relation": (block.averages @ block.states, block.averages.sum(dim=-1) > 0),
        }
        found = {}
        for level, (states, mask) in given.items():
            logits = (states @ self.importance[level]).masked_fill(~mask, -1e9)
            weights = torch.softmax(logits, dim=-1) * mask
            found[level] = Nodes(F.normalize(self.text[level](states), dim=-1) * mask[..., None], mask, weights)
        return found

    def union(self, level: str, visual: Tensor, references: list[tuple[Nodes, Tensor]], count: Tensor) -> Tensor:
        """`references` holds the j-th reference of every image and whether it is there."""
        total = torch.zeros_like(visual)
        for nodes, there in references:
            logits = self.temperature[level].exp() * (visual @ nodes.vectors.transpose(1, 2))
            alpha = torch.softmax(logits.masked_fill(~nodes.mask[:, None, :], -1e9), dim=-1)
            use = there & nodes.mask.any(dim=1)
            total = total + (alpha @ nodes.vectors) * use[:, None, None]
        mean = total / count.clamp(min=1)[:, None, None]
        return F.normalize(visual + self.gate[level] * mean, dim=-1)

    def seen(self, union: Tensor, nodes: Nodes) -> Tensor:
        """V of all pairs (images, captions)."""
        images, regions, d = union.shape
        captions, count, _ = nodes.vectors.shape
        similar = union.reshape(-1, d) @ nodes.vectors.reshape(-1, d).t()
        best = similar.view(images, regions, captions, count).amax(dim=1)
        return (best * nodes.weights[None]).sum(dim=-1)

    def seen_sentence(self, union: Tensor, sentences: Tensor) -> Tensor:
        images, regions, d = union.shape
        cosines = (union.reshape(-1, d) @ sentences.t()).view(images, regions, -1)
        weights = torch.softmax(self.sharpness.exp() * cosines[:, 1:], dim=1)
        return 0.5 * cosines[:, 0] + 0.5 * (weights * cosines[:, 1:]).sum(dim=1)

    def told(self, nodes: Nodes, references: list[tuple[Nodes, Tensor]]) -> tuple[Tensor, Tensor]:
        """T of all pairs and which images have references with nodes of this level."""
        captions, count, d = nodes.vectors.shape
        flat = nodes.vectors.reshape(-1, d).t()
        precision = flat.new_full((len(references[0][1]), captions, count), -1.0)
        recall_sum, used = torch.zeros(len(precision), captions), torch.zeros(len(precision))
        for reference, there in references:
            use = there & reference.mask.any(dim=1)
            similar = (reference.vectors.reshape(-1, d) @ flat).view(*reference.mask.shape, captions, count)
            inside = reference.mask[:, :, None, None] & use[:, None, None, None]
            precision = torch.maximum(precision, similar.masked_fill(~inside, -1.0).amax(dim=1))
            best = similar.masked_fill(~nodes.mask[None, None], -1.0).amax(dim=-1)
            recall_sum = recall_sum + (best * (reference.weights * use[:, None])[:, :, None]).sum(dim=1)
            used = used + use
        value = (precision * nodes.weights[None]).sum(dim=-1) + recall_sum / used.clamp(min=1)[:, None]
        return value / 2, used > 0

    def calibrated(self, part: str, level: str, values: Tensor) -> Tensor:
        slope, offset = self.calibration[PARTS.index(part), LEVELS.index(level)]
        return slope * values + offset

    def parts(
        self,
        visual: dict[str, Tensor],
        candidates: Block,
        references: list[tuple[Block, Tensor]],
    ) -> tuple[dict[tuple[str, str], tuple[Tensor, Tensor]], Tensor]:
        """Calibrated parts {(part, level): (values, where they hold)} of all pairs, and the score."""
        own = self.nodes(candidates)
        told_by = [(self.nodes(block), block.sentences, there) for block, there in references]
        count = (
            torch.stack([there for *_, there in told_by]).sum(dim=0) if told_by else torch.zeros(len(visual["object"]))
        )
        found: dict[tuple[str, str], tuple[Tensor, Tensor]] = {}
        total, weight = torch.zeros(()), torch.zeros(())
        for level in LEVELS:
            if level == "sentence":
                holds = torch.ones(len(candidates.sentences), dtype=torch.bool)
                sums = sum((s * there[:, None] for _, s, there in told_by), torch.zeros_like(visual[level][:, 0]))
                mean = sums / count.clamp(min=1)[:, None]
                union = F.normalize(visual[level] + self.gate[level] * mean[:, None], dim=-1)
                values = self.seen_sentence(union, candidates.sentences)
                spoken, told_holds = mean @ candidates.sentences.t(), count > 0
            else:
                holds = own[level].mask.any(dim=1)
                nodes = [(text[level], there) for text, _, there in told_by]
                values = self.seen(self.union(level, visual[level], nodes, count), own[level])
                spoken, told_holds = self.told(own[level], nodes) if nodes else (torch.zeros_like(values), count > 0)
            with_references = (count > 0)[:, None].expand_as(values)
            alone = self.calibrated("alone", level, values)
            guided = self.calibrated("seen", level, values)
            told = self.calibrated("told", level, spoken)
            both = told_holds[:, None] & holds[None]
            every = holds[None].expand_as(values)
            found["alone", level] = alone, ~with_references & every
            found["seen", level] = guided, with_references & every
            found["told", level] = told, both
            one = torch.where(with_references, torch.where(both, (guided + told) / 2, guided), alone)
            total, weight = total + torch.where(every, one, 0.0), weight + every.float()
        return found, total / weight.clamp(min=1)

    def weights(self) -> dict[str, Array]:
        """What scoring needs, as arrays."""
        found: dict[str, Tensor] = {"offset": self.offset, "mix": self.mix, "sharpness": self.sharpness}
        for level, visual in self.visual.items():
            assert isinstance(visual, Visual)
            found[f"{level}.linear"], found[f"{level}.bias"] = visual.linear.weight, visual.linear.bias
            found[f"{level}.hidden"], found[f"{level}.hidden_bias"] = visual.hidden.weight, visual.hidden.bias
            found[f"{level}.output"] = visual.output.weight
        for level, layer in self.text.items():
            assert isinstance(layer, nn.Linear)
            found[f"text.{level}"], found[f"text.{level}_bias"] = layer.weight, layer.bias
        for name in ("importance", "temperature", "gate"):
            found.update({f"{name}.{level}": value for level, value in getattr(self, name).items()})
        found["calibration"] = self.calibration
        return {name: value.detach().numpy().copy() for name, value in found.items()}


class Visual(nn.Module):
    """Regions of one level: the sentence space, adjusted."""

    def __init__(self, d: int, hidden: int) -> None:
        super().__init__()
        self.linear = nn.Linear(d, d)
        self.hidden = nn.Linear(d, hidden)
        self.output = nn.Linear(hidden, d, bias=False)
        nn.init.eye_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)
        nn.init.zeros_(self.output.weight)

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.linear(x) + self.output(F.relu(self.hidden(x)))
        return found
