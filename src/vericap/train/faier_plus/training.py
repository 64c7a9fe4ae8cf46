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

from vericap.core.shipped import write_meta
from vericap.core.typing import Array
from vericap.models.faier_plus import LEVELS
from vericap.train import losses
from vericap.train.claims import ClaimTensors, halved
from vericap.train.data import PER_IMAGE, Draw
from vericap.train.faier_plus.data import FaierPlusSource
from vericap.train.faier_plus.network import CaptionTensors, FaierPlusModule, GivenReferences
from vericap.train.trainer import Losses, Trainer, TrainPlan
from vericap.train.validate import agreement, near_pairs, recall
from vericap.vision.regions import LEVELS as WINDOWS
from vericap.vision.regions import pyramid


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


class FaierPlusTask:
    """Batches and validation of one training."""

    def __init__(
        self,
        model: FaierPlusModule,
        sources: list[FaierPlusSource],
        shares: list[int],
        dev: FaierPlusSource,
        options: FaierPlusOptions,
    ):
        self.model, self.sources, self.options, self.dev = model, sources, options, dev
        self._draws = [Draw(len(source), share, 11 + i) for i, (source, share) in enumerate(zip(sources, shares))]
        self._pairs = halved(near_pairs(np.asarray(dev.sentences, dtype=np.float32)), dev.claims)
        self._boxes = torch.from_numpy(pyramid(WINDOWS))

    def _visual(self, features: Array) -> dict[str, Tensor]:
        embedded = torch.from_numpy(np.asarray(features, dtype=np.float32))
        images, regions, _ = embedded.shape
        boxes = self._boxes[None, :regions].expand(images, -1, -1)
        return self.model.regions(embedded, boxes, torch.ones(images, regions, dtype=torch.bool))

    def losses(self, step: int, generator: np.random.Generator) -> Losses:
        batch = FaierPlusStep.draw(self.sources, self._draws, step, generator, self.options)
        found, scores = self.model.parts(self._visual(batch.features), batch.candidates, batch.references)
        own = batch.target.shape[1]  # the changed captions come after
        distilled = torch.stack(
            [_distilled(values[:, :own], holds[:, :own], batch.target) for values, holds in found.values()]
        ).sum() / len(LEVELS)
        rows = torch.arange(len(scores))
        right, wrong = scores[rows, rows * self.options.candidates], scores[rows, own:].diagonal()
        ranking = F.relu(self.options.margin - (right - wrong))[batch.changed]
        ranked = ranking.mean() / self.options.margin if len(ranking) else torch.zeros(())
        contrast = losses.info_nce(scores[:, rows * self.options.candidates], self.model.contrast.exp())
        loss = distilled + self.options.contrast * contrast + self.options.ranking * ranked
        return {"loss": loss, "distilled": distilled, "contrast": contrast, "ranked": ranked}

    def validate(self) -> dict[str, float]:
        """Reference-free retrieval and agreement, and how often a changed caption is seen."""
        dev, columns = self.dev, []
        visual = self._visual(dev.features[:])
        for start in range(0, len(dev) * PER_IMAGE, 200):
            block = dev.texts(np.arange(start, min(start + 200, len(dev) * PER_IMAGE)))
            columns.append(self.model.parts(visual, block)[1])
        scores = torch.cat(columns, dim=1).numpy()
        rows = np.flatnonzero(dev.changed_there)
        wrong = np.zeros(len(rows), dtype=np.float32)
        for start in range(0, len(rows), 50):
            part = rows[start : start + 50]
            some = {level: values[part] for level, values in visual.items()}
            found = self.model.parts(some, dev.changed(part))[1]
            wrong[start : start + 50] = found.diagonal().numpy()
        right = scores[rows, rows * PER_IMAGE]
        seen = 100.0 * float((right > wrong).mean()) if len(rows) else float("nan")
        return {"agreement": agreement(scores, self._pairs), **recall(scores), "changed": seen}


