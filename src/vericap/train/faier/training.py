"""Train FAIEr on a feature store: all image-caption pairs of a batch, references drawn anew in every step.

An image meets one of its captions as the candidate; 0 to 4 of its others (`references="r"`), or a fixed number of them,
are the references its union nodes are made with. Losses: the paper's hardest negative (`hardest`, its equation 5) and
sum over all negatives (`sum`, equation 4), `infonce`, or `distil` (a text teacher's cosines plus 0.1 InfoNCE).

Two checkpoints are kept: the one that retrieves best, as the paper chooses, and the one that agrees best with the text
teacher on validation photos.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from vericap.core.errors import VericapError
from vericap.core.typing import Array, Ints
from vericap.models.faier import FaierConfig, FaierModel
from vericap.train import losses, parallel
from vericap.train.data import PER_IMAGE, CaptionPlaces, Draw, NeighbourDraw, drawn
from vericap.train.faier.data import FaierSource
from vericap.train.faier.network import FaierModule, Side, TextNodes
from vericap.train.trainer import Losses, Trainer, TrainPlan, between
from vericap.train.validate import agreement, mean_recall, near_pairs, recall
from vericap.vision.identity import check_same

TRIPLET = ("hardest", "sum")  # the paper's
LOSSES = (*TRIPLET, "infonce", "distil")
CHOSEN = ("retrieval", "agreement")  # figures by which a checkpoint is kept; the first one's is the model


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
    boxes: float = 0.0  # weight of the loss that boxes teach words with; 0: as published
    teacher: float = 0.0  # weight of what a text teacher says of all pairs, beside a triplet loss; 0: as published
    attend: float = 0.0  # weight of the loss that boxes teach regions with: which word to attend to; 0: as published
    sharper: float = 1.0  # how much sharper attention begins than that of the weights it begins with
    near: int = 1  # photos like each other that are drawn together: harder negatives; 1: as published

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
        if (self.boxes or self.attend) and not self.variant.startswith("faier"):
            raise VericapError(f"boxes teach where regions attend to: variant '{self.variant}' has no attention")
        if self.teacher and self.loss not in TRIPLET:
            raise VericapError(f"a teacher stands beside the losses {' and '.join(TRIPLET)}, not beside '{self.loss}'")

    def drawn(self, captions: Ints, generator: np.random.Generator) -> Ints:
        """How many references each image gets, of those it has besides the candidate."""
        if self.references != "r":
            return np.minimum(int(self.references), captions - 1)
        # Without any, `aier` has nothing to learn from.
        return generator.integers(1 if self.variant == "aier" else 0, captions)


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
        self._draws = [self._draw(s, share, seed + i) for i, (s, share) in enumerate(zip(sources, shares))]
        self._validation = validation
        self._held = 1 if options.variant == "aier" else 0  # the last caption is the reference where one is needed
        if validation.sentences is None:
            raise VericapError("validation needs sentence vectors of its captions")
        places = validation.places
        self._judged = CaptionPlaces(places.counts - self._held, places.each)
        if min(own.places.fewest for own in [*sources, validation]) <= self._held:
            raise VericapError(f"variant '{options.variant}' reads references: every image needs two captions")
        self._pairs = near_pairs(np.asarray(validation.sentences, dtype=np.float32), self._judged)

    def _draw(self, source: FaierSource, share: int, seed: int) -> Draw | NeighbourDraw:
        if self.options.near < 2:
            return Draw(len(source), share, seed)
        if source.sentences is None:
            raise VericapError("neighbours are found by sentence vectors of the captions")
        return drawn(source.sentences, share, seed, near=self.options.near)

    def losses(self, step: int, generator: np.random.Generator) -> Losses:
        options = self.options
        parts = [self._part(source, draw.batch(step), generator) for source, draw in zip(self.sources, self._draws)]
        found = self._matched(parts, step)
        if pointing := [part.pointing for part in parts if part.pointing is not None]:
            boxes, attended = torch.stack(pointing).mean(dim=0)
            taught = options.boxes * boxes + options.attend * attended
            found = {
                "matched": found["loss"],
                **found,
                "boxes": boxes,
                "attended": attended,
                "loss": found["loss"] + taught,
            }
        return found

    def _matched(self, parts: Sequence[_Part], step: int) -> Losses:
        """The loss over all pairs of images and candidates."""
        options, scores = self.options, self._all(parts)
        if options.loss in TRIPLET:
            if options.loss == "hardest":
                hardest = min(1.0, step / max(options.hard_warmup, 1))
                lost = losses.hardest_negative(scores, margin=options.margin, hardest=hardest)
            else:
                lost = losses.all_negatives(scores, margin=options.margin)
            if not options.teacher:
                return {"loss": lost}
            taught = losses.unlike(scores, self._target(parts))
            return {"loss": lost + options.teacher * taught, "matched": lost, "taught": taught}
        contrast = losses.info_nce(scores, self.model.temperature.exp())
        if options.loss == "infonce":
            return {"loss": contrast}
        distilled = losses.distillation(scores, self._target(parts), self.model.scale, self.model.bias)
        return {"loss": distilled + options.contrast * contrast, "distilled": distilled, "contrast": contrast}

    @staticmethod
    def _target(parts: Sequence[_Part]) -> Tensor:
        """What a text teacher says of all pairs: cosines of candidates with the other captions of the images."""
        sentences = torch.as_tensor(np.concatenate([p.sentences for p in parts]))
        own = torch.as_tensor(np.concatenate([p.candidate for p in parts]))[:, None]
        there = torch.as_tensor(np.concatenate([p.there for p in parts]))
        with torch.autocast(sentences.device.type, enabled=False):  # what is learned from is not rounded
            return losses.held_out(losses.cosines(sentences, own), own, there)

    def _part(self, source: FaierSource, rows: Ints, generator: np.random.Generator) -> _Part:
        """Images of one source with a candidate each; this process's with their union nodes."""
        places = source.places
        order = places.drawn(rows, places.each, generator)
        drawn = self.options.drawn(places.counts[rows], generator)
        mine = parallel.part(len(rows))
        own, captions = rows[mine], rows[mine, None] * places.each + order[mine]
        used = np.arange(1, places.each)[None, :] <= drawn[mine, None]
        chosen = np.full(used.shape, -1, dtype=np.int64)
        chosen[used] = len(own) + np.arange(int(used.sum()))
        said = np.concatenate([captions[:, 0], captions[:, 1:][used]])
        text = self.net.encode(source.captions.take(said))
        features, boxes, mask = source.images[own]
        visual = self.net.regions(features, boxes, mask)
        sides = {level: self.net.sides(level, visual[level], mask, text[level], chosen) for level in self.net.levels}
        candidates = {level: text[level].rows(np.arange(len(own))) for level in self.net.levels}
        sentences = source.sentences[rows] if source.sentences is not None else np.zeros((len(rows), 0, 0))
        there = places.there(rows)[:, : sentences.shape[1]].astype(np.float32)
        pointing = None
        if source.boxes is not None:
            owners = np.concatenate([np.arange(len(own)), np.nonzero(used)[0]])
            pointed = source.boxes.pointed(own, said, owners, text["object"].counts)
            if pointed is not None:
                union = sides["object"][0][1]
                regions, words = visual["object"], text["object"]
                points = self.net.points(regions, union, mask, words, pointed)
                chooses = self.net.chooses(regions, words, pointed) if self.options.attend else torch.zeros(())
                pointing = torch.stack([points, chooses])
        return _Part(sides, candidates, np.asarray(sentences, dtype=np.float32), there, order[:, 0], pointing)

    def _all(self, parts: Sequence[_Part]) -> Tensor:
        """Scores of all images of the step with all candidates: this process computes the rows of its images."""
        texts = [{level: nodes.gathered() for level, nodes in part.candidates.items()} for part in parts]
        rows = [torch.cat([self.net.scores(part.sides, text) for text in texts], dim=1) for part in parts]
        return torch.cat([parallel.gather(own) for own in rows])

    def validate(self) -> dict[str, float]:
        scores = self.matrix(self._validation)
        found = recall(scores, owners=self._judged.owners)
        return {"agreement": agreement(scores, self._pairs), "retrieval": mean_recall(found), **found}

    def matrix(self, source: FaierSource) -> Array:
        """Scores of all images with all captions, without references (`aier`: the last caption is one)."""
        count = len(source)
        features, boxes, mask = source.images[np.arange(count)]
        visual = self.net.regions(features, boxes, mask)
        last = np.arange(count) * source.places.each + source.places.counts - 1
        chosen = np.arange(count)[:, None] if self._held else np.zeros((count, 0), dtype=np.int64)
        text = self.net.encode(source.captions.take(last))
        sides = {level: self.net.sides(level, visual[level], mask, text[level], chosen) for level in self.net.levels}
        columns = self._judged.columns
        found = [
            self.net.scores(sides, self.net.encode(source.captions.take(columns[start : start + 200])))
            for start in range(0, len(columns), 200)
        ]
        return torch.cat(found, dim=1).cpu().numpy()


