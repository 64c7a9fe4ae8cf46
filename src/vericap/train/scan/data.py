"""What SCAN learns from: captions for the text side, images with features and sentence vectors, batches of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from vericap.core.typing import Array, Bools, Ints
from vericap.models import words as text_words
from vericap.models.arrays import runs
from vericap.train import kept, losses, parallel
from vericap.train.claims import ClaimTable, ClaimTensors
from vericap.train.data import PER_IMAGE, CaptionPlaces, Draw, NeighbourDraw
from vericap.train.named import BoxTeacher, Pointed


class TextStates:
    """Token states of captions: (tokens, width) float16 with offsets, those of one image after the other."""

    def __init__(self, states: Array, offsets: Array, lettered: Bools | None = None) -> None:
        self.states, self.offsets = states, offsets
        self.lettered = lettered  # which of them are words; the others, marks and stops, are not read

    def read(self, captions: Sequence[int] | Array) -> WordTensors:
        which = np.asarray(captions, dtype=np.int64)
        counts = self.offsets[which + 1] - self.offsets[which]
        places = runs(self.offsets[which], counts)
        values = torch.as_tensor(np.asarray(self.states[places], dtype=np.float32))
        there = None if self.lettered is None else torch.as_tensor(self.lettered[places])
        return WordTensors(values, torch.as_tensor(counts), there)

    def mean(self) -> Array:
        """Mean of many words' states: what all words share."""
        return kept.mean_state(self.states)


class TextNumbers:
    """Vocabulary numbers of captions, for the GRU."""

    def __init__(self, captions: Sequence[str], vocabulary: Sequence[str]) -> None:
        places = {word: place for place, word in enumerate(vocabulary)}
        self.coded = [
            text_words.numbers(text, places) or [text_words.START, text_words.UNKNOWN, text_words.END]
            for text in captions
        ]

    def read(self, captions: Sequence[int] | Array) -> WordTensors:
        parts = [self.coded[int(i)] for i in captions]
        counts = torch.tensor([len(part) for part in parts])
        return WordTensors(torch.tensor([word for part in parts for word in part]), counts)


