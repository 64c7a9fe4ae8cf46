"""Teach the visual words: what captions say, where boxes are, and how they lie around a cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from vericap.core.typing import Array, Bools, Floats32, Ints
from vericap.train.data import Draw
from vericap.train.maps import MapStore
from vericap.train.trainer import Losses
from vericap.train.words.boxes import NONE, PhotoBoxes, answering, centres, class_cells
from vericap.train.words.network import CellsModule, Seen, WholeModule, pooled
from vericap.train.words.vocabulary import Said

GRID = 18  # cells in a row of the finer map
_POINTED = 0.35  # of a photo that the boxes of a class may cover where pointing at it is counted


@dataclass(frozen=True)
class WordsData:
    """Photos with what captions say of them and where their objects are."""

    maps: MapStore
    rows: Ints  # of the photos among the maps
    said: Said
    boxes: Sequence[PhotoBoxes | None]  # None: nobody has drawn boxes on this photo

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True)
class MeansData:
    """Photos by the means of their final maps, with what captions say of them."""

    means: Array  # of these and perhaps other photos
    rows: Ints  # of the photos among the means
    said: Said

    def __len__(self) -> int:
        return len(self.rows)

    def read(self, photos: Ints) -> Floats32:
        return np.asarray(self.means[self.rows[photos]], dtype=np.float32)


class Standard:
    """Means and deviations of channels."""

    def __init__(self, mean: Floats32, deviation: Floats32) -> None:
        self.mean, self.deviation = mean, deviation

    @classmethod
    def of(cls, values: Floats32) -> Standard:
        rows = values.reshape(-1, values.shape[-1])
        return cls(rows.mean(axis=0), rows.std(axis=0) + np.float32(1e-3))

    def __call__(self, values: Floats32) -> Tensor:
        return torch.from_numpy((values - self.mean) / self.deviation)


@dataclass(frozen=True)
class WholeOptions:
    """What moves the head of whole photos, besides the photos and the plan."""

    batch: int = 128
    rate: float = 1e-3
    noise: float = 0.1  # deviation of what is added to the standardised means


class WholeTask:
    """Batches, loss and validation of the head of whole photos; of every set of photos a share of each batch."""

    def __init__(
        self,
        model: WholeModule,
        options: WholeOptions,
        train: Sequence[MeansData],
        shares: Sequence[int],
        dev: Sequence[MeansData],
        standard: Standard,
        *,
        seed: int,
    ) -> None:
        self.model, self.options, self.train, self.dev, self.standard = model, options, train, dev, standard
        self._draws = [Draw(len(part), share, seed + n) for n, (part, share) in enumerate(zip(train, shares))]

    def losses(self, step: int, generator: np.random.Generator) -> Losses:
        found = []
        for part, draw in zip(self.train, self._draws):
            rows = draw.batch(step)
            means = self.standard(part.read(rows))
            logits = self.model(means + self.options.noise * torch.randn_like(means))
            found.append(said_loss(logits, part.said, rows) * len(rows))
        return {"loss": torch.stack(found).sum() / sum(draw.size for draw in self._draws)}

    def logits(self, part: MeansData) -> Tensor:
        """What the head says of photos (photos, entries)."""
        self.model.eval()
        found: Tensor = self.model(self.standard(part.read(np.arange(len(part)))))
        self.model.train()
        return found

    def validate(self) -> dict[str, float]:
        """`agreement` is the loss on dev photos with its sign turned, so that more is better: the mean over sets."""
        lost = [float(said_loss(self.logits(part), part.said, np.arange(len(part)))) for part in self.dev]
        each = {f"dev_{n}": -value for n, value in enumerate(lost)} if len(lost) > 1 else {}
        return {"agreement": -float(np.mean(lost)), **each}


def said_loss(logits: Tensor, said: Said, rows: Ints) -> Tensor:
    """Cross entropy with the shares of captions that say each entry, summed over entries."""
    target = torch.from_numpy(said.table(rows))
    return functional.binary_cross_entropy_with_logits(logits, target, reduction="sum") / len(rows)


@dataclass(frozen=True)
class CellsOptions:
    """What moves the head of cells, besides the photos and the plan."""

    batch: int = 64
    rate: float = 2e-3
    drawn: int = 256  # entries that a step's photos are asked besides their own
    cells: float = 3.0  # weight of the cells in boxes
    boxes: float = 2.0  # weight of the boxes themselves


class CellsTask:
    """Batches, losses and validation of the head of cells.

    `classes` has for every entry the number of the class of boxes that shows it, -1 where none does.
    """

    def __init__(
        self,
        model: CellsModule,
        options: CellsOptions,
        train: WordsData,
        dev: WordsData,
        standards: dict[str, Standard],
        classes: Ints,
        *,
        seed: int,
    ) -> None:
        self.model, self.options, self.train, self.dev, self.standards = model, options, train, dev, standards
        self.classes = classes
        self._draw = Draw(len(train), options.batch, seed)
        self._points = torch.from_numpy(centres(GRID))
        often = np.sqrt(train.said.mean() + 1e-6)
        self._often = often / often.sum()

    def losses(self, step: int, generator: np.random.Generator) -> Losses:
        rows = self._draw.batch(step)
        seen = self._seen(self.train, rows)
        found = {"words": self._words(seen, rows, generator), **self._located(seen, rows)}
        found |= self._shaped(seen, [self.train.boxes[row] for row in rows])
        weights = {"cells": self.options.cells, "objects": self.options.boxes, "sides": self.options.boxes}
        return {"loss": torch.stack([weights.get(name, 1.0) * value for name, value in found.items()]).sum(), **found}

    def _seen(self, data: WordsData, rows: Ints) -> Seen:
        places = data.rows[rows]
        middle, last = (self.standards[kind](data.maps.read(kind, places)) for kind in ("middle", "last"))
        found: Seen = self.model(middle, last)
        return found

    def _words(self, seen: Seen, rows: Ints, generator: np.random.Generator) -> Tensor:
        """The sum over all entries, from those a photo's captions say and a weighted sample of the others."""
        drawn = generator.choice(len(self._often), self.options.drawn, replace=False, p=self._often)
        weight = 1 / np.minimum(1 - (1 - self._often[drawn]) ** self.options.drawn, 1)
        own, shares, there = self.train.said.padded(rows)
        others = ~(own[:, :, None] == drawn).any(axis=1)  # (photos, drawn)
        asked = pooled(self.model.at_cells(seen.cells, torch.from_numpy(drawn)))
        absent = functional.softplus(asked) * torch.from_numpy((weight * others).astype(np.float32))
        logits = pooled(self.model.at_cells(seen.cells, torch.from_numpy(np.maximum(own, 0))))
        said = functional.binary_cross_entropy_with_logits(logits, torch.from_numpy(shares), reduction="none")
        return ((said * torch.from_numpy(there)).sum() + absent.sum()) / len(rows)

    def _located(self, seen: Seen, rows: Ints) -> Losses:
        """Entries that name a class of the photo's boxes belong to the cells inside and to no others."""
        places, entries, cells = [], [], []
        for place, row in enumerate(rows.tolist()):
            boxes = self.train.boxes[row]
            if boxes is not None and len(boxes.boxes):
                named = self._named(row, boxes)
                places += [place] * len(named)
                entries.append(named)
                cells.append(class_cells(boxes, self.classes[named], GRID))
        if not places:
            return {}
        asked, inside = torch.from_numpy(np.concatenate(entries)), torch.from_numpy(np.concatenate(cells)).float()
        vectors = seen.cells[torch.tensor(places)]
        logits = torch.einsum("ncd,nd->nc", vectors, self.model.words(asked)) + self.model.bias[asked][:, None]
        apart = functional.binary_cross_entropy_with_logits(logits, inside, reduction="none")
        within = (apart * inside).sum(dim=1) / inside.sum(dim=1).clamp(min=1)
        outside = (apart * (1 - inside)).sum(dim=1) / (1 - inside).sum(dim=1).clamp(min=1)
        return {"cells": (within + outside).mean()}

    def _named(self, row: int, boxes: PhotoBoxes) -> Ints:
        """Entries said of a photo, and names of classes, that one of its boxes shows."""
        own = self.train.said.own(row)
        names = np.flatnonzero(np.isin(self.classes, boxes.classes))
        said = own[np.isin(own, names)]
        return said if len(said) else names[:3]

    def _shaped(self, seen: Seen, boxes: Sequence[PhotoBoxes | None]) -> Losses:
        """Whether an object is near each cell, and how its box lies around it."""
        known = [place for place, own in enumerate(boxes) if own is not None]
        own = [boxes[place] or NONE for place in known]
        which = np.stack([answering(photo.boxes, GRID) for photo in own]) if own else np.zeros((0, 0), dtype=np.int64)
        there = torch.from_numpy(which >= 0)
        if not bool(there.any()):
            return {}
        wanted = np.concatenate([photo.boxes[row[row >= 0]] for photo, row in zip(own, which)])
        made = around(self._points.expand(len(own), -1, -1)[there], seen.sides[known][there])
        overlap = overlaps(made, torch.from_numpy(wanted))
        target = torch.zeros(there.shape)
        target[there] = overlap.detach().clamp(min=0)
        objects = functional.binary_cross_entropy_with_logits(seen.objects[known], target, reduction="sum")
        return {"objects": objects / len(known) / 10, "sides": (1 - overlap).mean()}

    def validate(self) -> dict[str, float]:
        """`agreement` is the loss of words on dev photos with its sign turned; how often boxes are pointed at."""
        words, found = 0.0, list[bool]()
        everything = torch.arange(len(self.classes))
        for start in range(0, len(self.dev), 16):
            rows = np.arange(start, min(start + 16, len(self.dev)))
            logits = self.model.at_cells(self._seen(self.dev, rows).cells, everything)
            words += float(said_loss(pooled(logits), self.dev.said, rows)) * len(rows)
            for place, row in enumerate(rows.tolist()):
                boxes = self.dev.boxes[row]
                if boxes is not None:
                    named = self.dev.said.own(row)
                    named = named[np.isin(self.classes[named], boxes.classes)]
                    found += pointed(logits[place][:, named].numpy(), boxes, self.classes[named])
        return {"agreement": -words / len(self.dev), "pointing": 100 * float(np.mean(found or [False]))}


