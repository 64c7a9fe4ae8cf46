"""SCAN in torch: regions and words into one space, attention, scores of all pairs of a batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from vericap.core.errors import VericapError
from vericap.core.typing import Array
from vericap.models.scan import ALONE, STATES, Attention
from vericap.train.named import Pointed
from vericap.train.scan.data import WordTensors
from vericap.train.scan.soft_tiger import soft_tiger


@dataclass
class ScanOptions:
    """What moves the result, besides the data and the plan."""

    words: str = "states"
    loss: str = "distil"
    width: int = 384
    hidden: int = 256
    batch: int = 64
    captions: int = 2  # of every image in a batch
    references: int = 0  # of every image: relevance to them, alone and with the image, is learned too
    rate: float = 1e-3
    contrast: float = 0.1
    margin: float = 0.2
    hard_warmup: int = 300  # steps over which the triplet loss moves to the hardest negative
    sharpness: float = 9.0
    slope: float = 0.0  # of negative similarities: the paper's equation 3
    pooling: str = "average"
    # or `words`: the overlap of words counts as much as the cosine of sentences; or `claims`: the likeness of the
    # scene graphs' tuples counts as much as both
    teacher: str = "sentences"
    encoder: str = ""  # `default` or a folder: regions as that image-sentence encoder embeds them
    cells: int = 0  # values of the features that follow what the encoder makes of them
    boxes: float = 0.0  # weight of the loss that boxes teach words with
    tiger: float = 0.0  # weight of TIGEr among what is distilled
    near: int = 1  # photos like each other that are drawn together: what tells them apart is finer
    people: float = 0.0  # weight of people's ratings
    rated: int = 64  # photos in a step whose ratings are learned
    marks: bool = False  # whether marks and stops are read as words
    rarest: int = 4  # occurrences a word needs to enter the vocabulary of the GRU
    embedding: int = 300  # width of the GRU's word embeddings
    embeddings: str = ""  # name of the word vectors they begin with

    def attention(self) -> Attention:
        return Attention(self.sharpness, self.slope, self.pooling)


class Scores(NamedTuple):
    """(images, captions) each: relevance to the image, to its references, and TIGEr."""

    image: torch.Tensor
    told: torch.Tensor | None
    tiger: torch.Tensor | None


class ScanModule(nn.Module):
    """Both encoders and the attention, in torch."""

    def __init__(
        self, options: ScanOptions, features: int, words: Sequence[str] | None = None, *, states: int = 384
    ) -> None:
        super().__init__()
        self.options = options
        width = options.width
        self.norm = nn.Identity() if options.encoder else nn.LayerNorm(features, elementwise_affine=False)
        self.image = nn.Linear(features, width)
        self.hidden = nn.Linear(features, options.hidden)
        self.output = nn.Linear(options.hidden, width, bias=False)
        nn.init.zeros_(self.output.weight)
        if options.words in (STATES, ALONE):
            self.text = nn.Linear(states, width)
            if options.words == ALONE:  # what a sentence says of a word is not there: more is to be learned of each
                self.text_hidden = nn.Linear(states, options.hidden)
                self.text_output = nn.Linear(options.hidden, width, bias=False)
                nn.init.zeros_(self.text_output.weight)
        else:
            self.embedding = nn.Embedding(len(words or ()), options.embedding)
            self.gru = nn.GRU(options.embedding, width, batch_first=True, bidirectional=True)
        self.scale = nn.Parameter(torch.tensor(1.0))
        self.bias = nn.Parameter(torch.tensor(0.0))
        if options.references:
            self.both_scale = nn.Parameter(torch.tensor(1.0))
            self.both_bias = nn.Parameter(torch.tensor(0.0))
            self.told_scale = nn.Parameter(torch.tensor(1.0))
            self.told_bias = nn.Parameter(torch.tensor(0.0))
        self.temperature = nn.Parameter(torch.tensor(3.0))
        if options.boxes:
            self.pointing = nn.Parameter(torch.tensor(2.5))

    def start_from(self, token_mean: Array, head: dict[str, Array] | None = None) -> None:
        """Begin in the sentence space: regions as the `vse` encoder sees them, words as centred token states."""
        with torch.no_grad():
            if head is None:
                self.image.weight.copy_(torch.eye(*self.image.weight.shape))
                self.image.bias.zero_()
            else:
                self.image.weight.copy_(torch.from_numpy(head["linear"].astype(np.float32)))
                self.image.bias.copy_(torch.from_numpy(head["linear_bias"].astype(np.float32)))
            self.text.weight.copy_(torch.eye(*self.text.weight.shape))
            self.text.bias.copy_(-torch.from_numpy(token_mean.astype(np.float32))[: self.options.width])

    def begin_with(self, weights: Mapping[str, Array]) -> None:
        """Take over the projections of a written model (`scan.safetensors`)."""
        own = self.state_dict()
        for name in ("image", "hidden", "output", "text", "text_hidden", "text_output"):
            for key, given in ((f"{name}.weight", name), (f"{name}.bias", f"{name}_bias")):
                if key not in own or (name.startswith("text_") and given not in weights):
                    continue
                values = np.asarray(weights.get(given, np.zeros(0)), dtype=np.float32)
                if name in ("image", "hidden") and values.ndim == 2:  # cells begin without weight
                    values = np.pad(values, ((0, 0), (0, max(own[key].shape[1] - values.shape[1], 0))))
                if own[key].shape != values.shape:
                    raise VericapError(f"the model to begin with has another '{name}': its options must be the same")
                own[key] = torch.from_numpy(values)
        self.load_state_dict(own)

    def start_words(self, vectors: Array, known: Array) -> None:
        """Begin the GRU's embeddings with word vectors; words without one keep their random start."""
        with torch.no_grad():
            self.embedding.weight[torch.from_numpy(known)] = torch.from_numpy(vectors[known].astype(np.float32))

    def regions(self, features: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """Unit vectors (images, regions, D); zeros where `mask` says that there is no region."""
        x = self.norm(features)
        found: torch.Tensor = F.normalize(self.image(x) + self.output(F.relu(self.hidden(x))), dim=-1)
        return found if mask is None else found * mask[..., None]

    def words(self, text: WordTensors) -> torch.Tensor:
        """Unit vectors (words, D) of captions, one after the other."""
        if self.options.words in (STATES, ALONE):
            read: torch.Tensor = self.text(text.values)
            if self.options.words == ALONE:
                read = read + self.text_output(F.relu(self.text_hidden(text.values)))
            found = F.normalize(read, dim=-1)
            return found if text.there is None else found * text.there[:, None]
        parts = list(torch.split(self.embedding(text.values), text.counts.tolist()))
        packed = nn.utils.rnn.pack_sequence(parts, enforce_sorted=False)
        both, counts = nn.utils.rnn.pad_packed_sequence(self.gru(packed)[0], batch_first=True)
        both = both[torch.arange(both.shape[1], device=both.device) < counts.to(both.device)[:, None]]
        return F.normalize((both[:, : self.options.width] + both[:, self.options.width :]) / 2, dim=-1)

    def score(
        self,
        regions: torch.Tensor,
        words: torch.Tensor,
        counts: torch.Tensor,
        contexts: torch.Tensor | None = None,
        mask: torch.Tensor | None = None,
    ) -> Scores:
        """(images, captions): the score of every image with every caption, and, where there are reference contexts
        (images, regions, D), the mean cosine of the caption's contexts with them, and TIGEr where it is learned. `mask`
        (images, regions) says which regions are there.

        Captions of one length go together, so nothing is padded; lengths of contexts come from Gram matrices.
        """
        scores, told, alike, order = [], [], [], []
        truth = (contexts * regions).sum(dim=-1) if contexts is not None and self.options.tiger else None
        there = None if mask is None or bool(mask.all()) else mask.float()
        for which, h in by_length(words, counts):
            s = _products(h, regions)
            raised = self._raised(s) * _words_there(h)[:, :, None, None]
            gram = h @ h.transpose(1, 2)
            inner = (gram @ raised.flatten(2)).view_as(raised)
            lengths = (inner * raised).sum(dim=1).clamp(min=1e-8).sqrt()
            grounding = (raised * s).sum(dim=1) / lengths  # (captions, images, regions)
            scores.append(self._pooled(grounding, there))
            if contexts is not None:
                told.append(mean_over((raised * _products(h, contexts)).sum(dim=1) / lengths, there))
            if truth is not None:
                alike.append(soft_tiger(grounding, truth, there))
            order.append(which)
        back = torch.argsort(torch.cat(order))
        said, ranked = (torch.cat(some)[back].t() if some else None for some in (told, alike))
        return Scores(torch.cat(scores)[back].t(), said, ranked)

    def contexts(self, regions: torch.Tensor, words: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
        """Unit context vectors (n, regions, D) of caption i over the regions of image i; regions that are not there are
        zero vectors, which move no attention."""
        found, order = [], []
        for which, h in by_length(words, counts):
            raised = self._raised(h @ regions[which].transpose(1, 2)) * _words_there(h)[:, :, None]
            found.append(F.normalize(raised.transpose(1, 2) @ h, dim=-1))
            order.append(which)
        return torch.cat(found)[torch.argsort(torch.cat(order))]

    def points(self, regions: torch.Tensor, words: torch.Tensor, pointed: Pointed) -> torch.Tensor:
        """How far words that name a class are from the regions that lie on its boxes: a cross entropy over regions."""
        likeness = (regions[pointed.images] @ words[pointed.rows][:, :, None])[..., 0]
        found = torch.log_softmax(self.pointing.exp() * likeness, dim=-1)
        return -(pointed.shares * found).sum(dim=-1).mean()

    def _raised(self, s: torch.Tensor) -> torch.Tensor:
        """Attention over words, up to a factor per region, which no cosine sees; regions are the last axis of s.

        Normalised similarities are at most 1, so their exponentials need no shift.
        """
        clipped = F.leaky_relu(s, self.options.slope)
        return (self.options.sharpness * clipped / clipped.norm(dim=-1, keepdim=True).clamp(min=1e-8)).exp()

    def _pooled(self, grounding: torch.Tensor, there: torch.Tensor | None) -> torch.Tensor:
        if self.options.pooling == "average":
            return mean_over(grounding, there)
        if there is not None:
            grounding = grounding.masked_fill(there == 0, -torch.inf)
        return torch.logsumexp(6.0 * grounding, dim=-1) / 6.0


def _words_there(h: torch.Tensor) -> torch.Tensor:
    """(captions, words) 1 for a word, 0 for a mark that is not read, whose vector is zero."""
    return h.detach().any(dim=-1).to(h.dtype)


def mean_over(values: torch.Tensor, there: torch.Tensor | None) -> torch.Tensor:
    """Mean of (captions, images, regions) over the regions that are there (images, regions)."""
    if there is None:
        return values.mean(dim=-1)
    return (values * there).sum(dim=-1) / there.sum(dim=-1)


def by_length(words: torch.Tensor, counts: torch.Tensor) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Captions of one length: which they are, and their words (captions, length, D)."""
    starts = torch.cumsum(counts, 0) - counts
    for length in sorted(set(counts.tolist())):
        which = torch.nonzero(counts == length)[:, 0]
        yield which, words[starts[which][:, None] + torch.arange(length)]


def _products(words: torch.Tensor, regions: torch.Tensor) -> torch.Tensor:
    """(captions, words, D), (images, regions, D) -> (captions, words, images, regions)."""
    width = regions.shape[-1]
    flat = words.reshape(-1, width) @ regions.reshape(-1, width).t()
    return flat.view(*words.shape[:2], *regions.shape[:2])


def weights_of(model: ScanModule) -> dict[str, Array]:
    """What scoring needs, as arrays."""
    named = {"image": model.image, "hidden": model.hidden}
    found: dict[str, Any] = {"output": model.output.weight}
    if model.options.words in (STATES, ALONE):
        named["text"] = model.text
    if model.options.words == ALONE:
        named["text_hidden"] = model.text_hidden
        found["text_output"] = model.text_output.weight
    for key, layer in named.items():
        found[key], found[f"{key}_bias"] = layer.weight, layer.bias
    if model.options.words == "gru":
        found["embedding"] = model.embedding.weight
        for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            found[f"gru_{part}"] = getattr(model.gru, f"{part}_l0")
            found[f"gru_{part}_reverse"] = getattr(model.gru, f"{part}_l0_reverse")
    return {key: value.detach().cpu().numpy().copy() for key, value in found.items()}