@dataclass
class WordTensors:
    """Words of some captions, caption after caption: nothing is padded."""

    values: torch.Tensor  # (words, d) states, or (words,) numbers
    counts: torch.Tensor  # (captions,)
    there: torch.Tensor | None = None  # (words,) where some are marks and stops that are not read

    def unmarked(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Words and counts without the marks at both ends of every caption, or all that are not read."""
        if self.there is not None:
            owners = torch.repeat_interleave(torch.arange(len(self.counts)), self.counts)
            return self.values[self.there], torch.bincount(owners[self.there], minlength=len(self.counts))
        ends = torch.cumsum(self.counts, 0)
        inner = torch.ones(len(self.values), dtype=torch.bool)
        inner[ends - 1] = inner[ends - self.counts] = False
        return self.values[inner], self.counts - 2

    def gathered(self) -> torch.Tensor:
        """Numbers of words of all processes' captions."""
        return parallel.gather(self.counts)

    @classmethod
    def joined(cls, parts: Sequence[WordTensors]) -> WordTensors:
        there = [part.there for part in parts if part.there is not None]
        joined = torch.cat([part.values for part in parts]), torch.cat([part.counts for part in parts])
        return cls(*joined, torch.cat(there) if there else None)


def vocabulary(captions: Sequence[str], rarest: int) -> list[str]:
    """Words seen often enough, most frequent first, after the marks."""
    counts = Counter(word for text in captions for word in text_words.tokens(text))
    kept = sorted((word for word, n in counts.items() if n >= rarest), key=lambda word: (-counts[word], word))
    return [*text_words.MARKS, *kept]


@dataclass
class ScanSource:
    """Features (n, regions, d), sentence vectors (n, k, d) of all captions, captions for the text side.

    The teacher reads all captions of an image; the text side has its first `per_image`, caption k of image i at
    i * per_image + k.
    """

    features: Any  # an array, or what reads its rows from a store (train.kept.StoreFeatures)
    sentences: Array
    text: TextStates | TextNumbers
    per_image: int = PER_IMAGE
    claims: ClaimTable | None = None  # for the teacher that compares claims
    captions: CaptionPlaces | None = None  # where images have different numbers of them
    regions: Bools | None = None  # (n, regions) which are there, where some are not
    boxes: BoxTeacher | None = None  # where objects are that words name

    def __len__(self) -> int:
        return len(self.sentences)

    @cached_property
    def places(self) -> CaptionPlaces:
        """Captions that the teacher reads."""
        return self.captions or CaptionPlaces.full(len(self), self.sentences.shape[1])

    @cached_property
    def read(self) -> CaptionPlaces:
        """Captions of the text side."""
        return self.places.first(self.per_image)

    def shown(self, rows: slice | Ints) -> ShownImages:
        """Features of some images."""
        mask = None if self.regions is None else torch.as_tensor(self.regions[rows])
        return ShownImages(torch.as_tensor(np.asarray(self.features[rows], dtype=np.float32)), mask)


@dataclass
class ShownImages:
    """Features (images, regions, d), and which regions are there, where some are not."""

    features: torch.Tensor
    mask: torch.Tensor | None


@dataclass
class ScanPart:
    """This process's images of one source, with their captions."""

    images: ShownImages
    candidates: WordTensors  # image * k + j
    references: WordTensors | None
    pointed: Pointed | None = None  # what boxes say of the candidates' words


@dataclass
class ScanStep:
    """Images of one step: this process's with features and words, and of all of them what the teacher reads."""

    parts: list[ScanPart]
    sentences: torch.Tensor
    there: torch.Tensor  # (images, captions) 1 for a caption that is there
    order: torch.Tensor  # (images, k + references): captions that are candidates, then those that are references
    captions: int  # k
    told: WordTensors | None  # all captions of the images, for the teacher that compares words
    said: ClaimTensors | None = None  # what they claim, for the one that compares claims

    @classmethod
    def draw(
        cls,
        sources: list[ScanSource],
        draws: Sequence[Draw | NeighbourDraw],
        step: int,
        generator: np.random.Generator,
        *,
        captions: int,
        references: int,
        words: bool = False,
    ) -> ScanStep:
        """Some images with `captions` candidates and `references` other captions each; `words` of all captions."""
        parts, sentences, there, order, told, said = [], [], [], [], [], []
        for source, draw in zip(sources, draws):
            rows = draw.batch(step)
            own = source.read.drawn(rows, captions + references, generator)
            mine = parallel.part(len(rows))
            numbers = (rows[:, None] * source.per_image + own)[mine]
            given = source.text.read(numbers[:, captions:].reshape(-1)) if references else None
            candidates = numbers[:, :captions].reshape(-1)
            chosen = source.text.read(candidates)
            named = None
            if source.boxes is not None:
                owners = np.repeat(np.arange(len(numbers)), captions)
                named = source.boxes.pointed(rows[mine], candidates, owners, chosen.counts.numpy())
            parts.append(ScanPart(source.shown(rows[mine]), chosen, given, named))
            sentences.append(torch.as_tensor(np.asarray(source.sentences[rows], dtype=np.float32)))
            there.append(torch.as_tensor(source.places.there(rows).astype(np.float32)))
            order.append(torch.as_tensor(own))
            if words:
                every = rows[:, None] * source.per_image + np.arange(source.per_image)
                told.append(source.text.read(every.reshape(-1)))
            if source.claims is not None:
                said.append(source.claims.of_images(rows))
        return cls(
            parts,
            torch.cat(sentences),
            torch.cat(there),
            torch.cat(order),
            captions,
            WordTensors.joined(told) if told else None,
            ClaimTensors.joined(said) if said else None,
        )

    @property
    def own(self) -> torch.Tensor:
        """(images, k) captions that are candidates."""
        return self.order[:, : self.captions]

    def similar(self, mean: torch.Tensor) -> torch.Tensor:
        """Likeness (images, captions, candidates): cosines of sentences, or, where words are there, the mean of them
        and the overlap of words, brought to the mean and spread of the cosines."""
        found = losses.cosines(self.sentences, self.own)
        if self.told is None:
            return found
        states, counts = self.told.unmarked()
        overlap = losses.overlap(F.normalize(states - mean, dim=-1), counts, self.own)
        found = found[:, : overlap.shape[1]]
        return losses.half(found, overlap)

    @cached_property
    def claimed(self) -> losses.Claimed | None:
        """The candidates' claims beside those of all captions."""
        if self.said is None:
            return None
        return self.said.compared(self.own)

    def target(self, similar: torch.Tensor, *, held: bool = False) -> torch.Tensor:
        """What the image's captions say of the candidates; `held` leaves the references out. Where claims are there,
        they are half of it."""
        weights = self.there.clone()
        if held:
            weights.scatter_(1, self.order[:, self.captions :], 0.0)
        found = losses.held_out(similar, self.own, weights[:, : similar.shape[1]])
        if self.claimed is None:
            return found
        return losses.half(found, self.claimed.target(weights))
