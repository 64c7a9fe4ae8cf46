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

from vericap.core.typing import Array, Bools, Floats32, Ints
from vericap.models.described import text_side
from vericap.train import losses, parallel
from vericap.train.claims import ClaimTable, ClaimTensors, halved
from vericap.train.data import CaptionPlaces, Draw
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
    """Regions (n, regions, width), or photos' lower outputs (n, h, w, 120), and captions' centred unit vectors
    (n, k, d)."""

    maps: Any  # an array, or what reads its rows from a store (train.kept.StoreFeatures)
    texts: Array
    claims: ClaimTable | None = None  # of the same captions, for the teacher that compares claims
    places: CaptionPlaces | None = None  # where images have different numbers of captions

    def __len__(self) -> int:
        return len(self.texts)

    def captions(self, each: int) -> CaptionPlaces:
        """Which of the first `each` captions are there."""
        return (self.places or CaptionPlaces.full(len(self), self.texts.shape[1])).first(each)

    def mask(self, rows: slice | Ints) -> Bools | None:
        """Which regions are there, where some are not."""
        mask: Bools | None = getattr(self.maps, "mask", None)
        return None if mask is None else mask[rows]

    def vectors(self, rows: slice | Ints, each: int) -> Floats32:
        return np.asarray(self.texts[rows, :each], dtype=np.float32)


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
        every = validation.captions(validation.texts.shape[1])
        texts = validation.vectors(slice(None), every.each)
        self._pairs = halved(near_pairs(texts, every), validation.claims)
        self._columns, self._owners = every.columns, every.owners

    @property
    def _sources(self) -> list[tuple[VseSource, Draw]]:
        both = [(self.main, self._draw)]
        if self.extra is not None and self._draw_extra is not None:
            both.append((self.extra, self._draw_extra))
        return both

    def losses(self, step: int, generator: np.random.Generator) -> Losses:
        parts = [(source, draw.batch(step)) for source, draw in self._sources]
        regions = [self._regions(source, rows, generator) for source, rows in parts]
        captions = torch.cat([torch.as_tensor(source.vectors(rows, self._captions)) for source, rows in parts])
        places = [source.captions(self._captions) for source, _ in parts]
        there = torch.as_tensor(np.concatenate([own.there(rows) for own, (_, rows) in zip(places, parts)]))
        said = [source.claims.of_images(rows) for source, rows in parts if source.claims is not None]
        near, near_said = self._near(captions, generator)
        if said:
            drawn = [own.drawn(rows, _CLAIMING, generator) for own, (_, rows) in zip(places, parts)]
            own = torch.as_tensor(np.concatenate(drawn))
            claims = ClaimTensors.joined([*said, *near_said])
            candidates, target = claimed(captions, near, claims, own, there)
            counts = torch.full((len(captions),), _CLAIMING)
        else:
            candidates, target = losses.teacher(captions, near, there)
            counts = there.sum(dim=1)
        head = self.model.head
        scores = torch.cat([parallel.gather(head.score(own, candidates, mask)) for own, mask in regions])
        chosen = (torch.as_tensor(generator.random(len(counts))) * counts).long()
        own = torch.cumsum(counts, 0) - counts + chosen
        distilled = losses.distillation(scores, target, head.scale, head.bias)
        contrast = losses.info_nce(scores[:, own], head.temperature.exp())
        return {
            "loss": distilled + self.options.contrast * contrast,
            "distilled": distilled,
            "contrast": contrast,
        }

    def _regions(
        self, source: VseSource, rows: Ints, generator: np.random.Generator
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Regions of this process's images in the sentence space, and which are there."""
        mirrored = generator.random(len(rows)) < 0.5 if self.options.mirror else np.zeros(len(rows), dtype=bool)
        mine = parallel.part(len(rows))
        x = torch.as_tensor(np.ascontiguousarray(source.maps[rows[mine]])).float()
        turned = torch.as_tensor(mirrored[mine])
        if self.options.mirror:
            x[turned] = x[turned].flip(2)
        mask = source.mask(rows[mine])
        return self.model(x), None if mask is None else torch.as_tensor(mask)

    def _near(self, captions: torch.Tensor, generator: np.random.Generator) -> tuple[torch.Tensor, list[ClaimTensors]]:
        """Vectors of near captions of a random pool, and what they claim."""
        sources = [source for source, _ in self._sources]
        pools, places, images = [], [], max(self.options.pool // captions.shape[1] // len(sources), 1)
        for number, source in enumerate(sources):
            rows = np.sort(generator.integers(0, len(source), images))
            own = source.captions(self._captions).there(rows)
            pools.append(source.vectors(rows, self._captions)[own])
            numbers = (rows[:, None] * source.texts.shape[1] + np.arange(self._captions))[own]
            places.append(np.stack([np.full(len(numbers), number), numbers], axis=1))
        pool = torch.as_tensor(np.concatenate(pools))
        if self.main.claims is None:
            return pool[losses.harder(captions, pool, self.options.near)], []
        chosen = losses.harder(captions, pool, self.options.near // 4)  # comparing claims takes longer
        which = np.concatenate(places)[chosen.cpu().numpy()]
        order = np.argsort(which[:, 0], kind="stable")  # those of one source together
        said = [s.claims.read(which[which[:, 0] == n, 1]) for n, s in enumerate(sources) if s.claims is not None]
        return pool[chosen[torch.as_tensor(order)]], said

    def validate(self) -> dict[str, float]:
        validation, head = self._validation, self.model.head
        texts = validation.vectors(slice(None), validation.texts.shape[1])
        flat = torch.as_tensor(texts.reshape(-1, texts.shape[-1])[self._columns])
        rows = []
        for start in range(0, len(validation), 50):
            some = slice(start, start + 50)
            regions = self.model(torch.as_tensor(np.ascontiguousarray(validation.maps[some])).float())
            mask = validation.mask(some)
            rows.append(head.score(regions, flat, None if mask is None else torch.as_tensor(mask)))
        scores = torch.cat(rows).cpu().numpy()
        return {"agreement": agreement(scores, self._pairs), **recall(scores, owners=self._owners)}


def claimed(
    captions: torch.Tensor, near: torch.Tensor, said: ClaimTensors, own: torch.Tensor, there: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Candidates (own (images, k) captions, then near ones) and their target: half likeness of sentences, half of
    claims. `there` (images, n) says which captions count."""
    every = torch.ones(captions.shape[:2]) if there is None else there.float()
    target = losses.held_out(losses.cosines(captions, own), own, every)
    mean = (captions * every[..., None]).sum(dim=1) / every.sum(dim=1, keepdim=True)
    target = torch.cat([target, mean @ near.t()], dim=1)
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
    features: dict[str, Any],
    text_encoder: str,
    options: VseOptions | None = None,
    start: tuple[Mapping[str, Array], Mapping[str, Any]] | None = None,
    name: str = "vericap-vse",
    quiet: bool = False,
) -> dict[str, Any]:
    """Train the head alone on regions of a finished extractor (`maps` of the sources: (n, regions, width)).

    `features` says what they are (`FeatureStore.trained_on`); `start` are weights and meta file of an encoder this one
    begins with.
    """
    options = options or VseOptions(mirror=False, head_rate=5e-4)
    torch.manual_seed(plan.seed)
    model = VseModule(int(main.maps.shape[-1]), main.texts.shape[-1], options.hidden, start[0] if start else None)
    groups = [{"params": list(model.parameters()), "lr": options.head_rate}]
    describe: dict[str, Any] = {
        "options": asdict(options),
        "photos": [len(main), 0 if extra is None else len(extra)],
    }
    if start is not None:
        describe["before"] = {**start[1].get("trained", {}), "fingerprint": start[1].get("fingerprint")}
    seen = {**describe, "features": features, **text_side(text_encoder)}
    trainer = Trainer(model, groups, plan, output, describe=seen, quiet=quiet)
    task = VseTask(model, main, extra, validation, options, plan.seed)
    state = trainer.run(task.losses, task.validate)
    trainer.load_best()
    trained = {**describe, "steps": state.best_step, "agreement": state.best}
    if parallel.rank() == 0:
        known = {"name": name, "fingerprint": features["fingerprint"], "features": features}
        save_encoder(model.head, Path(output) / "vse", {**known, **text_side(text_encoder), "trained": trained})
    return trained
