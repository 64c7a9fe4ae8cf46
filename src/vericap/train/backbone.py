"""Fine-tune the image backbone's upper blocks on image-caption pairs, and with them the `vse` encoder.

1. Every photo runs once through the frozen lower blocks; their output (float16) is kept on disk.
2. Every caption runs once through the shipped sentence encoder, the teacher.
3. The upper blocks and a small head are trained: each window of the map is mapped into the sentence space;
   the loss is distillation of the teacher's cosine between a candidate and the image's other captions,
   plus 0.1 InfoNCE. Candidates are the batch's captions and near ones of a random pool.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import nn

from vericap.errors import InputError, VericapError
from vericap.models import store
from vericap.train import lite, losses
from vericap.train.backbone_export import examples, export, save_encoder
from vericap.train.claims import Claims, Said, halved
from vericap.train.data import PER_IMAGE, Captioned, Draw
from vericap.train.trainer import Losses, Plan, Trainer
from vericap.train.validate import agreement, near_pairs, recall
from vericap.vision.regions import LEVELS, coverage, pixels, pyramid

Array = NDArray[Any]
Photos = Callable[[str], Any]  # image key -> PIL image
_CLAIMING = 2  # captions of every image whose claims are compared in a step


@dataclass
class Options:
    """What moves the result, besides the data and the plan."""

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


class Head(nn.Module):
    """Windows into the sentence space, and the score of captions (models.vse has the formula)."""

    def __init__(self, width: int = 1280, space: int = 384, hidden: int = 768) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width, elementwise_affine=False)
        self.linear = nn.Linear(width, space)
        self.hidden = nn.Linear(width, hidden)
        self.output = nn.Linear(hidden, space)
        nn.init.zeros_(self.output.weight)
        self.sharpness = nn.Parameter(torch.tensor(2.3))
        self.scale = nn.Parameter(torch.tensor(1.0))
        self.bias = nn.Parameter(torch.tensor(0.0))
        self.temperature = nn.Parameter(torch.tensor(3.0))

    def begin_with(self, weights: Mapping[str, Array]) -> None:
        """Take over the weights of a written encoder (`vse.safetensors`)."""
        with torch.no_grad():
            for name in ("linear", "hidden", "output"):
                layer = getattr(self, name)
                layer.weight.copy_(torch.from_numpy(np.asarray(weights[name], dtype=np.float32)))
                layer.bias.copy_(torch.from_numpy(np.asarray(weights[f"{name}_bias"], dtype=np.float32)))
            self.sharpness.fill_(float(np.log(weights["sharpness"])))

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        x = self.norm(features)
        return F.normalize(self.linear(x) + self.output(F.relu(self.hidden(x))), dim=-1)

    def score(self, regions: torch.Tensor, texts: torch.Tensor) -> torch.Tensor:
        """(images, regions, d) and (captions, d) -> (images, captions)."""
        images, count, width = regions.shape
        cosines = (regions.reshape(images * count, width) @ texts.t()).view(images, count, -1)
        weights = torch.softmax(cosines[:, 1:] * self.sharpness.exp(), dim=1)
        return 0.5 * cosines[:, 0] + 0.5 * (weights * cosines[:, 1:]).sum(dim=1)


class Model(nn.Module):
    """Upper blocks, pyramid pooling, head."""

    def __init__(self, network: lite.Network, options: Options) -> None:
        super().__init__()
        self.upper = lite.Upper(network)
        self.head = Head(hidden=options.hidden)
        self._pooling: dict[int, torch.Tensor] = {}

    def features(self, maps: torch.Tensor) -> torch.Tensor:
        """(n, h, w, 120) outputs of the lower blocks -> (n, windows, 1280)."""
        found = self.upper(maps)
        n, h, w, width = found.shape
        if h not in self._pooling:
            boxes = pyramid(LEVELS)
            rows, columns = coverage(boxes[:, 1], boxes[:, 3], h), coverage(boxes[:, 0], boxes[:, 2], w)
            weights = (rows[:, :, None] * columns[:, None, :]).reshape(len(boxes), h * w)
            self._pooling[h] = torch.from_numpy(weights / weights.sum(axis=1, keepdims=True))
        return torch.einsum("rp,npc->nrc", self._pooling[h], found.reshape(n, h * w, width))

    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        return self.head(self.features(maps))


class Encoder(nn.Module):
    """The head alone, on pooled windows (n, windows, 1280) of a finished backbone."""

    def __init__(self, options: Options, start: Mapping[str, Array] | None = None) -> None:
        super().__init__()
        self.head = Head(hidden=options.hidden)
        if start is not None:
            self.head.begin_with(start)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.head(features)
        return found


@dataclass
class Source:
    """Photos' lower outputs (n, h, w, 120) float16 and captions' centred unit vectors (n, k, 384)."""

    maps: Array
    texts: Array
    claims: Claims | None = None  # of all five captions, for the teacher that compares claims

    def __len__(self) -> int:
        return len(self.texts)


def lower_maps(data: Captioned, photos: Photos, file: Path, lower: Path, *, size: int, threads: int = 2) -> Array:
    """Outputs of the frozen blocks (an ONNX file), computed once; an interrupted run goes on where it stopped."""
    side = size // 16
    shape = (len(data), side, side, 120)
    done_file = file.with_suffix(".done")
    fresh = not file.is_file() or not done_file.is_file()
    maps = np.lib.format.open_memmap(file, "w+" if fresh else "r+", np.float16, None if not fresh else shape)
    if maps.shape[1:] != shape[1:] or len(maps) < len(data):
        raise VericapError(f"{file} holds maps of shape {maps.shape}, not {shape}: other photos or another size")
    done = 0 if fresh else int(done_file.read_text())
    session = store.session(lower)

    def fill(place: int) -> None:
        (found,) = session.run(None, {"x": pixels(photos(data.keys[place]), size)})
        maps[place] = found[0].transpose(1, 2, 0)

    with ThreadPoolExecutor(threads) as pool:  # decoding and ONNX Runtime both leave the interpreter free
        for start in range(done, len(data), 512):
            end = min(start + 512, len(data))
            list(pool.map(fill, range(start, end)))
            maps.flush()
            done_file.write_text(str(end))
    return maps[: len(data)]  # the file may hold more of them


class Task:
    """Batches and validation of one training."""

    def __init__(
        self,
        model: Model | Encoder,
        main: Source,
        extra: Source | None,
        validation: Source,
        options: Options,
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
    def _sources(self) -> list[tuple[Source, Draw]]:
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
            candidates, target = _claimed(captions, near, Said.joined([*said, *near_said]), torch.from_numpy(picked))
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

    def _near(self, captions: torch.Tensor, generator: np.random.Generator) -> tuple[torch.Tensor, list[Said]]:
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


def _claimed(
    captions: torch.Tensor, near: torch.Tensor, said: Said, own: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Candidates, own (images, k) captions and near ones, and their target: half likeness of sentences, half of
    claims."""
    every = torch.ones(captions.shape[:2])
    target = losses.held_out(losses.cosines(captions, own), own, every)
    target = torch.cat([target, captions.mean(dim=1) @ near.t()], dim=1)
    claimed = said.compared(own).target(every)
    candidates = captions[torch.arange(len(own))[:, None], own].flatten(0, 1)
    return torch.cat([candidates, near]), losses.half(target, claimed)


