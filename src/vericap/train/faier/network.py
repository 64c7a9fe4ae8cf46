"""FAIEr in torch: the module that learns, and the scores of all image-caption pairs of a batch.

Parameter names are those that `vericap.models.faier.FaierModel` reads; a test holds the two together. Textual nodes are
kept flat (all captions one after the other), so that nothing is computed for padding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from vericap.core.typing import Bools, Ints
from vericap.models.arrays import runs
from vericap.models.faier import EMPTY, UNKNOWN, FaierConfig, FaierModel
from vericap.train import parallel
from vericap.train.faier.gru import PackedOrder, recur
from vericap.train.named import Pointed

Side = tuple[Tensor | float, Tensor, Tensor]  # weight, nodes (images, nodes, d), mask (images, nodes)


@dataclass(frozen=True)
class CodedCaptions:
    """Captions as vocabulary numbers: words, and the words of their triplets."""

    words: Ints  # of all captions
    counts: Ints  # words per caption
    triplet_words: Ints  # of all triplets
    lengths: Ints  # words per triplet
    triplets: Ints  # triplets per caption


@dataclass
class TextNodes:
    """Textual nodes of captions at one level, one caption after the other."""

    nodes: Tensor  # (nodes, d)
    counts: Ints  # per caption

    @property
    def starts(self) -> Ints:
        return np.asarray(np.cumsum(self.counts) - self.counts)

    def rows(self, captions: Ints) -> TextNodes:
        """Some of the captions."""
        counts = self.counts[captions]
        return TextNodes(self.nodes[torch.as_tensor(runs(self.starts[captions], counts))], counts)

    def gathered(self) -> TextNodes:
        """The nodes of all processes' captions."""
        if parallel.count() == 1:
            return self
        counts = parallel.gather(torch.as_tensor(self.counts))
        return TextNodes(parallel.gather(self.nodes), counts.cpu().numpy())

    def padded(self, captions: Ints) -> tuple[Tensor, Tensor]:
        """(captions, nodes, d) with a mask, of captions that have nodes."""
        counts = self.counts[captions]
        place = np.arange(int(counts.max()))
        table = self.starts[captions][:, None] + np.minimum(place, counts[:, None] - 1)
        return F.embedding(torch.as_tensor(table), self.nodes), torch.as_tensor(place < counts[:, None])


