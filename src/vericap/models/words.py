"""SCAN's own text encoder for scoring: a vocabulary, word embeddings and a bidirectional GRU (models.recurrent)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from vericap.core.typing import Floats32, Ints
from vericap.models.recurrent import bidirectional
from vericap.models.treebank import pieces

UNKNOWN, START, END = 0, 1, 2  # places every vocabulary begins with
MARKS = ("<unknown>", "<start>", "<end>")
_WORD = re.compile(r"\w+(?:'\w+)?")


def tokens(text: str, cut: str = "words") -> list[str]:
    """Lower-case words; the same at training and scoring time. `cut` is `words`, or `treebank` with marks."""
    return [word for word, _, _ in pieces(text)] if cut == "treebank" else _WORD.findall(text.lower())


def spans(text: str, cut: str = "words") -> list[tuple[int, int]]:
    """Where the words of `tokens` stand in the text, between two marks that stand nowhere."""
    if cut == "treebank":
        return [(0, 0), *((start, end) for _, start, end in pieces(text)), (0, 0)]
    return [(0, 0), *(match.span() for match in _WORD.finditer(text.lower())), (0, 0)]


def numbers(text: str, places: Mapping[str, int], cut: str = "words") -> list[int]:
    """Vocabulary numbers between sentence marks; nothing for a caption of unknown words only."""
    known = [places.get(word, UNKNOWN) for word in tokens(text, cut)]
    return [] if all(number == UNKNOWN for number in known) else [START, *known, END]


def encode(
    texts: Sequence[str], weights: Mapping[str, Floats32], vocabulary: Sequence[str], cut: str = "words"
) -> tuple[Floats32, Ints]:
    """Word vectors (mean of the directions) of captions one after the other, and where each caption begins."""
    places = {word: place for place, word in enumerate(vocabulary)}
    coded = [numbers(text, places, cut) for text in texts]
    lengths = np.array([len(item) for item in coded], dtype=np.int64)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    inner = {name.removeprefix("gru_"): value for name, value in weights.items() if name.startswith("gru_")}
    size = inner["weight_hh"].shape[1]
    vectors = np.zeros((int(offsets[-1]), size), dtype=np.float32)
    order = np.argsort(lengths, kind="stable")
    order = order[lengths[order] > 0]
    for start in range(0, len(order), 256):
        group = order[start : start + 256]
        longest = int(lengths[group].max())
        padded = np.array([coded[i] + [UNKNOWN] * (longest - len(coded[i])) for i in group])
        both, _ = bidirectional(weights["embedding"][padded], lengths[group], inner)
        inside = np.arange(longest) < lengths[group][:, None]
        rows = (offsets[group][:, None] + np.arange(longest))[inside]
        vectors[rows] = both.reshape(*both.shape[:2], -1, size).mean(axis=2)[inside]
    return vectors, offsets
