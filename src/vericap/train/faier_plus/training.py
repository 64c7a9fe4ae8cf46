"""Train FAIEr-plus: batches with references drawn anew, what they learn from, validation.

For every image some captions are references (0 to 3, drawn at random), others candidates; the teacher is the cosine
between a candidate and the image's captions that were *not* given, so that references are used as people use them: to
guess what a further person would say. With the teacher `claims` half of it is the likeness of what they claim. Every
level and part learns it on its own (distillation); the sum learns to tell images apart (0.1 InfoNCE) and to put a
caption above a copy with one claim changed (ranking).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from vericap.core.shipped import save_weights, write_meta
from vericap.core.typing import Array, Bools, Ints
from vericap.models.described import text_side
from vericap.models.faier_plus import LEVELS
from vericap.train import losses, parallel
from vericap.train.claims import ClaimTensors, halved
from vericap.train.data import Draw
from vericap.train.faier_plus.data import FaierPlusSource
from vericap.train.faier_plus.network import CaptionTensors, FaierPlusModule, GivenReferences
from vericap.train.ratings import RatedPhotos
from vericap.train.trainer import Losses, Trainer, TrainPlan, between
from vericap.train.validate import agreement, near_pairs, recall


@dataclass
class FaierPlusOptions:
    """What moves the result, besides the data and the plan."""

    batch: int = 48
    candidates: int = 2  # captions of every image that are scored with every image
    references: int = 3  # most references of an image in training
    hidden: int = 384
    rate: float = 5e-4
    contrast: float = 0.1
    ranking: float = 0.1  # weight of the loss on changed captions
    margin: float = 0.03  # by which a caption should stand above its changed copy, in the teacher's cosine
    teacher: str = "sentences"  # or `claims`: what their scene graphs claim counts as much
    people: float = 0.0  # weight of people's ratings
    rated: int = 96  # photos in a step whose ratings are learned


class FaierPlusTask:
    """Batches and validation of one training."""

    def __init__(
        self,
        model: FaierPlusModule,
        sources: list[FaierPlusSource],
        shares: list[int],
        dev: FaierPlusSource,
        options: FaierPlusOptions,
        rated: tuple[FaierPlusSource, RatedPhotos] | None = None,
    ):
        self.model, self.sources, self.options, self.dev, self._rated = model, sources, options, dev, rated
        self._draws = [Draw(len(source), share, 11 + i) for i, (source, share) in enumerate(zip(sources, shares))]
        self._pairs = halved(near_pairs(np.asarray(dev.sentences, dtype=np.float32), dev.places), dev.claims)

    def losses(self, step: int, generator: np.random.Generator) -> Losses:
        batch = FaierPlusStep.draw(self.sources, self._draws, step, generator, self.options)
        visual, mask = batch.shown.visual(self.model), batch.shown.mask
        found, scores = self.model.parts(visual, batch.candidates, batch.references, mask)
        values = batch.gathered(torch.stack([part for part, _ in found.values()], dim=1))
        holds = batch.gathered(torch.stack([there for _, there in found.values()], dim=1).float())
        scores = batch.gathered(scores)
        own = batch.target.shape[1]  # the changed captions come after
        distilled = torch.stack(
            [_distilled(values[:, k, :own], holds[:, k, :own], batch.target) for k in range(len(found))]
        ).sum() / len(LEVELS)
        rows = torch.arange(len(scores))
        right, wrong = scores[rows, rows * self.options.candidates], scores[rows, own:].diagonal()
        ranking = F.relu(self.options.margin - (right - wrong))[batch.changed]
        ranked = ranking.mean() / self.options.margin if len(ranking) else torch.zeros(())
        contrast = losses.info_nce(scores[:, rows * self.options.candidates], self.model.contrast.exp())
        loss = distilled + self.options.contrast * contrast + self.options.ranking * ranked
        found_losses = {"distilled": distilled, "contrast": contrast, "ranked": ranked}
        if self._rated is not None:
            found_losses["people"] = self._people(*self._rated, generator)
            loss = loss + self.options.people * found_losses["people"]
        return {"loss": loss, **found_losses}

    def _people(self, source: FaierPlusSource, rated: RatedPhotos, generator: np.random.Generator) -> Tensor:
        """How unlike people's ratings the scores of some captions are."""
        drawn = rated.drawn(self.options.rated, max(self.options.references, 1), generator)
        shown, first = Shown.of(source, drawn.rows), drawn.rows * source.per_image
        photos, places = np.nonzero(drawn.use)
        references = None
        if len(photos):
            told = source.texts(first[photos] + drawn.given[photos, places])
            references = GivenReferences(told, torch.as_tensor(photos))
        candidates = source.texts(first + drawn.columns)
        scores = self.model.parts(shown.visual(self.model), candidates, references, shown.mask)[1]
        return losses.unlike(scores.diagonal(), torch.as_tensor(drawn.values))

    def validate(self) -> dict[str, float]:
        """Reference-free retrieval and agreement, and how often a changed caption is seen."""
        dev, columns = self.dev, self.dev.read.columns
        shown = Shown.of(dev, slice(None))
        visual, found = shown.visual(self.model), []
        for start in range(0, len(columns), 200):
            found.append(self.model.parts(visual, dev.texts(columns[start : start + 200]), mask=shown.mask)[1])
        scores = torch.cat(found, dim=1).cpu().numpy()
        rows = np.flatnonzero(dev.changed_there)
        wrong = np.zeros(len(rows), dtype=np.float32)
        for start in range(0, len(rows), 50):
            part = rows[start : start + 50]
            some = {level: values[torch.as_tensor(part)] for level, values in visual.items()}
            against = self.model.parts(some, dev.changed(part), mask=shown.mask[torch.as_tensor(part)])[1]
            wrong[start : start + 50] = against.diagonal().cpu().numpy()
        right = scores[rows, np.searchsorted(dev.read.owners, rows)]
        seen = 100.0 * float((right > wrong).mean()) if len(rows) else float("nan")
        retrieved = recall(scores, owners=dev.read.owners)
        return {"agreement": agreement(scores, self._pairs), **retrieved, "changed": seen}


