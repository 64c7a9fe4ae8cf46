"""FAIEr-plus in torch: visual and textual nodes, fusion, and the parts of the score for all pairs of a batch.

Parameter names are those that `vericap.models.faier_plus.FaierPlusModel` reads; a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from vericap.core.typing import Array
from vericap.models.faier_plus import LEVELS, PARTS
from vericap.models.faier_plus.layout import NodeStates
from vericap.train.vse.network import whole_and_parts

TEXT_LEVELS = LEVELS[:2]


@dataclass
class CaptionTensors:
    """What the nodes of some captions are made from, caption after caption (models.faier_plus.layout.NodeStates)."""

    words: Tensor  # (words' pieces, d)
    word_counts: Tensor  # (captions,)
    relations: Tensor  # (relation nodes, d)
    relation_counts: Tensor
    sentences: Tensor  # (captions, d) centred unit vectors

    @classmethod
    def of(cls, states: NodeStates, sentences: Array) -> CaptionTensors:
        given = (states.words, states.word_counts, states.relations, states.relation_counts, sentences)
        return cls(*(torch.as_tensor(np.ascontiguousarray(value)) for value in given))

    @classmethod
    def joined(cls, blocks: Sequence[CaptionTensors]) -> CaptionTensors:
        return cls(*(torch.cat(values) for values in zip(*(vars(block).values() for block in blocks))))


@dataclass
class NodeTensors:
    """Textual nodes of one level, caption after caption: nothing is padded."""

    vectors: Tensor  # (nodes, d) unit vectors
    weights: Tensor  # (nodes,), sum to 1 for each caption that has any
    counts: Tensor  # (captions,)

    def owners(self) -> Tensor:
        """(nodes,): the caption of every node."""
        return torch.repeat_interleave(self.counts)

    def weighted(self, values: Tensor) -> Tensor:
        """(..., nodes) -> weighted sums (..., captions); 0 for a caption without nodes."""
        found = values.new_zeros(*values.shape[:-1], len(self.counts))
        return found.index_add(-1, self.owners(), values * self.weights)


@dataclass
class GivenReferences:
    """References of the images of a batch: those of the first image come first, then those of the second, ..."""

    block: CaptionTensors
    images: Tensor  # (references,), rising


class FaierPlusModule(nn.Module):
    """Visual and textual nodes, fusion, and the parts of the score for all pairs."""

    def __init__(self, hidden: int, d: int) -> None:
        super().__init__()
        self.visual = nn.ModuleDict({level: VisualLayer(d, hidden) for level in LEVELS})
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

    def nodes(self, block: CaptionTensors) -> dict[str, NodeTensors]:
        given = {
            "object": (block.words, block.word_counts),
            "relation": (block.relations, block.relation_counts),
        }
        found = {}
        for level, (states, counts) in given.items():
            weights = shares((states @ self.importance[level])[:, None], counts)[:, 0]
            found[level] = NodeTensors(F.normalize(self.text[level](states), dim=-1), weights, counts)
        return found

    def union(self, level: str, visual: Tensor, references: NodeTensors, images: Tensor) -> Tensor:
        """Union nodes; `images` says whose the references are."""
        owners = images[references.owners()]
        logits = self.temperature[level].exp() * torch.einsum("nd,nrd->nr", references.vectors, visual[owners])
        alpha = shares(logits, references.counts)
        context = torch.zeros_like(visual).index_add(0, owners, alpha[:, :, None] * references.vectors[:, None])
        count = torch.bincount(images, minlength=len(visual)).clamp(min=1)
        return F.normalize(visual + self.gate[level] * context / count[:, None, None], dim=-1)

    def seen(self, union: Tensor, nodes: NodeTensors, mask: Tensor | None = None) -> Tensor:
        """V of all pairs (images, captions); `mask` (images, regions) says which regions are there."""
        images, regions, d = union.shape
        similar = (union.reshape(-1, d) @ nodes.vectors.t()).view(images, regions, -1)
        if mask is not None and not bool(mask.all()):
            similar = similar.masked_fill(~mask[:, :, None], -torch.inf)
        return nodes.weighted(similar.amax(dim=1))

    def seen_sentence(self, union: Tensor, sentences: Tensor, mask: Tensor | None = None) -> Tensor:
        images, regions, d = union.shape
        cosines = (union.reshape(-1, d) @ sentences.t()).view(images, regions, -1)
        return whole_and_parts(cosines, self.sharpness.exp(), mask)

    def told(self, nodes: NodeTensors, references: NodeTensors, images: Tensor, count: int) -> tuple[Tensor, Tensor]:
        """T of all pairs and which of `count` images have references with nodes of this level."""
        owners = images[references.owners()]
        similar = references.vectors @ nodes.vectors.t()
        precision = nodes.weighted(most(similar, torch.bincount(owners, minlength=count)))
        best = most(similar.t().contiguous(), nodes.counts)  # (captions, nodes of references)
        used = torch.bincount(images[references.counts > 0], minlength=count)
        recall = torch.zeros(count, len(nodes.counts))
        recall = recall.index_add(0, owners, (best * references.weights).t()) / used.clamp(min=1)[:, None]
        return (precision + recall) / 2, used > 0

    def calibrated(self, part: str, level: str, values: Tensor) -> Tensor:
        slope, offset = self.calibration[PARTS.index(part), LEVELS.index(level)]
        return slope * values + offset

    def parts(
        self,
        visual: dict[str, Tensor],
        candidates: CaptionTensors,
        references: GivenReferences | None = None,
        mask: Tensor | None = None,
    ) -> tuple[dict[tuple[str, str], tuple[Tensor, Tensor]], Tensor]:
        """Calibrated parts {(part, level): (values, where they hold)} of all pairs, and the score."""
        own, images = self.nodes(candidates), len(visual["object"])
        told_by = self.nodes(references.block) if references else {}
        count = torch.bincount(references.images, minlength=images) if references else torch.zeros(images)
        with_references = (count > 0)[:, None]
        found: dict[tuple[str, str], tuple[Tensor, Tensor]] = {}
        total, weight = torch.zeros(()), torch.zeros(())
        for level in LEVELS:
            union, told, told_holds = visual[level], torch.zeros(()), count > 0
            if level == "sentence":
                holds = torch.ones(len(candidates.sentences), dtype=torch.bool)
                if references:
                    sums = torch.zeros_like(union[:, 0])
                    sums = sums.index_add(0, references.images, references.block.sentences)
                    mean = sums / count.clamp(min=1)[:, None]
                    union = F.normalize(union + self.gate[level] * mean[:, None], dim=-1)
                    told = mean @ candidates.sentences.t()
                values = self.seen_sentence(union, candidates.sentences, mask)
            else:
                holds = own[level].counts > 0
                if references:
                    union = self.union(level, union, told_by[level], references.images)
                    told, told_holds = self.told(own[level], told_by[level], references.images, images)
                values = self.seen(union, own[level], mask)
            alone = self.calibrated("alone", level, values)
            guided = self.calibrated("seen", level, values)
            told = self.calibrated("told", level, told.expand_as(values))
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
        return {name: value.detach().cpu().numpy().copy() for name, value in self._named().items()}

    def begin_with(self, weights: Mapping[str, Array]) -> None:
        """Take over the weights of a written model."""
        with torch.no_grad():
            for name, value in self._named().items():
                value.copy_(torch.from_numpy(np.asarray(weights[name], dtype=np.float32)))

    def _named(self) -> dict[str, Tensor]:
        found: dict[str, Tensor] = {"offset": self.offset, "mix": self.mix, "sharpness": self.sharpness}
        for level, visual in self.visual.items():
            assert isinstance(visual, VisualLayer)
            found[f"{level}.linear"], found[f"{level}.bias"] = visual.linear.weight, visual.linear.bias
            found[f"{level}.hidden"], found[f"{level}.hidden_bias"] = visual.hidden.weight, visual.hidden.bias
            found[f"{level}.output"] = visual.output.weight
        for level, layer in self.text.items():
            assert isinstance(layer, nn.Linear)
            found[f"text.{level}"], found[f"text.{level}_bias"] = layer.weight, layer.bias
        for name in ("importance", "temperature", "gate"):
            found.update({f"{name}.{level}": value for level, value in getattr(self, name).items()})
        found["calibration"] = self.calibration
        return found


def shares(values: Tensor, counts: Tensor) -> Tensor:
    """Softmax of (nodes, ...) over each caption's nodes."""
    owners = torch.repeat_interleave(counts)
    raised = (values - torch.segment_reduce(values.detach(), "max", lengths=counts)[owners]).exp()
    return raised / raised.new_zeros(len(counts), *values.shape[1:]).index_add(0, owners, raised)[owners]


def most(values: Tensor, counts: Tensor) -> Tensor:
    """Maxima of cosines (rows, ...) over runs of rows; -1 for a run of none."""
    return torch.segment_reduce(values, "max", lengths=counts, initial=-1.0)


class VisualLayer(nn.Module):
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
