"""FAIEr in torch: the module that learns, and a training step over all image-caption pairs of a batch.

Parameter names are those that `vericap.models.faier.Faier` reads; a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import normalize
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from vericap.models.faier import EMPTY, UNKNOWN, Config, Faier

LEVELS = ("object", "relation")


@dataclass
class Text:
    """Padded textual nodes of captions (captions, nodes, d) with a mask."""

    nodes: Tensor
    mask: Tensor

    def rows(self, which: Tensor) -> Text:
        return Text(self.nodes[which], self.mask[which])


class FaierModule(nn.Module):
    """Visual encoder, textual encoders, fusion; all B x B scores in a few matrix products."""

    def __init__(self, config: Config, vocabulary: Sequence[str]) -> None:
        super().__init__()
        self.config, self.vocabulary = config, list(vocabulary)
        self._ids = {word: number for number, word in enumerate(self.vocabulary)}
        d, half = config.d, config.d // 2
        self.embedding = nn.Embedding(len(self.vocabulary), config.words)
        self.words = nn.GRU(config.words, half, batch_first=True, bidirectional=True)
        self.triplets = nn.GRU(config.words, half, batch_first=True, bidirectional=True)
        self.visual = nn.Sequential(nn.Linear(config.width, d), nn.Tanh(), nn.Linear(d, d))
        self.offset = nn.Linear(4, 1, bias=False)
        self.relation = nn.Linear(d, d, bias=False)
        self.attention = nn.ModuleDict({level: nn.Linear(d, 1, bias=False) for level in LEVELS})
        self.memory = nn.ModuleDict({level: nn.GRU(d, d, batch_first=True) for level in LEVELS})
        self.union = nn.ModuleDict({level: nn.Linear(2 * d, d) for level in LEVELS})
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)

    @property
    def levels(self) -> tuple[str, ...]:
        return LEVELS[:1] if self.config.variant == "faier-norel" else LEVELS

    def unit(self, values: Tensor) -> Tensor:
        return values if self.config.similarity == "dot" else normalize(values, dim=-1, eps=1e-8)

    def read(self, texts: Sequence[Sequence[str]], reader: nn.GRU) -> tuple[Tensor, Tensor, Tensor]:
        """States, mask and last states of word sequences."""
        unknown = self._ids[UNKNOWN]
        rows = [[self._ids.get(w, unknown) for w in words] or [self._ids.get(EMPTY, unknown)] for words in texts]
        lengths = torch.tensor([len(row) for row in rows])
        padded = nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True)
        packed = pack_padded_sequence(self.embedding(padded), lengths, batch_first=True, enforce_sorted=False)
        output, last = reader(packed)
        states, _ = pad_packed_sequence(output, batch_first=True)
        mask = torch.arange(states.shape[1])[None] < lengths[:, None]
        return self.unit(states), mask, self.unit(torch.cat([last[0], last[1]], dim=1))

    def captions(self, words: Sequence[Sequence[str]], triplets: Sequence[Sequence[Sequence[str]]]) -> dict[str, Text]:
        """Textual nodes of both levels."""
        states, mask, _ = self.read(words, self.words)
        counts = [len(found) for found in triplets]
        nodes = states.new_zeros(len(words), max([*counts, 1]), self.config.d)
        present = torch.arange(nodes.shape[1])[None] < torch.tensor(counts)[:, None]
        flat = [triplet for found in triplets for triplet in found]
        if flat:
            nodes = nodes.masked_scatter(present[:, :, None], self.read(flat, self.triplets)[2])
        return {"object": Text(states, mask), "relation": Text(nodes, present)}

    def regions(self, features: Tensor, boxes: Tensor, mask: Tensor) -> dict[str, Tensor]:
        """Visual nodes of both levels (images, regions, d)."""
        objects = self.visual(features)
        place = self.offset(boxes)[..., 0]
        pull = torch.tanh(place[:, :, None] - place[:, None, :]).masked_fill(~mask[:, None, :], -torch.inf)
        return {"object": objects, "relation": torch.softmax(pull, dim=-1) @ self.relation(objects)}

    def unite(self, level: str, visual: Tensor, references: Sequence[Text]) -> Tensor:
        """Union nodes (images, regions, d); `references` holds the j-th reference of every image.

        An image that has no j-th reference (or one without nodes) keeps its memory at that step.
        """
        if self.config.variant == "fier":
            return self.unit(visual)
        images = len(visual)
        steps, there = [], []
        empty = self.captions([[EMPTY]], [[[EMPTY]]])[level]
        nothing = Text(empty.nodes.expand(images, -1, -1), empty.mask.expand(images, -1))
        none = torch.ones(images, dtype=torch.bool)
        for text in references:
            none &= ~text.mask.any(dim=1)
        for text in [*references, nothing]:
            use = none if text is nothing else text.mask.any(dim=1)
            logits = self._weighted(level, visual) @ text.nodes.transpose(1, 2)
            logits = logits.masked_fill(~text.mask[:, None, :], -1e9)
            steps.append(torch.softmax(logits, dim=-1) @ text.nodes)
            there.append(use)
        memory = self._remember(level, torch.stack(steps, dim=2), torch.stack(there, dim=1))
        return self.unit(self.union[level](torch.cat([visual, memory], dim=-1)))

    def _weighted(self, level: str, visual: Tensor) -> Tensor:
        """W_a (v * h) = (v * W_a) . h: the weights are put on the regions once."""
        weight: Tensor = self.attention[level].weight  # type: ignore[assignment]
        return visual * weight[0]

    def _remember(self, level: str, contexts: Tensor, there: Tensor) -> Tensor:
        """The reference GRU over (images, regions, steps, d), leaving out steps that are not there."""
        images, regions, steps, d = contexts.shape
        order = torch.argsort((~there).to(torch.int8), dim=1, stable=True)  # present steps first, in order
        moved = torch.gather(contexts, 2, order[:, None, :, None].expand(-1, regions, -1, d))
        lengths = there.sum(dim=1).repeat_interleave(regions)
        packed = pack_padded_sequence(
            moved.reshape(images * regions, steps, d), lengths, batch_first=True, enforce_sorted=False
        )
        _, last = self.memory[level](packed)
        return last[0].reshape(images, regions, d)

    def scores(self, unions: dict[str, Tensor], mask: Tensor, text: dict[str, Text]) -> Tensor:
        """All image-caption scores (images, captions): mean over nodes of the best region, levels added."""
        total = torch.zeros(())
        for level in self.levels:
            nodes, present = text[level].nodes, text[level].mask
            # One product for all pairs: (images x regions, d) by (d, captions x nodes).
            pairs = torch.einsum("ird,cnd->icnr", unions[level], nodes)
            best = pairs.masked_fill(~mask[:, None, None, :], -torch.inf).amax(dim=-1)
            count = present.sum(dim=1).clamp(min=1)
            total = total + (best * present[None]).sum(dim=-1) / count[None]
        return total

    def export(self) -> Faier:
        """The torch-free network with these parameters."""
        weights = {name: value.detach().numpy().astype(np.float32) for name, value in self.state_dict().items()}
        return Faier(self.config, weights, self.vocabulary)


def hardest_negative(scores: Tensor, margin: float = 0.2) -> Tensor:
    """Triplet loss with the hardest wrong caption of each image and the hardest wrong image of each caption."""
    right = scores.diagonal()
    own = torch.eye(len(scores), dtype=torch.bool)
    wrong = scores.masked_fill(own, -torch.inf)
    caption = (margin + wrong.amax(dim=1) - right).clamp(min=0)
    image = (margin + wrong.amax(dim=0) - right).clamp(min=0)
    return (caption + image).sum()