@dataclass
class Shown:
    """Embedded regions of some images with their boxes, and which regions are there."""

    features: Tensor
    boxes: Tensor
    mask: Tensor

    @classmethod
    def of(cls, source: FaierPlusSource, rows: slice | Ints) -> Shown:
        features, boxes = (np.asarray(given[rows], dtype=np.float32) for given in (source.features, source.boxes))
        return cls(*(torch.as_tensor(value) for value in (features, boxes, source.inside(rows))))

    @classmethod
    def joined(cls, parts: list[Shown]) -> Shown:
        return cls(*(torch.cat(values) for values in zip(*(vars(part).values() for part in parts))))

    def visual(self, model: FaierPlusModule) -> dict[str, Tensor]:
        return model.regions(self.features, self.boxes, self.mask)


@dataclass
class FaierPlusStep:
    """Images of one step with candidates, changed copies of them, and references drawn anew.

    This process has the images `shown`, with their references; candidates and targets are those of all processes.
    """

    shown: Shown
    sizes: list[int]  # images shown of each source
    candidates: CaptionTensors
    references: GivenReferences | None
    target: Tensor  # (images, own candidates)
    changed: Tensor  # (images,) whether a changed copy of the first candidate exists

    def gathered(self, rows: Tensor) -> Tensor:
        """Rows of all images of the step, source after source, from those of the images shown here."""
        return torch.cat([parallel.gather(part) for part in torch.split(rows, self.sizes)])

    @classmethod
    def draw(
        cls,
        sources: list[FaierPlusSource],
        draws: list[Draw],
        step: int,
        generator: np.random.Generator,
        options: FaierPlusOptions,
    ) -> FaierPlusStep:
        parts = [_Part.draw(source, draw.batch(step), generator, options) for source, draw in zip(sources, draws)]
        own = [parallel.part(len(part.rows)) for part in parts]
        vectors, chosen, held = (
            torch.as_tensor(np.concatenate([getattr(part, name) for part in parts]))
            for name in ("sentences", "picked", "held")
        )
        target = losses.held_out(losses.cosines(vectors, chosen), chosen, held)
        said = [part.source.claims.of_images(part.rows) for part in parts if part.source.claims is not None]
        if said:
            target = losses.half(target, ClaimTensors.joined(said).compared(chosen).target(held))
        shown = [Shown.of(part.source, part.rows[mine]) for part, mine in zip(parts, own)]
        altered = [part.source.changed(part.rows) for part in parts]
        return cls(
            Shown.joined(shown),
            [len(one.features) for one in shown],
            CaptionTensors.joined([part.candidates() for part in parts] + altered),
            _given(parts, own),
            target,
            torch.as_tensor(np.concatenate([part.source.changed_there[part.rows] for part in parts])),
        )


@dataclass
class _Part:
    """Images of one source in a step: candidates, references, and what the teacher reads."""

    source: FaierPlusSource
    rows: Ints
    picked: Ints  # (images, candidates)
    given: Ints  # (images, references)
    use: Bools  # which of them are given
    sentences: Array
    held: Array  # (images, captions) 1 for a caption that is there and not given

    @classmethod
    def draw(
        cls, source: FaierPlusSource, rows: Ints, generator: np.random.Generator, options: FaierPlusOptions
    ) -> _Part:
        order = source.read.drawn(rows, max(source.per_image, options.candidates), generator)
        # The changed copy is of the first caption: it is a candidate, and no reference.
        picked = _first(order, options.candidates)
        given = order[:, options.candidates : options.candidates + options.references]
        most = np.maximum(source.read.counts[rows] - options.candidates, 0)  # captions beside the candidates
        count = np.minimum(generator.integers(0, options.references + 1, len(rows)), most)
        use = np.arange(given.shape[1]) < count[:, None]
        held = _held(use, given, source.places.there(rows))
        return cls(source, rows, picked, given, use, np.asarray(source.sentences[rows], dtype=np.float32), held)

    def candidates(self) -> CaptionTensors:
        return self.source.texts((self.rows[:, None] * self.source.per_image + self.picked).reshape(-1))


