"""Train the image-sentence encoder: the loss is distillation of the teacher's cosine between a candidate and the
image's other captions, plus 0.1 InfoNCE. Candidates are the batch's captions and near ones of a random pool.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from vericap.core.typing import Array
from vericap.train import losses
from vericap.train.claims import ClaimTable, ClaimTensors, halved
from vericap.train.data import PER_IMAGE, Draw
from vericap.train.trainer import Losses, Trainer, TrainPlan
from vericap.train.validate import agreement, near_pairs, recall
from vericap.train.vse.network import HeadedModule, VseModule, save_encoder

_CLAIMING = 2  # captions of every image whose claims are compared in a step


@dataclass
class VseOptions:
    """What moves the result of a training of encoder or backbone, besides the data and the plan."""

    batch: int = 128
    extra: int = 40  # photos of the second source in every batch
    backbone_rate: float = 2.5e-4
    head_rate: float = 1e-3
    contrast: float = 0.1
    pool: int = 6000  # captions drawn in every step, of which `near` become candidates
    near: int = 1024
    size: int = 288  # input side of the finished backbone; the 3 x 3 windows are whole cells of its 9 x 9 map
    photo_size: int = 256  # input side of the main source, whose photos may be smaller
    hidden: int = 768
    mirror: bool = True  # maps turned left to right half of the time
    teacher: str = "sentences"  # or `claims`: what their scene graphs claim counts as much


@dataclass
class VseSource:
    """Photos' lower outputs (n, h, w, 120) float16 and captions' centred unit vectors (n, k, 384)."""

    maps: Array
    texts: Array
    claims: ClaimTable | None = None  # of all five captions, for the teacher that compares claims

    def __len__(self) -> int:
        return len(self.texts)


class VseTask:
    """Batches and validation of one training."""

    def __init__(
        self,
        model: HeadedModule,
        main: VseSource,
        extra: VseSource | None,
        validation: VseSource,
        options: VseOptions,
        seed: int,
    ) -> None:
        self.model, self.main, self.extra, self.options = model, main, extra, options
        share = options.extra if extra is not None else 0
        self._captions = min(source.texts.shape[1] for source in (main, extra) if source is not None)
        self._draw = Draw(len(main), options.batch - share, seed)
        self._draw_extra = Draw(len(extra), share, seed + 1) if extra is not None else None
        self._validation = validation
        self._pairs = halved(near_pairs(np.asarray(validation.texts, dtype=np.float32)), validation.claims)

    @property
    def _sources(self) -> list[tuple[VseSource, Draw]]:
        both = [(self.main, self._draw)]
        if self.extra is not None and self._draw_extra is not None:
            both.append((self.extra, self._draw_extra))
        return both

    def losses(self, step: int, generator: np.random.Generator) -> Losses:
        regions, texts, said = [], [], []
        for source, draw in self._sources:
            rows = draw.batch(step)
            x = torch.from_numpy(np.ascontiguousarray(source.maps[rows])).float()
            if self.options.mirror:
                mirrored = torch.from_numpy(generator.random(len(x)) < 0.5)
                x[mirrored] = x[mirrored].flip(2)
            regions.append(self.model(x))
            texts.append(torch.from_numpy(np.asarray(source.texts[rows, : self._captions], dtype=np.float32)))
            if source.claims is not None:
                said.append(source.claims.of_images(rows))
        captions = torch.cat(texts)
        near, near_said = self._near(captions, generator)
        images, each = captions.shape[:2]
        if said:
            each = _CLAIMING
            picked = np.stack([generator.permutation(PER_IMAGE)[:each] for _ in range(images)])
            candidates, target = claimed(
                captions, near, ClaimTensors.joined([*said, *near_said]), torch.from_numpy(picked)
            )
        else:
            candidates, target = losses.teacher(captions, near)
        head = self.model.head
        scores = head.score(torch.cat(regions), candidates)
        own = torch.arange(images) * each + torch.from_numpy(generator.integers(0, each, images))
        distilled = losses.distillation(scores, target, head.scale, head.bias)
        contrast = losses.info_nce(scores[:, own], head.temperature.exp())
        return {
            "loss": distilled + self.options.contrast * contrast,
            "distilled": distilled,
            "contrast": contrast,
        }

    def _near(self, captions: torch.Tensor, generator: np.random.Generator) -> tuple[torch.Tensor, list[ClaimTensors]]:
        """Vectors of near captions of a random pool, and what they claim."""
        sources = [source for source, _ in self._sources]
        pools, places, images = [], [], max(self.options.pool // captions.shape[1] // len(sources), 1)
        for number, source in enumerate(sources):
            rows = np.sort(generator.integers(0, len(source), images))
            near = np.asarray(source.texts[rows, : self._captions], dtype=np.float32)
            pools.append(near.reshape(-1, captions.shape[-1]))
            numbers = (rows[:, None] * PER_IMAGE + np.arange(self._captions)).reshape(-1)
            places.append(np.stack([np.full(len(numbers), number), numbers], axis=1))
        pool = torch.from_numpy(np.concatenate(pools))
        if self.main.claims is None:
            return pool[losses.harder(captions, pool, self.options.near)], []
        chosen = losses.harder(captions, pool, self.options.near // 4)  # comparing claims takes longer
        which = np.concatenate(places)[chosen.numpy()]
        order = np.argsort(which[:, 0], kind="stable")  # those of one source together
        said = [s.claims.read(which[which[:, 0] == n, 1]) for n, s in enumerate(sources) if s.claims is not None]
        return pool[chosen[torch.from_numpy(order)]], said

    def validate(self) -> dict[str, float]:
        regions = []
        for start in range(0, len(self._validation), 50):
            maps = np.ascontiguousarray(self._validation.maps[start : start + 50])
            regions.append(self.model(torch.from_numpy(maps).float()))
        texts = np.asarray(self._validation.texts, dtype=np.float32)
        flat = torch.from_numpy(texts.reshape(-1, texts.shape[-1]))
        scores = torch.cat([self.model.head.score(part, flat) for part in regions]).numpy()
        return {"agreement": agreement(scores, self._pairs), **recall(scores)}


def claimed(
    captions: torch.Tensor, near: torch.Tensor, said: ClaimTensors, own: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Candidates (own (images, k) captions, then near ones) and their target: half likeness of sentences, half of
    claims."""
    every = torch.ones(captions.shape[:2])
    target = losses.held_out(losses.cosines(captions, own), own, every)
    target = torch.cat([target, captions.mean(dim=1) @ near.t()], dim=1)
    claimed = said.compared(own).target(every)
    candidates = captions[torch.arange(len(own))[:, None], own].flatten(0, 1)
    return torch.cat([candidates, near]), losses.half(target, claimed)


