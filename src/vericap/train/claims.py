"""What captions claim, for the teacher that compares claims: tuples of their scene graphs as phrases (`spice-soft`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch

from vericap.core.typing import Array, Floats32, Ints
from vericap.graphs.claims import GraphClaims, covered
from vericap.models.arrays import runs
from vericap.text.encoders import SentenceEncoder
from vericap.train import kept, losses
from vericap.train.data import PER_IMAGE, Captioned, CaptionPlaces
from vericap.train.validate import Pairs


@dataclass
class ClaimTensors:
    """Claims of some captions, one caption after the other."""

    vectors: torch.Tensor  # (claims, d) unit vectors
    weights: torch.Tensor  # (claims,)
    counts: torch.Tensor  # (captions,)
    each: int = PER_IMAGE  # captions of an image

    @classmethod
    def joined(cls, parts: list[ClaimTensors]) -> ClaimTensors:
        return cls(
            torch.cat([part.vectors for part in parts]),
            torch.cat([part.weights for part in parts]),
            torch.cat([part.counts for part in parts]),
            parts[0].each,
        )

    def compared(self, own: torch.Tensor) -> losses.Claimed:
        """Claims of the candidates, which `own` (images, k) names, beside those of all captions."""
        return losses.Claimed(self.vectors, self.weights, self.counts, own, self.each)


@dataclass
class ClaimTable:
    """Claims of captions, image after image: each a phrase of the table, with a weight."""

    table: Array  # (phrases, d) unit vectors
    offsets: Ints
    phrases: Ints
    weights: Floats32
    places: CaptionPlaces = field(default=None)  # type: ignore[assignment]  # five of every image

    def __post_init__(self) -> None:
        if self.places is None:
            self.places = CaptionPlaces.full((len(self.offsets) - 1) // PER_IMAGE, PER_IMAGE)

    def read(self, captions: Ints) -> ClaimTensors:
        counts = self.offsets[captions + 1] - self.offsets[captions]
        places = runs(self.offsets[captions], counts)
        vectors = np.asarray(self.table[self.phrases[places]], dtype=np.float32)
        weights = torch.as_tensor(self.weights[places])
        return ClaimTensors(torch.as_tensor(vectors), weights, torch.as_tensor(counts), self.places.each)

    def of_images(self, rows: Ints) -> ClaimTensors:
        """Those of all captions of some images."""
        each = self.places.each
        return self.read((rows[:, None] * each + np.arange(each)).reshape(-1))

    def graded(self, images: Ints, captions: Ints, first: int | Ints) -> Floats32:
        """Likeness of captions to what the captions of images from the first-th on claim together; an image's only
        caption stands for itself."""
        found = np.zeros(len(images), dtype=np.float32)
        begins = np.broadcast_to(first, images.shape).tolist()
        for row, (image, caption, begin) in enumerate(zip(images.tolist(), captions.tolist(), begins)):
            start, count = image * self.places.each, int(self.places.counts[image])
            there = range(start + min(begin, count - 1), start + count)
            others = [k for k in there if k != caption] or [*there][:1]
            own, theirs = (self.read(np.array(some, dtype=np.int64)) for some in ([caption], others))
            if len(own.weights) and len(theirs.weights):
                similar = (own.vectors @ theirs.vectors.t()).numpy()
                found[row] = np.mean(covered(similar, own.weights.numpy(), theirs.weights.numpy()))
        return found


def halved(pairs: Pairs, said: ClaimTable | None) -> Pairs:
    """Graded pairs with likeness of claims as half of their target, where claims are there."""
    rows, columns, target = pairs
    if said is None:
        return pairs
    return rows, columns, losses.half(target, said.graded(rows, said.places.columns[columns], 1))


def of(
    data: Captioned, folder: Path, name: str, encoder: SentenceEncoder, *, each: int, threads: int = 1
) -> ClaimTable:
    """Parse `each` captions of every image; the phrases' vectors are kept in `{name}-claims.npy`, in the order they are
    met."""
    texts = data.texts(each)
    said = [GraphClaims.of(graph) for graph in kept.graphs(texts, threads=threads)]
    places: dict[str, int] = {}
    numbers = [places.setdefault(phrase, len(places)) for own in said for phrase in own.phrases]
    phrases = list(places)

    def compute(rows: Ints) -> Array:
        return encoder.phrases(encoder.encode([phrases[row] for row in rows], centred=False))

    file = folder / f"{name}-claims.npy"
    return ClaimTable(
        kept.filled(file, (len(phrases), encoder.width), compute, what="claims", threads=threads),
        np.concatenate([[0], np.cumsum([len(own.phrases) for own in said])]).astype(np.int64),
        np.array(numbers, dtype=np.int64),
        np.concatenate([own.weights for own in said]).astype(np.float32),
        data.places(each),
    )
