"""The content words of a batch as vectors: every distinct word once, texts as bags of rows."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vericap.run.batch import Batch
from vericap.text.bags import Bags
from vericap.text.stopwords import is_content
from vericap.text.vectors import Known, Rows, WordVectors, open_vectors, prepare

Ints = NDArray[np.int64]


@dataclass
class WordSpace:
    """Vectors of a batch's words. Row numbers stand for words; labels of several words get rows of their own."""

    source: WordVectors
    normalise: bool
    centre: bool
    words: list[str]
    vectors: Rows
    texts: Bags  # content words of every text of the batch
    unknown: dict[int, list[str]]  # text -> content words without a vector
    _rows: dict[str, int] = field(default_factory=dict)

    def labels(self, labels: Iterable[str]) -> dict[str, int]:
        """Row of each label, -1 where none of its words has a vector.

        A label of several words ("dining table") is one unit: the mean of its words' vectors.
        """
        wanted = list(dict.fromkeys(labels))
        pieces = {label: [w for w in re.split(r"[\s_\-/]+", label.lower()) if w] for label in wanted}
        self._learn([word for words in pieces.values() for word in words])
        found = {}
        for label, words in pieces.items():
            rows = [self._rows[word] for word in words if self._rows[word] >= 0]
            if len(rows) > 1:
                found[label] = self._rows.get(label, -1)
                if found[label] < 0:
                    found[label] = self._append(label, self.vectors[rows].mean(axis=0))
            else:
                found[label] = rows[0] if rows else -1
        return found

    def unit_vectors(self) -> Rows:
        """Rows of length 1, as cosines need them."""
        if self.normalise:
            return self.vectors
        lengths = np.linalg.norm(self.vectors, axis=1, keepdims=True)
        return np.asarray(self.vectors / np.maximum(lengths, 1e-12), dtype=np.float32)

    def _learn(self, words: list[str]) -> None:
        new = [word for word in dict.fromkeys(words) if word not in self._rows]
        if not new:
            return
        rows, known = lookup(self.source, new, normalise=self.normalise, centre=self.centre)
        for word, row, usable in zip(new, rows, known):
            self._rows[word] = self._append(word, row) if usable else -1

    def _append(self, word: str, vector: Rows) -> int:
        if self.normalise:
            vector = vector / max(float(np.linalg.norm(vector)), 1e-12)
        self.words.append(word)
        self.vectors = np.concatenate([self.vectors, vector[None].astype(np.float32)])
        self._rows[word] = len(self.words) - 1
        return len(self.words) - 1


def word_space(batch: Batch, spec: str | None, *, normalise: bool = True, centre: bool = True) -> WordSpace:
    """The batch's content words in the vectors a text names; made once per batch and choice."""
    name = f"words of {spec or 'encoder'}, normalise={normalise}, centre={centre}"
    kept: dict[str, Any] = batch._analyses
    if name not in kept:
        source = open_vectors(spec, root=batch.settings.cache, threads=batch.settings.workers)
        kept[name] = _build(batch, source, normalise, centre)
    space: WordSpace = kept[name]
    return space


def lookup(source: WordVectors, words: list[str], *, normalise: bool, centre: bool) -> tuple[Rows, Known]:
    """Vectors of words, with what all words share removed (centre); a zero vector counts as unknown."""
    rows, known = source.rows(words)
    made = prepare(rows, known, source.mean() if centre else None, normalise=normalise)
    return made, known & (np.abs(made).max(axis=1, initial=0.0) > 0)


def _build(batch: Batch, source: WordVectors, normalise: bool, centre: bool) -> WordSpace:
    tokens = batch.analysis("tokens")
    content = np.array([is_content(word) for word in tokens.vocabulary], dtype=bool)
    chosen = np.flatnonzero(content)
    words = [tokens.vocabulary[i] for i in chosen]
    vectors, known = lookup(source, words, normalise=normalise, centre=centre)
    row_of = np.full(len(tokens.vocabulary), -1, dtype=np.int64)
    usable = chosen[known]
    row_of[usable] = np.arange(len(usable))
    text_of = np.repeat(np.arange(len(tokens)), tokens.lengths())
    rows = row_of[tokens.ids]
    missing = content[tokens.ids] & (rows < 0)
    unknown: dict[int, list[str]] = {}
    for text, token in zip(text_of[missing].tolist(), tokens.ids[missing].tolist()):
        unknown.setdefault(text, []).append(tokens.vocabulary[token])
    kept = [word for word, good in zip(words, known) if good]
    return WordSpace(
        source=source,
        normalise=normalise,
        centre=centre,
        words=kept,
        vectors=vectors[known],
        texts=count_bags(text_of[rows >= 0], rows[rows >= 0], len(tokens), max(len(kept), 1)),
        unknown=unknown,
        _rows={**dict.fromkeys(words, -1), **{word: row for row, word in enumerate(kept)}},
    )


def count_bags(texts: Ints, rows: Ints, count: int, width: int) -> Bags:
    """Bags of row frequencies from (text, row) pairs."""
    pairs, counts = np.unique(texts * width + rows, return_counts=True)
    owner = pairs // width
    sizes = np.bincount(owner, minlength=count)
    totals = np.bincount(owner, counts, minlength=count)
    return Bags(
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        (pairs % width).astype(np.int64),
        counts / totals[owner],
        np.ones(len(pairs)),
    )