def train(
    main: Source,
    extra: Source | None,
    validation: Source,
    output: str | Path,
    *,
    lower: Path,
    plan: Plan,
    options: Options | None = None,
    network: lite.Network | None = None,
    start: str | Path | None = None,
    name: str = "vericap-vse",
    quiet: bool = False,
) -> dict[str, Any]:
    """Train, then export the backbone (ONNX, 8-bit arithmetic) and the encoder (safetensors) with their meta
    files. `lower` holds the frozen blocks the maps were made with; `start` is an earlier training this one
    begins with (see `begin_with`)."""
    options = options or Options()
    network = network or lite.load()
    torch.manual_seed(plan.seed)
    model = Model(network, options)
    describe: dict[str, Any] = {
        "options": asdict(options),
        "photos": [len(main), 0 if extra is None else len(extra)],
    }
    if start is not None:
        describe["before"] = begin_with(model, network, start)
    groups = [
        {"params": list(model.upper.parameters()), "lr": options.backbone_rate},
        {"params": list(model.head.parameters()), "lr": options.head_rate},
    ]
    task = Task(model, main, extra, validation, options, plan.seed)
    if plan.steps:
        trainer = Trainer(model, groups, plan, output, describe=describe, quiet=quiet)
        state = trainer.run(task.losses, task.validate)
        trainer.load_best()
        trained = {**describe, "steps": state.best_step, "agreement": state.best}
    else:  # the earlier weights, written again: over other lower blocks, say
        with torch.no_grad():
            trained = {**describe, "steps": 0, "agreement": task.validate()["agreement"]}
    export(
        model,
        network,
        Path(output),
        lower=lower,
        examples=examples(main, extra),
        size=options.size,
        name=name,
        trained=trained,
    )
    return trained


