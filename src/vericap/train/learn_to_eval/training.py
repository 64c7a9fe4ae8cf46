"""Train the discriminator: cross entropy of people's captions and machines', with 0 to 4 references drawn at random."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from vericap.core import shipped
from vericap.core.typing import Array, Bools, Floats32, Ints
from vericap.models.described import text_side
from vericap.models.learn_to_eval import PART, word_pairs
from vericap.models.vse import regions_version
from vericap.train import parallel
from vericap.train.data import Captioned, Draw
from vericap.train.learn_to_eval.machine import KINDS, MachineCaptions
from vericap.train.learn_to_eval.network import Discriminator, save_discriminator
from vericap.train.trainer import Losses, Trainer, TrainPlan

MOST = 4  # references of a caption


@dataclass
class LearnOptions:
    """What moves the result of a training, besides the data and the plan."""

    batch: int = 128
    rate: float = 1e-3
    width: int = 64
    buckets: int = 8192
    pairs: int = 24
    hidden: int = 64


@dataclass
class Photos:
    """Photos with people's captions and machines'."""

    data: Captioned
    images: Floats32  # (photos, d) unit vectors of whole photos
    human: Array  # (photos, each, d) unit vectors of people's captions
    machine: MachineCaptions
    buckets: int

    def __len__(self) -> int:
        return len(self.data)

    @cached_property
    def human_pairs(self) -> list[list[list[int]]]:
        return [[word_pairs(text, self.buckets) for text in own] for own in self.data.captions]

    @cached_property
    def machine_pairs(self) -> list[list[list[int]]]:
        return [[word_pairs(text, self.buckets) for text in own] for own in self.machine.texts]

    def references(
        self, rows: Ints, left_out: Ints, counts: Sequence[int], generator: np.random.Generator
    ) -> tuple[Floats32, Bools]:
        """Mean vectors of some captions of each photo but one, and whether there are any."""
        found = np.zeros((len(rows), self.human.shape[2]), dtype=np.float32)
        known = np.zeros(len(rows), dtype=bool)
        for place, (row, own, count) in enumerate(zip(rows.tolist(), left_out.tolist(), counts)):
            others = [k for k in range(len(self.data.captions[row])) if k != own]
            chosen = generator.permutation(others)[:count]
            if len(chosen):
                found[place], known[place] = self.human[row, chosen].astype(np.float32).mean(axis=0), True
        return found, known


@dataclass
class Rows:
    """Captions to judge."""

    captions: Floats32
    images: Floats32
    references: Floats32
    known: Bools
    pairs: list[list[int]]

    def through(self, model: Discriminator) -> torch.Tensor:
        given = (torch.as_tensor(x) for x in (self.captions, self.images, self.references, self.known))
        found: torch.Tensor = model(*given, self.pairs)
        return found


def written(photos: Photos, rows: Ints, which: Ints, counts: Sequence[int], generator: np.random.Generator) -> Rows:
    """One caption of each photo that a person wrote, the others are its references."""
    references, known = photos.references(rows, which, counts, generator)
    pairs = [photos.human_pairs[row][k] for row, k in zip(rows.tolist(), which.tolist())]
    return Rows(photos.human[rows, which].astype(np.float32), photos.images[rows], references, known, pairs)


def made(photos: Photos, rows: Ints, kinds: Ints, counts: Sequence[int], generator: np.random.Generator) -> Rows:
    """One caption of each photo that a machine made."""
    references, known = photos.references(rows, photos.machine.sources[rows], counts, generator)
    pairs = [photos.machine_pairs[row][kind] for row, kind in zip(rows.tolist(), kinds.tolist())]
    vectors = photos.machine.vectors[rows, kinds].astype(np.float32)
    return Rows(vectors, photos.images[rows], references, known, pairs)


class LearnTask:
    """Losses and validation of the discriminator."""

    def __init__(self, model: Discriminator, photos: Photos, dev: Photos, options: LearnOptions, seed: int) -> None:
        self.model, self.photos, self.dev = model, photos, dev
        self._draw = Draw(len(photos), options.batch, seed)

    def losses(self, step: int, generator: np.random.Generator) -> Losses:
        self.model.train()
        photos, rows = self.photos, self._draw.batch(step)
        which = np.array([generator.integers(len(photos.data.captions[row])) for row in rows], dtype=np.int64)
        kinds = generator.integers(len(KINDS), size=len(rows))
        counts = generator.integers(0, MOST + 1, size=len(rows)).tolist()
        human = written(photos, rows, which, counts, generator).through(self.model)
        machine = made(photos, rows, kinds, counts, generator).through(self.model)
        truth = torch.cat([torch.ones(len(rows)), torch.zeros(len(rows))])
        return {"loss": F.binary_cross_entropy_with_logits(torch.cat([human, machine]), truth)}

    def validate(self) -> dict[str, float]:
        """How often a person's caption is above a machine's, in percent: with four references by kind, and without."""
        self.model.eval()
        found = {kind: self._above(number, MOST) for number, kind in enumerate(KINDS)}
        alone = float(np.mean([self._above(number, 0) for number in range(len(KINDS))]))
        return {"agreement": float(np.mean(list(found.values()))), "no references": alone, **found}

    def _above(self, kind: int, count: int) -> float:
        dev, generator = self.dev, np.random.default_rng(0)
        rows = np.arange(len(dev))
        first, counts = np.zeros_like(rows), [count] * len(rows)
        human = written(dev, rows, first, counts, generator).through(self.model)
        machine = made(dev, rows, np.full_like(rows, kind), counts, generator).through(self.model)
        return 100 * float((human > machine).float().mean())


def train_discriminator(
    photos: Photos,
    dev: Photos,
    output: str | Path,
    *,
    plan: TrainPlan,
    features: dict[str, Any],
    text_encoder: str,
    encoder: str = "default",
    options: LearnOptions | None = None,
    name: str = "vericap-learn-to-eval",
    quiet: bool = False,
) -> dict[str, Any]:
    """Train on photos and write the best discriminator; `encoder` is the image-sentence encoder of their vectors."""
    options = options or LearnOptions()
    torch.manual_seed(plan.seed)
    sizes = (options.width, options.buckets, options.pairs, options.hidden)
    model = Discriminator(photos.images.shape[1], *sizes)
    describe = {"options": asdict(options), "photos": len(photos), "machine_captions": list(KINDS)}
    version = regions_version(shipped.describe(encoder, "vse"))
    seen = {**describe, "features": features, "encoder_version": version, **text_side(text_encoder)}
    groups = [{"params": list(model.parameters()), "lr": options.rate}]
    trainer = Trainer(model, groups, plan, output, describe=seen, quiet=quiet)
    task = LearnTask(model, photos, dev, options, plan.seed)
    state = trainer.run(task.losses, task.validate)
    best = trainer.load_best()
    trained = {**describe, "steps": state.best_step, **{k: v for k, v in best.items() if k not in ("step", "loss")}}
    if parallel.rank() == 0:
        known = {"name": name, "fingerprint": features["fingerprint"], "features": features}
        over = {"encoder": encoder, "encoder_version": version, **text_side(text_encoder)}
        save_discriminator(model, Path(output) / PART, {**known, **over, "trained": trained})
    return trained