def train_encoder(
    main: VseSource,
    extra: VseSource | None,
    validation: VseSource,
    output: str | Path,
    *,
    plan: TrainPlan,
    fingerprint: str,
    options: VseOptions | None = None,
    start: tuple[Mapping[str, Array], Mapping[str, Any]] | None = None,
    name: str = "vericap-vse",
    quiet: bool = False,
) -> dict[str, Any]:
    """Train the head alone on windows of a finished backbone (`maps` of the sources: (n, windows, 1280)).

    `start` are weights and meta file of an encoder this one begins with.
    """
    options = options or VseOptions(mirror=False, head_rate=5e-4)
    torch.manual_seed(plan.seed)
    model = VseModule(options.hidden, start[0] if start else None)
    groups = [{"params": list(model.parameters()), "lr": options.head_rate}]
    describe: dict[str, Any] = {
        "options": asdict(options),
        "photos": [len(main), 0 if extra is None else len(extra)],
    }
    if start is not None:
        describe["before"] = start[1].get("trained", {})
    trainer = Trainer(model, groups, plan, output, describe=describe, quiet=quiet)
    task = VseTask(model, main, extra, validation, options, plan.seed)
    state = trainer.run(task.losses, task.validate)
    trainer.load_best()
    trained = {**describe, "steps": state.best_step, "agreement": state.best}
    save_encoder(model.head, Path(output) / "vse", fingerprint, name=name, trained=trained)
    return trained