def pointed(logits: Floats32, photo: PhotoBoxes, classes: Ints) -> list[bool]:
    """For each class whose boxes cover less than a third of the photo: whether its best cell is in one of them."""
    cells: Bools = class_cells(photo, classes, GRID)
    return [
        bool(cells[place, logits[:, place].argmax()])
        for place in range(len(classes))
        if cells[place].any() and cells[place].mean() < _POINTED
    ]


def around(points: Tensor, sides: Tensor) -> Tensor:
    """Boxes (left, top, right, bottom) from points and the distances of the sides."""
    return torch.cat([points - sides[:, :2], points + sides[:, 2:]], dim=1)


def overlaps(a: Tensor, b: Tensor) -> Tensor:
    """Generalised intersection over union of boxes, pair by pair: from -1 to 1."""
    low, high = torch.maximum(a[:, :2], b[:, :2]), torch.minimum(a[:, 2:], b[:, 2:])
    shared = (high - low).clamp(min=0).prod(dim=1)
    both = _area(a) + _area(b) - shared
    hull = (torch.maximum(a[:, 2:], b[:, 2:]) - torch.minimum(a[:, :2], b[:, :2])).prod(dim=1)
    return shared / both.clamp(min=1e-6) - (hull - both) / hull.clamp(min=1e-6)


def _area(boxes: Tensor) -> Tensor:
    return (boxes[:, 2:] - boxes[:, :2]).clamp(min=0).prod(dim=1)