class FaierModule(nn.Module):
    """Visual encoder, textual encoders, fusion; all B x B scores in a few matrix products."""

    def __init__(self, config: FaierConfig, vocabulary: Sequence[str]) -> None:
        super().__init__()
        config.check()
        self.config, self.vocabulary = config, list(vocabulary)
        self._ids = {word: number for number, word in enumerate(self.vocabulary)}
        d, levels = config.d, config.levels
        self.embedding = nn.Embedding(len(self.vocabulary), config.words)
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        self.words = nn.GRU(config.words, d // 2, bidirectional=True)
        if "relation" in levels:
            self.triplets = nn.GRU(config.words, d // 2, bidirectional=True)
        if config.looks:
            self.visual = nn.Sequential(nn.Linear(config.width, d), nn.Tanh(), nn.Linear(d, d))
        if config.looks and "relation" in levels:
            self.offset = nn.Linear(4, 1, bias=False)
            nn.init.uniform_(self.offset.weight, -3.0, 3.0)  # so that boxes that lie apart are told apart
            self.relation = nn.Linear(d, d, bias=False)
        if config.fuses:
            self.attention = nn.ModuleDict({level: nn.Linear(d, 1, bias=False) for level in levels})
            for layer in self.attention.values():  # begins as the product that regions and words are matched by
                nn.init.constant_(layer.weight, 1.0)  # type: ignore[arg-type]
            self.memory = nn.ModuleDict({level: nn.GRU(d, d) for level in levels})
            self.union = nn.ModuleDict({level: nn.Linear(2 * d, d) for level in levels})
        if config.merges:
            self.merge = nn.ModuleDict({level: nn.Linear(2, 1, bias=False) for level in levels})
            for layer in self.merge.values():
                nn.init.constant_(layer.weight, 0.5)  # type: ignore[arg-type]

    @property
    def levels(self) -> tuple[str, ...]:
        return self.config.levels

    def unit(self, values: Tensor) -> Tensor:
        return values if self.config.similarity == "dot" else F.normalize(values, dim=-1, eps=1e-8)

    # --- text ---------------------------------------------------------------------------------------------------

    def code(self, words: Sequence[Sequence[str]], triplets: Sequence[Sequence[Sequence[str]]]) -> CodedCaptions:
        """Vocabulary numbers; a text without a word is the empty sentence."""
        unknown = self._ids[UNKNOWN]

        def numbers(texts: Sequence[Sequence[str]]) -> tuple[Ints, Ints]:
            rows = [[self._ids.get(w, unknown) for w in text] or [self._ids.get(EMPTY, unknown)] for text in texts]
            flat = np.array([number for row in rows for number in row], dtype=np.int64)
            return flat, np.array([len(row) for row in rows], dtype=np.int64)

        flat = [triplet for found in triplets for triplet in found]
        counts = np.array([len(found) for found in triplets], dtype=np.int64)
        return CodedCaptions(*numbers(words), *numbers(flat), counts)

    def captions(
        self, words: Sequence[Sequence[str]], triplets: Sequence[Sequence[Sequence[str]]]
    ) -> dict[str, TextNodes]:
        """Textual nodes of both levels."""
        return self.encode(self.code(words, triplets))

    def encode(self, coded: CodedCaptions) -> dict[str, TextNodes]:
        """Textual nodes: bi-GRU states of all words; each triplet's last bi-GRU state."""
        found = {"object": TextNodes(self.read(coded.words, coded.counts, self.words), coded.counts)}
        if "relation" in self.levels:
            if len(coded.lengths):
                nodes = self.read(coded.triplet_words, coded.lengths, self.triplets, last=True)
            else:
                nodes = self.embedding.weight.new_zeros(0, self.config.d)
            found["relation"] = TextNodes(nodes, coded.triplets)
        return found

    def read(self, ids: Ints, lengths: Ints, reader: nn.GRU, *, last: bool = False) -> Tensor:
        """States of all words, or the last ones of all sequences, both directions side by side."""
        packed = PackedOrder(lengths)
        used, places = np.unique(ids, return_inverse=True)  # equal words share the input's half of the gates
        table, place = self.embedding(torch.as_tensor(used)), torch.as_tensor(places.reshape(-1))
        found = []
        for way, order, back in (
            ("", packed.forward, packed.from_forward),
            ("_reverse", packed.backward, packed.from_backward),
        ):
            weight, bias = getattr(reader, f"weight_ih_l0{way}"), getattr(reader, f"bias_ih_l0{way}")
            given = F.embedding(place[order], F.linear(table, weight, bias))
            hidden, shift = getattr(reader, f"weight_hh_l0{way}"), getattr(reader, f"bias_hh_l0{way}")
            states = recur(given, hidden, shift, packed.sizes)
            found.append(states.index_select(0, packed.last if last else back))
        return self.unit(torch.cat(found, dim=1))

    def nothing(self, level: str) -> Tensor:
        """The one node of the empty sentence."""
        empty = np.array([self._ids.get(EMPTY, self._ids[UNKNOWN])])
        reader = self.words if level == "object" else self.triplets
        return self.read(empty, np.ones(1, dtype=np.int64), reader)

    # --- image --------------------------------------------------------------------------------------------------

    def regions(self, features: Tensor, boxes: Tensor, mask: Tensor) -> dict[str, Tensor]:
        """Visual nodes of both levels (images, regions, d)."""
        if not self.config.looks:
            return {level: features.new_zeros(*mask.shape, self.config.d) for level in self.levels}
        objects = self.visual(features)
        if "relation" not in self.levels:
            return {"object": objects}
        place = self.offset(boxes)[..., 0]
        pull = torch.tanh(place[:, :, None] - place[:, None, :]).masked_fill(~mask[:, None, :], -torch.inf)
        return {"object": objects, "relation": torch.softmax(pull, dim=-1) @ self.relation(objects)}

    # --- fusion and matching ------------------------------------------------------------------------------------

    def sides(self, level: str, visual: Tensor, mask: Tensor, text: TextNodes, chosen: Ints) -> list[Side]:
        """What captions are matched with. `chosen` (images, references): rows of `text`, -1 for none."""
        if self.config.fuses:
            return [(1.0, self.unite(level, visual, text, chosen), mask)]
        if self.config.variant == "fier":
            return [(1.0, self.unit(visual), mask)]
        said, there = self._said(level, text, chosen)
        if self.config.variant == "aier":
            return [(1.0, said, there)]
        weight: Tensor = self.merge[level].weight  # type: ignore[assignment]
        return [(weight[0, 0], self.unit(visual), mask), (weight[0, 1], said, there)]

    def unite(self, level: str, visual: Tensor, text: TextNodes, chosen: Ints) -> Tensor:
        """Union nodes (images, regions, d); a reference without nodes at this level is passed over."""
        regions, d = visual.shape[1:]
        there = (chosen >= 0) & (text.counts[np.maximum(chosen, 0)] > 0)
        count = there.sum(axis=1)
        order = np.argsort(-count, kind="stable")  # images with most references first, as the packed GRU reads them
        nothing = self._recurrent(level, self._gates(level, self.nothing(level)), [1])
        layer = self.union[level]
        weight: Tensor = layer.weight  # type: ignore[assignment]
        memory = F.linear(nothing, weight[:, d:]).expand(int((count == 0).sum()), regions, d)
        if count.any():
            read = self._remember(level, visual, text, chosen, there, order)
            memory = torch.cat([F.linear(read, weight[:, d:]), memory])
        memory = memory.index_select(0, torch.as_tensor(np.argsort(order, kind="stable")))
        bias: Tensor = layer.bias  # type: ignore[assignment]
        return self.unit(F.linear(visual, weight[:, :d], bias) + memory)

    def _remember(self, level: str, visual: Tensor, text: TextNodes, chosen: Ints, there: Bools, order: Ints) -> Tensor:
        """Last states (images with references, regions, d) of the GRU over references, in `order`."""
        regions, d = visual.shape[1:]
        left = np.take_along_axis(chosen, np.argsort(~there, axis=1, kind="stable"), axis=1)[order]
        count = there.sum(axis=1)[order]
        inside = np.arange(chosen.shape[1])[:, None] < count[None, :]
        step, place = np.nonzero(inside)
        sizes = [int(size) for size in inside.sum(axis=1) if size]
        nodes, present = text.padded(left[place, step])
        # W_a (v * h) = (v * W_a) . h: the weights are put on the regions once.
        weight: Tensor = self.attention[level].weight  # type: ignore[assignment]
        weighted = (visual * weight[0]).index_select(0, torch.as_tensor(order[place]))
        logits = (weighted @ nodes.transpose(1, 2)).masked_fill(~present[:, None, :], -torch.inf)
        alpha = torch.softmax(logits, dim=-1)
        # Contexts and gates are linear: the cheaper one first.
        early = nodes.shape[1] < regions
        given = alpha @ self._gates(level, nodes) if early else self._gates(level, alpha @ nodes)
        states = self._recurrent(level, given.reshape(-1, 3 * d), [size * regions for size in sizes])
        starts = np.cumsum(sizes) - sizes
        some = np.arange(sizes[0])
        last = torch.as_tensor(starts[count[: sizes[0]] - 1] + some)
        return states.view(-1, regions, d).index_select(0, last)

    def _gates(self, level: str, nodes: Tensor) -> Tensor:
        """The input's share of the reference GRU's gates; weights of attention add up to 1, so the bias may be in."""
        reader: nn.GRU = self.memory[level]  # type: ignore[assignment]
        return F.linear(nodes, reader.weight_ih_l0, reader.bias_ih_l0)  # type: ignore[arg-type]

    def _recurrent(self, level: str, given: Tensor, sizes: list[int]) -> Tensor:
        reader: nn.GRU = self.memory[level]  # type: ignore[assignment]
        return recur(given, reader.weight_hh_l0, reader.bias_hh_l0, sizes)  # type: ignore[arg-type]

    def _said(self, level: str, text: TextNodes, chosen: Ints) -> tuple[Tensor, Tensor]:
        """The references' own nodes (images, nodes, d) with a mask; the empty sentence where there are none."""
        there = (chosen >= 0) & (text.counts[np.maximum(chosen, 0)] > 0)
        rows, image = chosen[there], np.nonzero(there)[0]
        flat, owner = runs(text.starts[rows], text.counts[rows]), np.repeat(image, text.counts[rows])
        per = np.bincount(owner, minlength=len(chosen))
        table = np.full((len(chosen), max(int(per.max(initial=0)), 1)), len(text.nodes))
        table[owner, np.arange(len(flat)) - (np.cumsum(per) - per)[owner]] = flat
        nodes = torch.cat([text.nodes, self.nothing(level)])
        mask = np.arange(table.shape[1]) < np.maximum(per, 1)[:, None]
        return F.embedding(torch.as_tensor(table), nodes), torch.as_tensor(mask)

    def scores(self, sides: dict[str, list[Side]], text: dict[str, TextNodes]) -> Tensor:
        """All image-caption scores (images, captions): mean over nodes of the best match, levels added."""
        total = torch.zeros(())
        for level, graphs in sides.items():
            nodes, counts = text[level].nodes, text[level].counts
            best = torch.zeros(())
            for weight, graph, mask in graphs:
                images, size, d = graph.shape
                # One product for all pairs: (images x nodes, d) by (d, all captions' nodes).
                pairs = (graph.reshape(-1, d) @ nodes.t()).view(images, size, -1)
                if not bool(mask.all()):
                    pairs = pairs.masked_fill(~mask[:, :, None], -torch.inf)
                best = best + weight * pairs.max(dim=1).values
            mean = np.zeros((len(nodes), len(counts)), dtype=np.float32)
            mean[np.arange(len(nodes)), np.repeat(np.arange(len(counts)), counts)] = np.repeat(
                1.0 / np.maximum(counts, 1), counts
            )
            with torch.autocast(nodes.device.type, enabled=False):  # losses tell scores apart finely
                wide = torch.promote_types(best.dtype, torch.float32)
                total = total + best.to(wide) @ torch.as_tensor(mean).to(wide)
        return total

    def points(self, visual: Tensor, union: Tensor, mask: Tensor, text: TextNodes, pointed: Pointed) -> Tensor:
        """How far words that name a class are from the regions that lie on its boxes, by attention and by the match
        with union nodes: cross entropies over the regions."""
        weight: Tensor = self.attention["object"].weight  # type: ignore[assignment]
        said, there = text.nodes.index_select(0, pointed.rows), mask[pointed.images]
        shares = pointed.shares[:, : mask.shape[1]] * there
        place = torch.arange(len(said))
        found = torch.zeros(())
        for nodes in (visual * weight[0], union):
            # One product with all images: gathering their regions for every word costs more, above all backwards.
            likeness = (said @ nodes.reshape(-1, nodes.shape[-1]).t()).view(len(said), *mask.shape)
            own = likeness[place, pointed.images].float().masked_fill(~there, -1e4)
            found = found - (shares * torch.log_softmax(own, dim=-1)).sum(dim=-1).mean()
        return found

    def chooses(self, visual: Tensor, text: TextNodes, pointed: Pointed) -> Tensor:
        """How far regions that lie on the box of a word are from attending to that word of its caption: cross
        entropies over the caption's words."""
        weight: Tensor = self.attention["object"].weight  # type: ignore[assignment]
        rows = pointed.rows.cpu().numpy()
        caption = np.searchsorted(text.starts, rows, side="right") - 1
        nodes, there = text.padded(caption)
        logits = (visual * weight[0])[pointed.images] @ nodes.transpose(1, 2)
        chosen = torch.log_softmax(logits.float().masked_fill(~there[:, None, :], -1e4), dim=-1)
        place = torch.as_tensor(rows - text.starts[caption])
        own = chosen[torch.arange(len(rows)), :, place]
        return -(pointed.shares[:, : own.shape[1]] * own).sum(dim=-1).mean()

    def export(self, name: str = "") -> FaierModel:
        """The torch-free network with these parameters."""
        weights = {key: value.detach().cpu().numpy().astype(np.float32) for key, value in self.state_dict().items()}
        return FaierModel(self.config, weights, self.vocabulary, name)
