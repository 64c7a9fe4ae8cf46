"""What captions claim, for the teacher that compares claims: tuples of their scene graphs as phrases (`spice-soft`)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from vericap.core.typing import Array, Floats32, Ints
from vericap.graphs.claims import GraphClaims, covered
from vericap.models.arrays import runs
from vericap.text.encoder import WIDTH, Encoder, normalise, phrase_mean
from vericap.train import kept, losses
from vericap.train.data import PER_IMAGE, Captioned
from vericap.train.validate import Pairs


@dataclass
class ClaimTensors:
    """Claims of some captions, one caption after the other."""

    vectors: torch.Tensor  # (claims, 384) unit vectors
    weights: torch.Tensor  # (claims,)
    counts: torch.Tensor  # (captions,)

    @classmethod
    def joined(cls, parts: list[ClaimTensors]) -> ClaimTensors:
        return cls(
            torch.cat([part.vectors for part in parts]),
            torch.cat([part.weights for part in parts]),
            torch.cat([part.counts for part in parts]),
        )

    def compared(self, own: torch.Tensor) -> losses.Claimed:
        """Claims of the candidates, which `own` (images, k) names, beside those of all captions."""
        return losses.Claimed(self.vectors, self.weights, self.counts, own)


@dataclass
class ClaimTable:
    """Claims of captions, caption k of image i at 5 i + k: each a phrase of the table, with a weight."""

    table: Array  # (phrases, 384) unit vectors
    offsets: Ints
    phrases: Ints
    weights: Floats32

    def read(self, captions: Ints) -> ClaimTensors:
        counts = self.offsets[captions + 1] - self.offsets[captions]
        places = runs(self.offsets[captions], counts)
        vectors = np.asarray(self.table[self.phrases[places]], dtype=np.float32)
        weights = torch.from_numpy(self.weights[places])
        return ClaimTensors(torch.from_numpy(vectors), weights, torch.from_numpy(counts))

    def of_images(self, rows: Ints) -> ClaimTensors:
        """Those of all captions of some images."""
        return self.read((rows[:, None] * PER_IMAGE + np.arange(PER_IMAGE)).reshape(-1))

    def graded(self, images: Ints, captions: Ints, first: int) -> Floats32:
        """Likeness of captions to what the captions of images from the first-th on claim together."""
        found = np.zeros(len(images), dtype=np.float32)
        for row, (image, caption) in enumerate(zip(images.tolist(), captions.tolist())):
            others = [k for k in range(image * PER_IMAGE + first, (image + 1) * PER_IMAGE) if k != caption]
            own, theirs = (self.read(np.array(some, dtype=np.int64)) for some in ([caption], others))
            if len(own.weights) and len(theirs.weights):
                similar = (own.vectors @ theirs.vectors.t()).numpy()
                found[row] = np.mean(covered(similar, own.weights.numpy(), theirs.weights.numpy()))
        return found


def halved(pairs: Pairs, said: ClaimTable | None) -> Pairs:
    """Graded pairs with likeness of claims as half of their target, where claims are there."""
    rows, columns, target = pairs
    return pairs if said is None else (rows, columns, losses.half(target, said.graded(rows, columns, 1)))


def of(data: Captioned, folder: Path, name: str, *, threads: int = 1) -> ClaimTable:
    """Parse all captions; the phrases' vectors are kept in `{name}-claims.npy`, in the order they are met."""
    texts = [text for five in data.captions for text in five]
    said = [GraphClaims.of(graph) for graph in kept.graphs(texts, threads=threads)]
    places: dict[str, int] = {}
    numbers = [places.setdefault(phrase, len(places)) for own in said for phrase in own.phrases]
    phrases = list(places)
    encoder = Encoder()
    encoder.session()  # one for all threads

    def compute(rows: Ints) -> Array:
        return normalise(encoder.encode([phrases[row] for row in rows], centred=False) - phrase_mean())

    file = folder / f"{name}-claims.npy"
    return ClaimTable(
        kept.filled(file, (len(phrases), WIDTH), compute, what="claims", threads=threads),
        np.concatenate([[0], np.cumsum([len(own.phrases) for own in said])]).astype(np.int64),
        np.array(numbers, dtype=np.int64),
        np.concatenate([own.weights for own in said]).astype(np.float32),
    )
