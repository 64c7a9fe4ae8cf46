"""Teach a finished image-sentence encoder how people weigh what captions say: P of models.vse.

Learned from ratings of photos with captions, by the photo and by the photo's own captions as references, and from
ratings of pairs of captions; only of photos that fit weights (train.ratings). What the text teacher says of COCO's and
Flickr8k's photos is kept, so that P holds for other captions too, and P stays small. Regions are as they were.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from scipy.stats import spearmanr
from torch import nn

from vericap.core.errors import InputError
from vericap.core.shipped import save_weights, write_meta
from vericap.core.typing import Array, Bools, Floats32, Ints
from vericap.models.vse import VseModel, regions_version
from vericap.text.encoders import SentenceEncoder
from vericap.train import losses, parallel
from vericap.train.data import Draw
from vericap.train.kept import StoreFeatures
from vericap.train.ratings import FIT, HELD, Likeness, Rating, share_of
from vericap.train.trainer import Losses, Trainer, TrainPlan
from vericap.train.validate import agreement, near_pairs, recall
from vericap.train.vse.network import whole_and_parts
from vericap.train.vse.training import VseSource
from vericap.vision.store import FeatureStore

_CAPTIONS = 4  # one is given, two are candidates, what is left says how good these are
_FAR = 10.0  # taken from the cosine with a reference that is not given


@dataclass
class PeopleOptions:
    """What moves the result, besides the data and the plan."""

    rated: int = 512  # ratings of each kind in a step
    photos: int = 60  # of each source, for what the text teacher says
    teacher: float = 2.5  # weight of what the text teacher says
    given: float = 0.6  # share of the references that a step reads
    rate: float = 1e-3
    pull: float = 3e-3  # of P towards zero
    share: float = 0.8  # of P that is kept: all of it fits near captions better and captions of other photos worse


class CaptionMap(nn.Module):
    """unit(t + P t)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.people = nn.Parameter(torch.zeros(width, width))

    def forward(self, texts: torch.Tensor) -> torch.Tensor:
        return F.normalize(texts + texts @ self.people.t(), dim=-1)


class RatedPairs(NamedTuple):
    """Ratings with vectors of captions and references, and the row of each photo among `Photos`."""

    texts: torch.Tensor  # (ratings, d)
    references: torch.Tensor  # (ratings, most, d)
    there: torch.Tensor  # (ratings, most) 1 for a reference
    photos: Ints
    values: torch.Tensor

    @classmethod
    def of(cls, rated: Sequence[Rating], photos: dict[str, int], encoder: SentenceEncoder) -> RatedPairs:
        most = max((len(one.references) for one in rated), default=1)
        flat = [text for one in rated for text in (one.references + one.references[:1] * most)[:most]]
        told = torch.as_tensor(encoder.encode(flat)).view(len(rated), most, -1)
        counts = np.array([len(one.references) for one in rated])
        return cls(
            torch.as_tensor(encoder.encode([one.caption for one in rated])),
            told,
            torch.as_tensor((np.arange(most) < counts[:, None]).astype(np.float32)),
            np.array([photos[one.image] for one in rated], dtype=np.int64),
            torch.tensor([one.value for one in rated], dtype=torch.float32),
        )


class AlikePairs(NamedTuple):
    """Pairs of captions with how alike people find them."""

    first: torch.Tensor
    second: torch.Tensor
    values: torch.Tensor

    @classmethod
    def of(cls, pairs: Sequence[Likeness], encoder: SentenceEncoder) -> AlikePairs:
        first, second = (torch.as_tensor(encoder.encode([one.texts[side] for one in pairs])) for side in (0, 1))
        return cls(first, second, torch.tensor([one.value for one in pairs], dtype=torch.float32))


class Embedded:
    """Regions of photos as the encoder embeds them."""

    def __init__(self, features: StoreFeatures, encoder: VseModel) -> None:
        self._features, self._encoder = features, encoder

    def __call__(self, rows: Ints) -> tuple[torch.Tensor, torch.Tensor]:
        """(rows, regions, d), and which regions are there."""
        mask: Bools = self._features.mask[rows]
        return torch.as_tensor(self._encoder.embed(self._features[rows])), torch.as_tensor(mask)