@dataclass
class _Part:
    sides: dict[str, list[Side]]  # of this process's images
    candidates: dict[str, TextNodes]  # of this process's images
    sentences: Array  # (images, k, d) of all images of the step
    there: Array  # (images, k) 1 for a caption that is there
    candidate: Ints  # which caption of each image
    pointing: Tensor | None = None  # (2,) what boxes say of the words and of the attention of this process's images


def train(
    sources: Sequence[FaierSource],
    shares: Sequence[int],
    validation: FaierSource,
    output: str | Path,
    *,
    plan: TrainPlan,
    options: FaierOptions,
    features: dict[str, Any],
    vocabulary: Sequence[str],
    start: FaierModel | None = None,
    share: float = 1.0,
    storage: str = "int8",
    name: str = "vericap-faier",
    quiet: bool = False,
) -> dict[str, Any]:
    """Train; write the weights that retrieve best to `output/faier`, those that agree best to `output/faier-agreement`.

    `features` says what the regions are (`FeatureStore.trained_on`); with `share` below 1 the weights that are written
    go a share of the way from those of `start` to what was learned.
    """
    options.check()
    torch.manual_seed(plan.seed)
    width, regions, fingerprint = (features[name] for name in ("width", "regions", "fingerprint"))
    config = FaierConfig(width, options.d, options.words, options.variant, options.similarity, regions, fingerprint)
    model = LearningFaier(FaierModule(config, vocabulary))
    describe: dict[str, Any] = {"options": asdict(options), "photos": [len(own) for own in sources]}
    describe["shares"] = list(shares)
    if start is not None:
        _begin(model.net, start, options.sharper)
        describe["before"] = start.meta.get("trained", {})
    groups = [{"params": list(model.parameters()), "lr": options.rate}]
    seen = {**describe, "features": features}
    trainer = Trainer(model, groups, plan, output, describe=seen, watch=CHOSEN, quiet=quiet)
    task = FaierTask(model, options, sources, shares, validation, plan.seed)
    trainer.run(task.losses, task.validate)
    found: dict[str, Any] = {}
    for figure in reversed(CHOSEN):  # the first one's weights stay in the model
        row = trainer.load_best(figure)
        chosen = {"steps": int(row["step"]), "chosen": plan.keep if plan.keep == "last" else figure}
        if start is not None and share < 1:
            _put(model.net, between(start.weights, model.net.export().weights, share))
            with torch.no_grad():
                row, chosen = task.validate(), {**chosen, "share": share}
        figures = {name: row.get(name, float("nan")) for name in CHOSEN}
        found = {**describe, **chosen, **figures, "optimizer": plan.optimizer, "vocabulary": len(vocabulary)}
        about = {"licence": "Apache-2.0", "source": "trained by `vericap train faier`", "trained": found}
        if parallel.rank() == 0:
            folder = Path(output) / ("faier" if figure == CHOSEN[0] else f"faier-{figure}")
            model.net.export(name).save(folder, storage=storage, features=features, **about)
    return found


def _begin(net: FaierModule, start: FaierModel, sharper: float) -> None:
    """Begin with the weights of an earlier model of the same shape, vocabulary and features, its attention sharper."""
    check_same(net.config.fingerprint, "this training", start.fingerprint, start.name)
    if start.vocabulary != net.vocabulary:
        raise VericapError("the model to begin with has another vocabulary; name it with `vocabulary_from=DIR` too")
    expected = net.config.shapes(len(net.vocabulary))
    for key, shape in expected.items():
        if key not in start.weights or start.weights[key].shape != shape:
            raise VericapError(f"the model to begin with has no {key} of shape {shape}; train it with the same options")
    factors = {key: sharper for key in expected if key.startswith(("attention.", "offset."))}
    _put(net, {key: start.weights[key] * np.float32(factors.get(key, 1.0)) for key in expected})


def _put(net: FaierModule, weights: Mapping[str, Any]) -> None:
    net.load_state_dict({key: torch.from_numpy(np.asarray(value)) for key, value in weights.items()})
