"""Train SCAN on a feature store: regions and words into one space, attention, losses over all pairs of a batch.

Text side: frozen token states of the shipped sentence encoder through one linear map (`words="states"`), or word
embeddings (from scratch, or beginning with given word vectors) and a bidirectional GRU (`words="gru"`, as in the
paper). Loss: `distil` (the teacher's cosines plus 0.1 InfoNCE; recommended), `infonce`, `hardest` (the paper's
triplet loss).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import nn

from vericap.errors import VericapError
from vericap.models.scan import Attention, Scan
from vericap.train import losses
from vericap.train.backbone import write_meta
from vericap.train.data import PER_IMAGE, Draw
from vericap.train.scan_data import Batch, Source
from vericap.train.trainer import Losses, Plan, Trainer
from vericap.train.validate import agreement, near_pairs, recall

Array = NDArray[Any]


@dataclass
class Options:
    """What moves the result, besides the data and the plan."""

    words: str = "states"
    loss: str = "distil"
    width: int = 384
    hidden: int = 256
    batch: int = 64
    captions: int = 2  # of every image in a batch
    references: int = 0  # of every image: relevance to image and references together is learned too
    rate: float = 1e-3
    contrast: float = 0.1
    margin: float = 0.2
    hard_warmup: int = 300  # steps over which the triplet loss moves to the hardest negative
    sharpness: float = 9.0
    slope: float = 0.1
    pooling: str = "average"
    encoder: str = ""  # `default` or a folder: regions as that image-sentence encoder embeds them
    rarest: int = 4  # occurrences a word needs to enter the vocabulary of the GRU
    embedding: int = 300  # width of the GRU's word embeddings
    embeddings: str = ""  # name of the word vectors they begin with

    def attention(self) -> Attention:
        return Attention(self.sharpness, self.slope, self.pooling)


class Model(nn.Module):
    """Both encoders and the attention, in torch."""

    def __init__(self, options: Options, features: int, words: Sequence[str] | None = None) -> None:
        super().__init__()
        self.options = options
        width = options.width
        self.norm = nn.Identity() if options.encoder else nn.LayerNorm(features, elementwise_affine=False)
        self.image = nn.Linear(features, width)
        self.hidden = nn.Linear(features, options.hidden)
        self.output = nn.Linear(options.hidden, width, bias=False)
        nn.init.zeros_(self.output.weight)
        if options.words == "states":
            self.text = nn.Linear(384, width)
        else:
            self.embedding = nn.Embedding(len(words or ()), options.embedding)
            self.gru = nn.GRU(options.embedding, width, batch_first=True, bidirectional=True)
        self.scale = nn.Parameter(torch.tensor(1.0))
        self.bias = nn.Parameter(torch.tensor(0.0))
        if options.references:
            self.both_scale = nn.Parameter(torch.tensor(1.0))
            self.both_bias = nn.Parameter(torch.tensor(0.0))
        self.temperature = nn.Parameter(torch.tensor(3.0))

    def start_from(self, token_mean: Array, head: dict[str, Array] | None = None) -> None:
        """Begin in the sentence space: regions as the `vse` encoder sees them, words as centred token states."""
        with torch.no_grad():
            if head is None:
                self.image.weight.copy_(torch.eye(*self.image.weight.shape))
                self.image.bias.zero_()
            else:
                self.image.weight.copy_(torch.from_numpy(head["linear"].astype(np.float32)))
                self.image.bias.copy_(torch.from_numpy(head["linear_bias"].astype(np.float32)))
            self.text.weight.copy_(torch.eye(self.options.width, 384))
            self.text.bias.copy_(-torch.from_numpy(token_mean.astype(np.float32))[: self.options.width])

    def start_words(self, vectors: Array, known: Array) -> None:
        """Begin the GRU's embeddings with word vectors; words without one keep their random start."""
        with torch.no_grad():
            self.embedding.weight[torch.from_numpy(known)] = torch.from_numpy(vectors[known].astype(np.float32))

    def regions(self, features: torch.Tensor) -> torch.Tensor:
        x = self.norm(features)
        return F.normalize(self.image(x) + self.output(F.relu(self.hidden(x))), dim=-1)

    def words(self, given: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        if self.options.words == "states":
            return F.normalize(self.text(given), dim=-1)
        packed = nn.utils.rnn.pack_padded_sequence(
            self.embedding(given), mask.sum(dim=1), batch_first=True, enforce_sorted=False
        )
        both, _ = nn.utils.rnn.pad_packed_sequence(self.gru(packed)[0], batch_first=True)
        return F.normalize((both[..., : self.options.width] + both[..., self.options.width :]) / 2, dim=-1)

    def score(self, regions: torch.Tensor, words: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """(images, regions, D), (captions, words, D) -> (images, captions)."""
        return self.attend(regions, words, mask).score(self.options.pooling)

    def attend(self, regions: torch.Tensor, words: torch.Tensor, mask: torch.Tensor) -> Attended:
        """Attention of the regions of all images over the words of all captions."""
        s = _products(regions, words)
        alpha = self._alpha(s, mask[None, None])
        images, count, captions, length = s.shape
        gram = words @ words.transpose(1, 2)
        inner = alpha.permute(2, 0, 1, 3).reshape(captions, images * count, length) @ gram
        inner = inner.view(captions, images, count, length).permute(1, 2, 0, 3)
        return Attended(alpha, s, (inner * alpha).sum(dim=-1).clamp(min=1e-8).sqrt())

    def contexts(self, regions: torch.Tensor, words: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Unit context vectors (n, regions, D) of caption i over the regions of image i."""
        alpha = self._alpha(regions @ words.transpose(1, 2), mask[:, None])
        return F.normalize(alpha @ words, dim=-1)

    def _alpha(self, s: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Attention over the words (last axis); regions are the second axis."""
        clipped = F.leaky_relu(s, self.options.slope)
        logits = self.options.sharpness * clipped / clipped.norm(dim=1, keepdim=True).clamp(min=1e-8)
        return torch.softmax(logits.masked_fill(~mask, -torch.inf), dim=-1)


@dataclass
class Attended:
    """Attention (images, regions, captions, words), inner products with the regions, lengths of the contexts."""

    alpha: torch.Tensor
    inner: torch.Tensor
    lengths: torch.Tensor

    def score(self, pooling: str) -> torch.Tensor:
        """(images, captions): cosines of contexts and regions, over the regions."""
        grounding = (self.alpha * self.inner).sum(dim=-1) / self.lengths
        if pooling == "average":
            return grounding.mean(dim=1)
        return torch.logsumexp(6.0 * grounding, dim=1) / 6.0

    def told(self, contexts: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
        """(images, captions): mean cosine of the candidates' contexts with a reference's (images, regions, D)."""
        return ((self.alpha * _products(contexts, words)).sum(dim=-1) / self.lengths).mean(dim=1)


def _products(regions: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
    """(images, regions, D), (captions, words, D) -> (images, regions, captions, words)."""
    width = regions.shape[-1]
    flat = regions.reshape(-1, width) @ words.reshape(-1, width).t()
    return flat.view(*regions.shape[:2], *words.shape[:2])


class Task:
    """Batches and validation of one training."""

    def __init__(self, model: Model, sources: Sequence[Source], shares: Sequence[int], validation: Source, seed: int):
        self.model, self.sources, self.options = model, list(sources), model.options
        self._draws = [Draw(len(s), share, seed + i) for i, (s, share) in enumerate(zip(sources, shares))]
        self._validation = validation
        self._pairs = near_pairs(np.asarray(validation.sentences, dtype=np.float32))

    def losses(self, step: int, generator: np.random.Generator) -> Losses:
        options, model, k = self.options, self.model, self.options.captions
        batch = Batch.draw(self.sources, self._draws, step, generator, captions=k, references=options.references)
        regions, words = model.regions(batch.features), model.words(*batch.candidates)
        attended = model.attend(regions, words, batch.candidates[1])
        scores = attended.score(options.pooling)
        first = scores[:, torch.arange(len(scores)) * k]
        if options.loss == "hardest":
            hardest = min(1.0, step / max(options.hard_warmup, 1))
            return {"loss": losses.hardest_negative(first, margin=options.margin, hardest=hardest)}
        contrast = losses.info_nce(first, model.temperature.exp())
        if options.loss == "infonce":
            return {"loss": contrast}
        distilled = losses.distillation(scores, batch.target(), model.scale, model.bias)
        found = {"distilled": distilled, "contrast": contrast}
        if options.references:
            told = attended.told(self._contexts(regions, *batch.references), words)
            both = (scores + told) / 2
            found["both"] = losses.distillation(both, batch.target(held=True), model.both_scale, model.both_bias)
        return {"loss": distilled + options.contrast * contrast + found.get("both", 0.0), **found}

    def _contexts(self, regions: torch.Tensor, given: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Mean unit context of the references of every image (image * references + j)."""
        each = len(mask) // len(regions)
        found = self.model.contexts(regions.repeat_interleave(each, dim=0), self.model.words(given, mask), mask)
        return found.view(len(regions), each, *found.shape[1:]).mean(dim=1)

    def validate(self) -> dict[str, float]:
        """Retrieval and agreement; with references, `agreement` is that of image and references together."""
        scores, both = self.matrices(self._validation)
        found = {"agreement": agreement(scores, self._pairs), **recall(scores)}
        if both is not None:
            rows, columns, _ = self._pairs
            sentences = np.asarray(self._validation.sentences, dtype=np.float32)
            held = sentences[:, 1 + self.options.references :].mean(axis=1)
            target = (held[rows] * sentences.reshape(-1, sentences.shape[-1])[columns]).sum(axis=1)
            found["image"] = found["agreement"]
            found["agreement"] = agreement(both, (rows, columns, target))
        return found

    def matrices(self, source: Source) -> tuple[Array, Array | None]:
        """Scores of all images with all captions: the image alone, and with references (captions after the first)."""
        regions = self.model.regions(torch.from_numpy(np.asarray(source.features[:], dtype=np.float32)))
        each = self.options.references
        given = (np.arange(len(source))[:, None] * PER_IMAGE + 1 + np.arange(each)).reshape(-1)
        contexts = self._contexts(regions, *source.text.padded(given)) if each else None
        scores = np.empty((len(source), len(source) * PER_IMAGE), dtype=np.float32)
        both = np.empty_like(scores) if each else None
        for start in range(0, scores.shape[1], 100):
            columns = slice(start, min(start + 100, scores.shape[1]))
            padded, mask = source.text.padded(range(columns.start, columns.stop))
            words = self.model.words(padded, mask)
            for first in range(0, len(regions), 100):
                rows = slice(first, first + 100)
                attended = self.model.attend(regions[rows], words, mask)
                scores[rows, columns] = attended.score(self.options.pooling)
                if both is not None and contexts is not None:
                    both[rows, columns] = (scores[rows, columns] + attended.told(contexts[rows], words).numpy()) / 2
        return scores, both


def shrunk_whitening(contexts: Array, shrinkage: float) -> Array:
    """W with W'W = S^-1 for S = (1 - shrinkage) covariance + shrinkage (its mean variance) I, scaled to
    trace D."""
    centred = contexts - contexts.mean(axis=0)
    covariance = centred.T @ centred / max(len(contexts) - 1, 1)
    width = len(covariance)
    covariance *= width / np.trace(covariance)  # a common factor only changes the unit of the distance
    values, vectors = np.linalg.eigh((1 - shrinkage) * covariance + shrinkage * np.eye(width))
    return np.asarray((vectors / np.sqrt(np.maximum(values, 1e-6))) @ vectors.T, dtype=np.float32)


def train(
    sources: Sequence[Source],
    shares: Sequence[int],
    validation: Source,
    output: str | Path,
    *,
    plan: Plan,
    options: Options,
    fingerprint: str,
    words: Sequence[str] | None = None,
    start: tuple[Array, dict[str, Array] | None] | None = None,
    vectors: tuple[Array, Array] | None = None,
    shrinkage: float = 0.5,
    name: str = "vericap-scan",
    quiet: bool = False,
) -> dict[str, Any]:
    """Train, estimate the covariance of context vectors, export `scan.safetensors` and `meta.json`.

    `start` (mean token state, weights of an encoder) and `vectors` (of the words, with a mark which have one) are
    where the projections and the GRU's embeddings begin.
    """
    if options.loss not in ("distil", "infonce", "hardest"):
        raise VericapError(f"loss '{options.loss}' is not one of distil, infonce, hardest")
    if options.references and options.captions + options.references > min(source.per_image for source in sources):
        raise VericapError(
            f"{options.captions} candidates and {options.references} references need as many captions of every image"
        )
    torch.manual_seed(plan.seed)
    model = Model(options, int(sources[0].features.shape[-1]), words)
    if start is not None and options.words == "states":
        model.start_from(*start)
    if vectors is not None and options.words == "gru":
        model.start_words(*vectors)
    describe = {"options": asdict(options), "photos": [len(source) for source in sources], "shares": list(shares)}
    groups = [{"params": list(model.parameters()), "lr": options.rate}]
    trainer = Trainer(model, groups, plan, output, describe=describe, quiet=quiet)
    task = Task(model, sources, shares, validation, plan.seed)
    state = trainer.run(task.losses, task.validate)
    trainer.load_best()
    trained = {**describe, "steps": state.best_step, "agreement": state.best, "shrinkage": shrinkage}
    meta = {
        "name": name,
        "fingerprint": fingerprint,
        "words": options.words,
        "attention": asdict(options.attention()),
        "standardise": not options.encoder,
        "encoder": options.encoder,
        "licence": "Apache-2.0",
        "source": "trained by `vericap train scan`",
        "trained": trained,
    }
    if words is not None:
        meta["vocabulary"] = list(words)
    export(model, Path(output), meta, sources[0], shrinkage)
    return trained


def weights_of(model: Model) -> dict[str, Array]:
    """What scoring needs, as arrays."""
    named = {"image": model.image, "hidden": model.hidden}
    found: dict[str, Any] = {"output": model.output.weight}
    if model.options.words == "states":
        named["text"] = model.text
    for key, layer in named.items():
        found[key], found[f"{key}_bias"] = layer.weight, layer.bias
    if model.options.words == "gru":
        found["embedding"] = model.embedding.weight
        for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            found[f"gru_{part}"] = getattr(model.gru, f"{part}_l0")
            found[f"gru_{part}_reverse"] = getattr(model.gru, f"{part}_l0_reverse")
    return {key: value.detach().numpy().copy() for key, value in found.items()}


def export(model: Model, folder: Path, meta: dict[str, Any], source: Source, shrinkage: float) -> None:
    """Write the model as float16 with the whitening of REO's distance."""
    from safetensors.numpy import save_file

    weights = weights_of(model)
    contexts = sample_contexts(Scan(weights, {**meta, "encoder": ""}), model, source)  # features are embedded already
    weights["whitening"] = shrunk_whitening(contexts, shrinkage)
    target = folder / "scan"
    target.mkdir(parents=True, exist_ok=True)
    save_file({key: value.astype(np.float16) for key, value in weights.items()}, target / "scan.safetensors")
    write_meta(target, meta)


def sample_contexts(scan: Scan, model: Model, source: Source, images: int = 500) -> Array:
    """Context vectors of training captions over the regions of their own images."""
    from vericap.models.scan import weights as attention_weights

    rows = np.linspace(0, len(source) - 1, min(images, len(source))).astype(np.int64)
    with torch.no_grad():
        regions = scan.regions(np.asarray(source.features[rows], dtype=np.float32))
        given, mask = source.text.padded(rows * source.per_image)
        words = model.words(given, mask).numpy()
    found = []
    for image in range(len(rows)):
        h = words[image][mask[image].numpy()]
        alpha = attention_weights(regions[image] @ h.T, np.ones(len(regions[image]), dtype=np.float32), scan.attention)
        found.append(alpha @ h)
    return np.concatenate(found).astype(np.float64)