class PeopleTask:
    """Batches and validation of one training."""

    def __init__(
        self,
        model: CaptionMap,
        encoder: VseModel,
        sources: Sequence[VseSource],
        validation: VseSource,
        rated: tuple[RatedPairs, RatedPairs],
        regions: tuple[torch.Tensor, torch.Tensor],
        alike: AlikePairs,
        options: PeopleOptions,
        seed: int,
    ) -> None:
        self.model, self.options, self._sources = model, options, list(sources)
        self._regions, self._mask = regions
        self._fit, self._held = rated
        self._alike, self._sharpness = alike, torch.tensor(encoder.sharpness)
        self._embed = [Embedded(source.maps, encoder) for source in sources]
        self._draws = [Draw(len(source), options.photos, seed + place) for place, source in enumerate(sources)]
        shown, mask = Embedded(validation.maps, encoder)(np.arange(len(validation)))
        every = validation.captions(validation.texts.shape[1])
        texts = validation.vectors(slice(None), every.each)
        self._dev = shown, mask, torch.as_tensor(texts.reshape(-1, texts.shape[-1])[every.columns]), every.owners
        self._pairs = near_pairs(texts, every)

    def losses(self, step: int, generator: np.random.Generator) -> Losses:
        rows = self._drawn(len(self._fit.values), generator)
        own = self._fit
        said = self.model(own.texts[rows])
        found = {"photos": losses.unlike(self._fits(own.photos[rows], said), own.values[rows])}
        given = own.there[rows] * torch.as_tensor(generator.random(own.there[rows].shape) < self.options.given)
        given[:, 0] = own.there[rows, 0]
        mean, best = likeness(own.references[rows], given, said)
        found["references"] = (losses.unlike(mean, own.values[rows]) + losses.unlike(best, own.values[rows])) / 2
        pairs = self._drawn(len(self._alike.values), generator)
        first, second = self._alike.first[pairs], self._alike.second[pairs]
        both = (first * self.model(second)).sum(dim=-1) + (second * self.model(first)).sum(dim=-1)
        found["alike"] = losses.unlike(both, self._alike.values[pairs])
        taught = self._taught(step, generator)
        loss = sum(found.values(), self.options.pull * self.model.people.square().sum())
        return {"loss": sum((self.options.teacher * own for own in taught.values()), loss), **found, **taught}

    def _drawn(self, count: int, generator: np.random.Generator) -> Ints:
        return np.asarray(generator.choice(count, min(self.options.rated, count), replace=False))

    def _fits(self, photos: Ints, said: torch.Tensor) -> torch.Tensor:
        """Scores of pairs of a photo and a caption."""
        cosines = (self._regions[photos] * said[:, None]).sum(dim=-1)[..., None]
        return whole_and_parts(cosines, self._sharpness, self._mask[photos])[:, 0]

    def _taught(self, step: int, generator: np.random.Generator) -> Losses:
        """What a photo's further captions say of candidates, by the photo and by one caption of it."""
        regions, masks, texts, order = [], [], [], []
        for source, embed, draw in zip(self._sources, self._embed, self._draws):
            rows = draw.batch(step)
            shown, mask = embed(rows)
            regions.append(shown)
            masks.append(mask)
            each = source.texts.shape[1]
            texts.append(torch.as_tensor(source.vectors(rows, each)))
            order.append(torch.as_tensor(source.captions(each).drawn(rows, each, generator)))
        captions = torch.cat([own[torch.arange(len(own))[:, None], way] for own, way in zip(texts, order)])
        given, candidates = captions[:, 0], captions[:, 1:3].flatten(0, 1)
        target = captions[:, 3:].mean(dim=1) @ candidates.t()
        said = self.model(candidates)
        scores = torch.cat(
            [whole_and_parts(shown @ said.t(), self._sharpness, mask) for shown, mask in zip(regions, masks)]
        )
        return {"seen": losses.unlike(scores, target), "said": losses.unlike(given @ said.t(), target)}

    def validate(self) -> dict[str, float]:
        """Agreement with the text teacher on dev photos, and with people on photos that set thresholds."""
        shown, mask, texts, owners = self._dev
        said = self.model(texts)
        scores = np.concatenate(
            [
                whole_and_parts(shown[rows] @ said.t(), self._sharpness, mask[rows]).numpy()
                for rows in np.array_split(np.arange(len(shown)), -(-len(shown) // 50))
            ]
        )
        own, caption = self._held, self.model(self._held.texts)
        mean, best = likeness(own.references, own.there, caption)
        by = {"people": self._fits(own.photos, caption), "people_mean": mean, "people_best": best}
        people = {name: 100 * float(spearmanr(values.numpy(), own.values.numpy())[0]) for name, values in by.items()}
        return {"agreement": agreement(scores, self._pairs), **people, **recall(scores, owners=owners)}


def likeness(references: torch.Tensor, given: torch.Tensor, said: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Mean and largest cosine of captions (n, d) with the references (n, most, d) that are given (n, most)."""
    cosines = (references * said[:, None]).sum(dim=-1)
    mean = (cosines * given).sum(dim=1) / given.sum(dim=1).clamp(min=1)
    return mean, (cosines - _FAR * (1 - given)).amax(dim=1)


def teach(
    encoder: tuple[dict[str, Array], dict[str, Any]],
    store: FeatureStore,
    sources: Sequence[VseSource],
    validation: VseSource,
    people: tuple[Sequence[Rating], Sequence[Likeness]],
    output: str | Path,
    *,
    reader: SentenceEncoder,
    plan: TrainPlan,
    options: PeopleOptions | None = None,
    quiet: bool = False,
) -> dict[str, Any]:
    """Train P and write the encoder with it; `people` are ratings of photos with captions, and of captions."""
    options, (arrays, meta) = options or PeopleOptions(), encoder
    if min(source.captions(source.texts.shape[1]).fewest for source in sources) < _CAPTIONS:
        raise InputError(f"what further captions say is learned from photos with at least {_CAPTIONS} captions each")
    arrays = {name: value for name, value in arrays.items() if name != "people"}
    model = VseModel({name: np.asarray(value, dtype=np.float32) for name, value in arrays.items()}, meta)
    rated, alike = parted(*people, store)
    if not all((*rated, alike)):
        raise InputError("too few ratings are of photos in the store: some must fit and some validate (train.ratings)")
    names = sorted({one.image for part in rated for one in part})
    regions = Embedded(StoreFeatures(store, names), model)(np.arange(len(names)))
    places = {name: place for place, name in enumerate(names)}
    torch.manual_seed(plan.seed)
    learner = CaptionMap(model.space)
    pairs = RatedPairs.of(rated[0], places, reader), RatedPairs.of(rated[1], places, reader)
    task = PeopleTask(
        learner, model, sources, validation, pairs, regions, AlikePairs.of(alike, reader), options, plan.seed
    )
    about = {"options": asdict(options), "ratings": [len(part) for part in rated], "likenesses": len(alike)}
    groups = [{"params": list(learner.parameters()), "lr": options.rate}]
    seen = {**about, "encoder": meta["name"], "files": meta.get("files", {})}
    trainer = Trainer(learner, groups, plan, output, describe=seen, quiet=quiet)
    state = trainer.run(task.losses, task.validate)
    trainer.load_best()
    with torch.no_grad():
        learner.people.mul_(options.share)
        kept = task.validate()
    trained = {**about, "steps": state.best_step, "agreement": kept["agreement"], "people": kept["people"]}
    if parallel.rank() == 0:
        folder = Path(output) / "vse"
        found: Floats32 = learner.people.detach().cpu().numpy()
        save_weights({**arrays, "people": found}, folder, "vse")
        known = {name: value for name, value in meta.items() if name != "files"}
        write_meta(folder, {**known, "regions": regions_version(meta), "people": trained})
    return trained


def parted(
    ratings: Sequence[Rating], likenesses: Sequence[Likeness], store: FeatureStore
) -> tuple[tuple[list[Rating], list[Rating]], list[Likeness]]:
    """Ratings of other photos' captions that fit and that validate, and pairs of captions whose photos both fit.

    That people rate a caption highly that was written for the photo needs no learning.
    """
    known = [one for one in ratings if not one.own and one.references and one.image in store]
    fit = [one for one in known if share_of(one.image) < FIT]
    held = [one for one in known if FIT <= share_of(one.image) < HELD]
    return (fit, held), [one for one in likenesses if all(share_of(image) < FIT for image in one.images)]