def _given(parts: list[_Part], own: list[slice]) -> GivenReferences | None:
    """References of this process's images."""
    blocks, images, before = [], [], 0
    for part, mine in zip(parts, own):
        rows, given = part.rows[mine], part.given[mine]
        image, place = np.nonzero(part.use[mine])
        if len(image):
            blocks.append(part.source.texts(rows[image] * part.source.per_image + given[image, place]))
            images.append(before + image)
        before += len(rows)
    if not blocks:
        return None
    return GivenReferences(CaptionTensors.joined(blocks), torch.as_tensor(np.concatenate(images)))


def _first(order: Array, candidates: int) -> Array:
    """Move caption 0 to the front of each row's order; the others keep theirs."""
    for row in order:
        place = int(np.flatnonzero(row == 0)[0])
        row[1 : place + 1] = row[:place].copy()
        row[0] = 0
    return order[:, :candidates]


def _held(use: Array, given: Array, there: Bools) -> Array:
    """Captions (images, captions) that are there and not given as references."""
    held = there.astype(np.float32)
    image, place = np.nonzero(use)
    held[image, given[image, place]] = 0.0
    return held


def _distilled(values: Tensor, holds: Tensor, target: Tensor) -> Tensor:
    """Squared error where a part holds, as a share of the target's variance."""
    error = (values - target) ** 2 * holds
    return error.sum() / holds.sum().clamp(min=1) / target.var().clamp(min=1e-6)


def train(
    sources: list[FaierPlusSource],
    shares: list[int],
    dev: FaierPlusSource,
    output: str | Path,
    *,
    plan: TrainPlan,
    options: FaierPlusOptions,
    features: dict[str, Any],
    text_encoder: str,
    encoder: str,
    token_mean: Array,
    start: tuple[Mapping[str, Array], Mapping[str, Any]] | None = None,
    rated: tuple[FaierPlusSource, RatedPhotos] | None = None,
    share: float = 1.0,
    name: str = "vericap-faier-plus",
    quiet: bool = False,
) -> dict[str, Any]:
    """Train, then write `faier_plus/` with weights (8-bit matrices) and meta.json below the folder.

    `features` says what the regions are (`FeatureStore.trained_on`), `encoder` is the image-sentence encoder that
    embeds them; `start` are weights and meta file of a model this one begins with; `rated` are photos with ratings that
    are learned too, `share` is how far the weights that are written go from those of `start` to what was learned.
    """
    torch.manual_seed(plan.seed)
    model = FaierPlusModule(options.hidden, sources[0].sentences.shape[-1])
    model.start_from(token_mean)
    slow = [model.calibration, model.sharpness, *model.temperature.values(), *model.gate.values(), model.contrast]
    fast = {id(parameter) for parameter in slow}
    groups = [
        {"params": [p for p in model.parameters() if id(p) not in fast], "lr": options.rate},
        {"params": slow, "lr": 10 * options.rate},
    ]
    describe: dict[str, Any] = {
        "options": asdict(options),
        "photos": [len(source) for source in sources],
        "shares": shares,
    }
    if rated is not None:
        describe["rated"] = len(rated[1])
    if start is not None:
        model.begin_with(start[0])
        describe["before"] = {**start[1].get("trained", {}), "fingerprint": start[1].get("fingerprint")}
    seen = {**describe, "features": features, "encoder": encoder, **text_side(text_encoder)}
    trainer = Trainer(model, groups, plan, output, describe=seen, quiet=quiet)
    task = FaierPlusTask(model, sources, shares, dev, options, rated)
    state = trainer.run(task.losses, task.validate)
    trainer.load_best()
    trained = {**describe, "steps": state.best_step, "agreement": state.best}
    if start is not None and share < 1:
        model.begin_with(between(start[0], model.weights(), share))
        with torch.no_grad():
            trained |= {"share": share, "agreement": task.validate()["agreement"]}
    if parallel.rank() > 0:
        return trained
    folder = Path(output) / "faier_plus"
    save_weights(model.weights(), folder, "faier_plus")
    meta = {
        "name": name,
        "fingerprint": features["fingerprint"],
        "features": features,
        "encoder": encoder,
        **text_side(text_encoder),
        "licence": "Apache-2.0",
        "source": "trained by `vericap train faier-plus`",
        "trained": trained,
    }
    write_meta(folder, meta)
    return trained
