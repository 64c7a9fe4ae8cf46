"""Train SCAN on a feature store: regions and words into one space, attention, losses over all pairs of a batch.

Text side: frozen token states of the shipped sentence encoder through one linear map (`words="states"`), or word
embeddings (from scratch, or beginning with given word vectors) and a bidirectional GRU (`words="gru"`, as in the
paper). Loss: `distil` (the teacher's cosines plus 0.1 InfoNCE; recommended), `infonce`, `hardest` (the paper's
triplet loss).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
from vericap.models.store import write_meta
from vericap.train import losses
from vericap.train.data import PER_IMAGE, Draw
from vericap.train.scan_data import Batch, Source, Text, TextStates
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
    # or `words`: the overlap of words counts as much as the cosine of sentences; or `claims`: the likeness of the
    # scene graphs' tuples counts as much as both
    teacher: str = "sentences"
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

    def begin_with(self, weights: Mapping[str, Array]) -> None:
        """Take over the projections of a written model (`scan.safetensors`)."""
        own = self.state_dict()
        for name in ("image", "hidden", "output", "text"):
            for key, given in ((f"{name}.weight", name), (f"{name}.bias", f"{name}_bias")):
                if key in own and (given not in weights or own[key].shape != weights[given].shape):
                    raise VericapError(f"the model to begin with has another '{name}': its options must be the same")
                if key in own:
                    own[key] = torch.from_numpy(np.asarray(weights[given], dtype=np.float32))
        self.load_state_dict(own)

    def start_words(self, vectors: Array, known: Array) -> None:
        """Begin the GRU's embeddings with word vectors; words without one keep their random start."""
        with torch.no_grad():
            self.embedding.weight[torch.from_numpy(known)] = torch.from_numpy(vectors[known].astype(np.float32))

    def regions(self, features: torch.Tensor) -> torch.Tensor:
        x = self.norm(features)
        return F.normalize(self.image(x) + self.output(F.relu(self.hidden(x))), dim=-1)

    def words(self, text: Text) -> torch.Tensor:
        """Unit vectors (words, D) of captions, one after the other."""
        if self.options.words == "states":
            return F.normalize(self.text(text.values), dim=-1)
        parts = list(torch.split(self.embedding(text.values), text.counts.tolist()))
        packed = nn.utils.rnn.pack_sequence(parts, enforce_sorted=False)
        both, counts = nn.utils.rnn.pad_packed_sequence(self.gru(packed)[0], batch_first=True)
        both = both[torch.arange(both.shape[1]) < counts[:, None]]
        return F.normalize((both[:, : self.options.width] + both[:, self.options.width :]) / 2, dim=-1)

    def score(
        self, regions: torch.Tensor, words: torch.Tensor, counts: torch.Tensor, contexts: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """(images, captions): the score of every image with every caption, and, where there are reference contexts
        (images, regions, D), the mean cosine of the caption's contexts with them.

        Captions of one length go together, so nothing is padded; lengths of contexts come from Gram matrices.
        """
        scores, told, order = [], [], []
        for which, h in by_length(words, counts):
            s = _products(h, regions)
            raised = self._raised(s)
            gram = h @ h.transpose(1, 2)
            inner = (gram @ raised.flatten(2)).view_as(raised)
            lengths = (inner * raised).sum(dim=1).clamp(min=1e-8).sqrt()
            grounding = (raised * s).sum(dim=1) / lengths  # (captions, images, regions)
            scores.append(self._pooled(grounding))
            if contexts is not None:
                told.append(((raised * _products(h, contexts)).sum(dim=1) / lengths).mean(dim=-1))
            order.append(which)
        back = torch.argsort(torch.cat(order))
        return torch.cat(scores)[back].t(), torch.cat(told)[back].t() if told else None

    def contexts(self, regions: torch.Tensor, words: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
        """Unit context vectors (n, regions, D) of caption i over the regions of image i."""
        found, order = [], []
        for which, h in by_length(words, counts):
            raised = self._raised(h @ regions[which].transpose(1, 2))
            found.append(F.normalize(raised.transpose(1, 2) @ h, dim=-1))
            order.append(which)
        return torch.cat(found)[torch.argsort(torch.cat(order))]

    def _raised(self, s: torch.Tensor) -> torch.Tensor:
        """Attention over words, up to a factor per region, which no cosine sees; regions are the last axis of s.

        Normalised similarities are at most 1, so their exponentials need no shift.
        """
        clipped = F.leaky_relu(s, self.options.slope)
        return (self.options.sharpness * clipped / clipped.norm(dim=-1, keepdim=True).clamp(min=1e-8)).exp()

    def _pooled(self, grounding: torch.Tensor) -> torch.Tensor:
        if self.options.pooling == "average":
            return grounding.mean(dim=-1)
        return torch.logsumexp(6.0 * grounding, dim=-1) / 6.0


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


class Task:
    """Batches and validation of one training."""

    def __init__(self, model: Model, sources: Sequence[Source], shares: Sequence[int], validation: Source, seed: int):
        self.model, self.sources, self.options = model, list(sources), model.options
        self._draws = [Draw(len(s), share, seed + i) for i, (s, share) in enumerate(zip(sources, shares))]
        self._validation = validation
        self._pairs = near_pairs(np.asarray(validation.sentences, dtype=np.float32))
        self._targets = {held: self._graded(1 + held) for held in (0, self.options.references)}
        self._mean = _mean_word(sources[0]) if self.options.teacher != "sentences" else torch.zeros(())

    def _graded(self, first: int) -> Array:
        """What the captions of an image from the first-th on say of the candidates of the graded pairs."""
        rows, columns, target = self._pairs
        if first > 1:
            sentences = np.asarray(self._validation.sentences, dtype=np.float32)
            others = sentences[:, first:].mean(axis=1)
            target = (others[rows] * sentences.reshape(-1, sentences.shape[-1])[columns]).sum(axis=1)
        if self._validation.claims is None:
            return target
        return losses.half(target, self._validation.claims.graded(rows, columns, first))

    def losses(self, step: int, generator: np.random.Generator) -> Losses:
        options, model, k = self.options, self.model, self.options.captions
        batch = Batch.draw(
            self.sources,
            self._draws,
            step,
            generator,
            captions=k,
            references=options.references,
            words=options.teacher != "sentences",
        )
        regions, words = model.regions(batch.features), model.words(batch.candidates)
        contexts = self._contexts(regions, batch.references) if batch.references else None
        scores, told = model.score(regions, words, batch.candidates.counts, contexts)
        first = scores[:, torch.arange(len(scores)) * k]
        if options.loss == "hardest":
            hardest = min(1.0, step / max(options.hard_warmup, 1))
            return {"loss": losses.hardest_negative(first, margin=options.margin, hardest=hardest)}
        contrast = losses.info_nce(first, model.temperature.exp())
        if options.loss == "infonce":
            return {"loss": contrast}
        similar = batch.similar(self._mean)
        distilled = losses.distillation(scores, batch.target(similar), model.scale, model.bias)
        found = {"distilled": distilled, "contrast": contrast}
        if told is not None:
            target = batch.target(similar, held=True)
            found["both"] = losses.distillation((scores + told) / 2, target, model.both_scale, model.both_bias)
        return {"loss": distilled + options.contrast * contrast + found.get("both", 0.0), **found}

    def _contexts(self, regions: torch.Tensor, text: Text) -> torch.Tensor:
        """Mean unit context of the references of every image (image * references + j)."""
        each = len(text.counts) // len(regions)
        found = self.model.contexts(regions.repeat_interleave(each, dim=0), self.model.words(text), text.counts)
        return found.view(len(regions), each, *found.shape[1:]).mean(dim=1)

    def validate(self) -> dict[str, float]:
        """Retrieval and agreement; with references, `agreement` is that of image and references together."""
        scores, both = self.matrices(self._validation)
        rows, columns, _ = self._pairs
        found = {"agreement": agreement(scores, (rows, columns, self._targets[0])), **recall(scores)}
        if both is not None:
            found["image"] = found["agreement"]
            found["agreement"] = agreement(both, (rows, columns, self._targets[self.options.references]))
        return found

    def matrices(self, source: Source) -> tuple[Array, Array | None]:
        """Scores of all images with all captions: the image alone, and with references (captions after the first)."""
        regions = self.model.regions(torch.from_numpy(np.asarray(source.features[:], dtype=np.float32)))
        each = self.options.references
        given = (np.arange(len(source))[:, None] * PER_IMAGE + 1 + np.arange(each)).reshape(-1)
        contexts = self._contexts(regions, source.text.read(given)) if each else None
        scores = np.empty((len(source), len(source) * PER_IMAGE), dtype=np.float32)
        both = np.empty_like(scores) if each else None
        for start in range(0, scores.shape[1], 200):
            columns = slice(start, min(start + 200, scores.shape[1]))
            text = source.text.read(range(columns.start, columns.stop))
            words = self.model.words(text)
            for first in range(0, len(regions), 50):
                rows = slice(first, first + 50)
                given_here = contexts[rows] if contexts is not None else None
                found, told = self.model.score(regions[rows], words, text.counts, given_here)
                scores[rows, columns] = found
                if both is not None and told is not None:
                    both[rows, columns] = (found + told) / 2
        return scores, both


def _mean_word(source: Source) -> torch.Tensor:
    if not isinstance(source.text, TextStates):
        raise VericapError("the teacher that compares words needs token states; choose words='states'")
    return torch.from_numpy(source.text.mean())


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
    before: tuple[Mapping[str, Array], dict[str, Any]] | None = None,
    vectors: tuple[Array, Array] | None = None,
    shrinkage: float = 0.5,
    name: str = "vericap-scan",
    quiet: bool = False,
) -> dict[str, Any]:
    """Train, estimate the covariance of context vectors, export `scan.safetensors` and `meta.json`.

    `start` (mean token state, weights of an encoder) and `vectors` (of the words, with a mark which have one) are
    where the projections and the GRU's embeddings begin; `before` is an earlier model to go on from,
    its weights and what it was trained on.
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
    photos = [len(source) for source in sources]
    describe: dict[str, Any] = {"options": asdict(options), "photos": photos, "shares": list(shares)}
    if before is not None:
        model.begin_with(before[0])
        describe["before"] = before[1]
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
        text = source.text.read(rows * source.per_image)
        words = model.words(text).numpy()
    found = []
    for image, h in enumerate(np.split(words, np.cumsum(text.counts.numpy())[:-1])):
        alpha = attention_weights(regions[image] @ h.T, np.ones(len(regions[image]), dtype=np.float32), scan.attention)
        found.append(alpha @ h)
    return np.concatenate(found).astype(np.float64)