def begin_with(model: Model, network: lite.Network, start: str | Path) -> dict[str, Any]:
    """Take over the weights of an earlier training; what it was trained on.

    `start` is its output folder, or one that holds only what it wrote (`backbone/` and `vse/`, weights rounded to 8
    bits or less); "default" are the shipped parts.
    """
    folder = store.folder("backbone").parent if start == "default" else Path(start)
    file, written = folder / "best.pt", folder / "backbone" / "backbone.onnx"
    meta = folder / "vse" / "meta.json"
    if file.is_file():
        saved = torch.load(file, weights_only=True)
        with torch.no_grad():
            for own, best in zip([*model.upper.parameters(), *model.head.parameters()], saved["averaged"]):
                own.copy_(best)
        if not meta.is_file():  # stopped early
            return {"steps": int(saved["step"])}
    elif written.is_file() and meta.is_file():
        model.upper = lite.Upper(lite.with_upper(network, written))
        model.head.begin_with(store.weights(str(folder / "vse"), "vse")[0])
    else:
        raise InputError(f"{folder} holds no finished training (best.pt is missing); --start names its output folder")
    found: dict[str, Any] = json.loads(meta.read_text("utf-8"))["trained"]
    return found


def train_encoder(
    main: Source,
    extra: Source | None,
    validation: Source,
    output: str | Path,
    *,
    plan: Plan,
    fingerprint: str,
    options: Options | None = None,
    start: tuple[Mapping[str, Array], Mapping[str, Any]] | None = None,
    name: str = "vericap-vse",
    quiet: bool = False,
) -> dict[str, Any]:
    """Train the head alone on windows of a finished backbone (`maps` of the sources: (n, windows, 1280)).

    `start` are weights and meta file of an encoder this one begins with.
    """
    options = options or Options(mirror=False, head_rate=5e-4)
    torch.manual_seed(plan.seed)
    model = Encoder(options, start[0] if start else None)
    groups = [{"params": list(model.parameters()), "lr": options.head_rate}]
    describe: dict[str, Any] = {
        "options": asdict(options),
        "photos": [len(main), 0 if extra is None else len(extra)],
    }
    if start is not None:
        describe["before"] = start[1].get("trained", {})
    trainer = Trainer(model, groups, plan, output, describe=describe, quiet=quiet)
    task = Task(model, main, extra, validation, options, plan.seed)
    state = trainer.run(task.losses, task.validate)
    trainer.load_best()
    trained = {**describe, "steps": state.best_step, "agreement": state.best}
    save_encoder(model.head, Path(output) / "vse", fingerprint, name=name, trained=trained)
    return trained