@dataclass
class FaierPlusStep:
    """Images of one step with candidates, changed copies of them, and references drawn anew."""

    features: Array
    candidates: CaptionTensors
    references: GivenReferences | None
    target: Tensor  # (images, own candidates)
    changed: Tensor  # (images,) whether a changed copy of the first candidate exists

    @classmethod
    def draw(
        cls,
        sources: list[FaierPlusSource],
        draws: list[Draw],
        step: int,
        generator: np.random.Generator,
        options: FaierPlusOptions,
    ) -> FaierPlusStep:
        features, sentences, own, held, candidates, altered, changed = [], [], [], [], [], [], []
        references: list[CaptionTensors] = []
        images: list[Array] = []
        said: list[ClaimTensors] = []
        before = 0
        for source, draw in zip(sources, draws):
            rows = draw.batch(step)
            order = np.stack([generator.permutation(source.per_image) for _ in rows])
            # The changed copy is of the first caption: it is a candidate, and no reference.
            picked = _first(order, options.candidates)
            given = order[:, options.candidates : options.candidates + options.references]
            use = np.arange(given.shape[1]) < generator.integers(0, options.references + 1, len(rows))[:, None]
            features.append(np.asarray(source.features[rows], dtype=np.float32))
            sentences.append(np.asarray(source.sentences[rows], dtype=np.float32))
            own.append(picked)
            held.append(_held(use, given, sentences[-1].shape[1]))
            candidates.append(source.texts((rows[:, None] * source.per_image + picked).reshape(-1)))
            altered.append(source.changed(rows))
            changed.append(source.changed_there[rows])
            if source.claims is not None:
                said.append(source.claims.of_images(rows))
            image, place = np.nonzero(use)
            if len(image):
                references.append(source.texts(rows[image] * source.per_image + given[image, place]))
                images.append(before + image)
            before += len(rows)
        vectors, chosen, kept = (torch.from_numpy(np.concatenate(part)) for part in (sentences, own, held))
        target = losses.held_out(losses.cosines(vectors, chosen), chosen, kept)
        if said:
            target = losses.half(target, ClaimTensors.joined(said).compared(chosen).target(kept))
        return cls(
            np.concatenate(features),
            CaptionTensors.joined(candidates + altered),
            GivenReferences(CaptionTensors.joined(references), torch.from_numpy(np.concatenate(images)))
            if references
            else None,
            target,
            torch.from_numpy(np.concatenate(changed)),
        )


def _given(references: list[CaptionTensors], images: list[Array]) -> GivenReferences | None:
    if not references:
        return None
    return GivenReferences(CaptionTensors.joined(references), torch.from_numpy(np.concatenate(images)))


def _first(order: Array, candidates: int) -> Array:
    """Move caption 0 to the front of each row's order; the others keep theirs."""
    for row in order:
        place = int(np.flatnonzero(row == 0)[0])
        row[1 : place + 1] = row[:place].copy()
        row[0] = 0
    return order[:, :candidates]


def _held(use: Array, given: Array, captions: int) -> Array:
    """Captions (images, captions) that are not given as references."""
    held = np.ones((len(use), captions), dtype=np.float32)
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
    fingerprint: str,
    encoder: str,
    token_mean: Array,
    start: tuple[Mapping[str, Array], Mapping[str, Any]] | None = None,
    name: str = "vericap-faier-plus",
    quiet: bool = False,
) -> dict[str, Any]:
    """Train, then write `faier_plus/` with weights (float16) and meta.json below the folder.

    `start` are weights and meta file of a model this one begins with.
    """
    from safetensors.numpy import save_file

    torch.manual_seed(plan.seed)
    model = FaierPlusModule(options.hidden)
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
    if start is not None:
        model.begin_with(start[0])
        describe["before"] = start[1].get("trained", {})
    trainer = Trainer(model, groups, plan, output, describe=describe, quiet=quiet)
    task = FaierPlusTask(model, sources, shares, dev, options)
    state = trainer.run(task.losses, task.validate)
    trainer.load_best()
    trained = {**describe, "steps": state.best_step, "agreement": state.best}
    folder = Path(output) / "faier_plus"
    folder.mkdir(parents=True, exist_ok=True)
    halved = {key: value.astype(np.float16) for key, value in model.weights().items()}
    save_file(halved, folder / "faier_plus.safetensors")
    meta = {
        "name": name,
        "fingerprint": fingerprint,
        "encoder": encoder,
        "licence": "Apache-2.0",
        "source": "trained by `vericap train faier-plus`; text side: the shipped sentence encoder",
        "trained": trained,
    }
    write_meta(folder, meta)
    return trained
