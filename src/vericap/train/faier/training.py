"""Train FAIEr on a feature store: all image-caption pairs of a batch, references drawn anew in every step.

An image meets one of its captions as the candidate; 0 to 4 of its others (`references="r"`), or a fixed number of them,
are the references its union nodes are made with. Losses: the paper's hardest negative (`hardest`), `infonce`, or
`distil` (a text teacher's cosines plus 0.1 InfoNCE).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from vericap.core.errors import VericapError
from vericap.core.typing import Array, Ints
from vericap.models.faier import FaierConfig, FaierModel
from vericap.train import losses
from vericap.train.data import PER_IMAGE, Draw
from vericap.train.faier.data import FaierSource
from vericap.train.faier.network import FaierModule, Side, TextNodes
from vericap.train.trainer import Losses, Trainer, TrainPlan
from vericap.train.validate import agreement, near_pairs, recall

LOSSES = ("hardest", "infonce", "distil")


@dataclass
class FaierOptions:
    """What moves the result, besides the data and the plan."""

    variant: str = "faier"
    loss: str = "hardest"
    similarity: str = "dot"
    references: str = "r"  # or a number
    captions: int = PER_IMAGE  # of every image that are read
    d: int = 512
    words: int = 300
    batch: int = 100
    rate: float = 5e-4
    margin: float = 0.2
    contrast: float = 0.1
    hard_warmup: int = 300  # steps over which the triplet loss moves to the hardest negative
    rarest: int = 10  # occurrences a word needs to enter the vocabulary

    def check(self) -> None:
        if self.loss not in LOSSES:
            raise VericapError(f"loss '{self.loss}' is not one of {', '.join(LOSSES)}")
        if self.references != "r" and not 0 <= int(self.references) < self.captions:
            raise VericapError(
                f"{self.references} references cannot be drawn: one of the {self.captions} captions read of each "
                "image is the candidate"
            )
        if self.variant == "aier" and (self.references == "0" or self.captions < 2):
            raise VericapError("variant 'aier' reads references alone; train it with at least one")

    def drawn(self, images: int, generator: np.random.Generator) -> Ints:
        """How many references each image gets."""
        if self.references != "r":
            return np.full(images, int(self.references), dtype=np.int64)
        # Without any, `aier` has nothing to learn from.
        return generator.integers(1 if self.variant == "aier" else 0, self.captions, size=images)


class LearningFaier(nn.Module):
    """The network with what only training needs."""

    def __init__(self, net: FaierModule) -> None:
        super().__init__()
        self.net = net
        self.scale = nn.Parameter(torch.tensor(1.0))
        self.bias = nn.Parameter(torch.tensor(0.0))
        self.temperature = nn.Parameter(torch.tensor(0.0 if net.config.similarity == "dot" else 2.5))


class FaierTask:
    """Batches and validation of one training."""

    def __init__(
        self,
        model: LearningFaier,
        options: FaierOptions,
        sources: Sequence[FaierSource],
        shares: Sequence[int],
        validation: FaierSource,
        seed: int,
    ) -> None:
        self.model, self.net, self.options, self.sources = model, model.net, options, list(sources)
        self._draws = [Draw(len(s), share, seed + i) for i, (s, share) in enumerate(zip(sources, shares))]
        self._validation = validation
        self._held = 1 if options.variant == "aier" else 0  # the last caption is the reference where one is needed
        if validation.sentences is None:
            raise VericapError("validation needs sentence vectors of its captions")
        judged = np.asarray(validation.sentences, dtype=np.float32)[:, : PER_IMAGE - self._held]
        self._pairs = near_pairs(judged)

    def losses(self, step: int, generator: np.random.Generator) -> Losses:
        options = self.options
        parts = [self._part(source, draw.batch(step), generator) for source, draw in zip(self.sources, self._draws)]
        scores = torch.cat([torch.cat(row, dim=1) for row in self._all(parts)])
        if options.loss == "hardest":
            hardest = min(1.0, step / max(options.hard_warmup, 1))
            return {"loss": losses.hardest_negative(scores, margin=options.margin, hardest=hardest)}
        contrast = losses.info_nce(scores, self.model.temperature.exp())
        if options.loss == "infonce":
            return {"loss": contrast}
        sentences = torch.from_numpy(np.concatenate([p.sentences for p in parts]))
        own = torch.from_numpy(np.concatenate([p.candidate for p in parts]))[:, None]
        target = losses.held_out(losses.cosines(sentences, own), own, torch.ones(sentences.shape[:2]))
        distilled = losses.distillation(scores, target, self.model.scale, self.model.bias)
        return {"loss": distilled + options.contrast * contrast, "distilled": distilled, "contrast": contrast}

    def _part(self, source: FaierSource, rows: Ints, generator: np.random.Generator) -> _Part:
        """Images of one source with a candidate each and their union nodes."""
        count, k = len(rows), self.options.captions
        order = generator.permuted(np.tile(np.arange(k), (count, 1)), axis=1)
        drawn = self.options.drawn(count, generator)
        used = np.arange(1, k)[None, :] <= drawn[:, None]
        chosen = np.full((count, k - 1), -1, dtype=np.int64)
        chosen[used] = count + np.arange(int(used.sum()))
        captions = rows[:, None] * k + order
        coded = source.captions.take(np.concatenate([captions[:, 0], captions[:, 1:][used]]))
        text = self.net.encode(coded)
        features, boxes, mask = source.images[rows]
        visual = self.net.regions(features, boxes, mask)
        sides = {level: self.net.sides(level, visual[level], mask, text[level], chosen) for level in self.net.levels}
        candidates = {level: text[level].rows(np.arange(count)) for level in self.net.levels}
        sentences = source.sentences[rows] if source.sentences is not None else np.zeros((count, 0, 0))
        return _Part(sides, candidates, np.asarray(sentences, dtype=np.float32), order[:, 0])

    def _all(self, parts: Sequence[_Part]) -> list[list[Tensor]]:
        return [[self.net.scores(images.sides, texts.candidates) for texts in parts] for images in parts]

    def validate(self) -> dict[str, float]:
        scores = self.matrix(self._validation)
        return {"agreement": agreement(scores, self._pairs), **recall(scores, per_image=PER_IMAGE - self._held)}

    def matrix(self, source: FaierSource) -> Array:
        """Scores of all images with all captions, without references (`aier`: the last caption is one)."""
        count = len(source)
        features, boxes, mask = source.images[np.arange(count)]
        visual = self.net.regions(features, boxes, mask)
        own = np.arange(count * PER_IMAGE).reshape(count, PER_IMAGE)
        chosen = np.arange(count)[:, None] if self._held else np.zeros((count, 0), dtype=np.int64)
        text = self.net.encode(source.captions.take(own[:, -1]))
        sides = {level: self.net.sides(level, visual[level], mask, text[level], chosen) for level in self.net.levels}
        columns = own[:, : PER_IMAGE - self._held].reshape(-1)
        found = [
            self.net.scores(sides, self.net.encode(source.captions.take(columns[start : start + 200])))
            for start in range(0, len(columns), 200)
        ]
        return torch.cat(found, dim=1).numpy()


@dataclass
class _Part:
    sides: dict[str, list[Side]]
    candidates: dict[str, TextNodes]
    sentences: Array  # (images, 5, 384)
    candidate: Ints  # which caption of each image


def train(
    sources: Sequence[FaierSource],
    shares: Sequence[int],
    validation: FaierSource,
    output: str | Path,
    *,
    plan: TrainPlan,
    options: FaierOptions,
    width: int,
    fingerprint: str,
    vocabulary: Sequence[str],
    start: FaierModel | None = None,
    storage: str = "int8",
    name: str = "vericap-faier",
    quiet: bool = False,
) -> dict[str, Any]:
    """Train and export the best validated weights to `output/faier`."""
    options.check()
    torch.manual_seed(plan.seed)
    config = FaierConfig(width, options.d, options.words, options.variant, options.similarity, fingerprint)
    model = LearningFaier(FaierModule(config, vocabulary))
    if start is not None:
        _begin(model.net, start)
    describe = {"options": asdict(options), "photos": [len(source) for source in sources], "shares": list(shares)}
    groups = [{"params": list(model.parameters()), "lr": options.rate}]
    trainer = Trainer(model, groups, plan, output, describe=describe, quiet=quiet)
    task = FaierTask(model, options, sources, shares, validation, plan.seed)
    state = trainer.run(task.losses, task.validate)
    trainer.load_best()
    trained = {**describe, "steps": state.best_step, "agreement": state.best, "vocabulary": len(vocabulary)}
    about = {"licence": "Apache-2.0", "source": "trained by `vericap train faier`", "trained": trained}
    model.net.export(name).save(Path(output) / "faier", storage=storage, **about)
    return trained


def _begin(net: FaierModule, start: FaierModel) -> None:
    """Begin with the weights of an earlier model of the same shape and vocabulary."""
    if start.vocabulary != net.vocabulary:
        raise VericapError("the model to begin with has another vocabulary; name it with `vocabulary_from=DIR` too")
    expected = net.config.shapes(len(net.vocabulary))
    for key, shape in expected.items():
        if key not in start.weights or start.weights[key].shape != shape:
            raise VericapError(f"the model to begin with has no {key} of shape {shape}; train it with the same options")
    net.load_state_dict({key: torch.from_numpy(start.weights[key]) for key in expected})
