"""What SCAN learns from: captions for the text side, images with features and sentence vectors, batches of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

from vericap.models import words as text_words
from vericap.train import losses
from vericap.train.data import PER_IMAGE, Draw

Array = NDArray[Any]


class TextStates:
    """Token states of captions: (tokens, 384) float16 with offsets, those of one image after the other."""

    def __init__(self, states: Array, offsets: Array) -> None:
        self.states, self.offsets = states, offsets

    def padded(self, captions: Sequence[int] | Array) -> tuple[torch.Tensor, torch.Tensor]:
        """(captions, words, d) and its mask."""
        parts = [np.asarray(self.states[self.offsets[i] : self.offsets[i + 1]]) for i in captions]
        longest = max(len(part) for part in parts)
        values = np.zeros((len(parts), longest, self.states.shape[1]), dtype=np.float32)
        mask = np.zeros((len(parts), longest), dtype=bool)
        for row, part in enumerate(parts):
            values[row, : len(part)], mask[row, : len(part)] = part, True
        return torch.from_numpy(values), torch.from_numpy(mask)


class TextNumbers:
    """Vocabulary numbers of captions, for the GRU."""

    def __init__(self, captions: Sequence[str], vocabulary: Sequence[str]) -> None:
        places = {word: place for place, word in enumerate(vocabulary)}
        self.coded = [
            text_words.numbers(text, places) or [text_words.START, text_words.UNKNOWN, text_words.END]
            for text in captions
        ]

    def padded(self, captions: Sequence[int] | Array) -> tuple[torch.Tensor, torch.Tensor]:
        parts = [self.coded[int(i)] for i in captions]
        longest = max(map(len, parts))
        values = torch.zeros(len(parts), longest, dtype=torch.long)
        mask = torch.zeros(len(parts), longest, dtype=torch.bool)
        for row, part in enumerate(parts):
            values[row, : len(part)] = torch.tensor(part)
            mask[row, : len(part)] = True
        return values, mask


def vocabulary(captions: Sequence[str], rarest: int) -> list[str]:
    """Words seen often enough, most frequent first, after the marks."""
    counts = Counter(word for text in captions for word in text_words.tokens(text))
    kept = sorted((word for word, n in counts.items() if n >= rarest), key=lambda word: (-counts[word], word))
    return [*text_words.MARKS, *kept]


@dataclass
class Source:
    """Features (n, regions, d) with all regions there, sentence vectors (n, 5, 384), captions for the text side.

    The teacher reads all five captions of an image; the text side has its first `per_image`, caption k of image i
    at i * per_image + k.
    """

    features: Any  # an array, or what reads its rows from a store (train.kept.StoreFeatures)
    sentences: Array
    text: TextStates | TextNumbers
    per_image: int = PER_IMAGE

    def __len__(self) -> int:
        return len(self.sentences)


@dataclass
class Batch:
    """Images of one step: features, all sentence vectors, captions that are candidates and references."""

    features: torch.Tensor
    sentences: torch.Tensor
    candidates: tuple[torch.Tensor, torch.Tensor]  # words and mask, image * k + j
    references: tuple[torch.Tensor, torch.Tensor]
    order: torch.Tensor  # (images, k + references): captions that are candidates, then those that are references

    @classmethod
    def draw(
        cls,
        sources: list[Source],
        draws: list[Draw],
        step: int,
        generator: np.random.Generator,
        *,
        captions: int,
        references: int,
    ) -> Batch:
        """Some images with `captions` candidates and `references` other captions each."""
        features, sentences, order, candidates, given = [], [], [], [], []
        for source, draw in zip(sources, draws):
            rows = draw.batch(step)
            own = np.stack([generator.permutation(source.per_image)[: captions + references] for _ in rows])
            numbers = rows[:, None] * source.per_image + own
            features.append(torch.from_numpy(np.asarray(source.features[rows], dtype=np.float32)))
            sentences.append(torch.from_numpy(np.asarray(source.sentences[rows], dtype=np.float32)))
            order.append(torch.from_numpy(own))
            candidates.append(source.text.padded(numbers[:, :captions].reshape(-1)))
            if references:
                given.append(source.text.padded(numbers[:, captions:].reshape(-1)))
        told = _joined(given) if given else (torch.zeros(0), torch.zeros(0))
        return cls(torch.cat(features), torch.cat(sentences), _joined(candidates), told, torch.cat(order))

    def target(self, *, held: bool = False) -> torch.Tensor:
        """The teacher's cosines; `held` leaves the references out of what it reads."""
        weights = torch.ones(self.sentences.shape[:2])
        count = len(self.candidates[1]) // len(self.features)
        if held:
            weights.scatter_(1, self.order[:, count:], 0.0)
        return losses.held_out(self.sentences, self.order[:, :count], weights)


def _joined(parts: list[tuple[torch.Tensor, torch.Tensor]]) -> tuple[torch.Tensor, torch.Tensor]:
    """Padded captions of several sources in one tensor."""
    longest = max(mask.shape[1] for _, mask in parts)
    given, masks = [], []
    for values, mask in parts:
        gap = longest - mask.shape[1]
        given.append(F.pad(values, (0, 0, 0, gap) if values.ndim == 3 else (0, gap)))
        masks.append(F.pad(mask, (0, gap)))
    return torch.cat(given), torch.cat(masks)
