"""The content words of texts as vectors: every distinct word once, texts as bags of rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from vericap.core.typing import Ints
from vericap.text.bags import Bags
from vericap.text.stopwords import is_content
from vericap.text.tokens import TokenTable
from vericap.text.vectors import Known, Rows, WordVectors, prepare

_BREAKS = re.compile(r"[\s_\-/]+")


@dataclass(frozen=True)
class WordTable:
    """Vectors of the content words of texts. Row numbers stand for words."""

    source: WordVectors
    normalise: bool
    centre: bool
    words: list[str]
    vectors: Rows
    texts: Bags  # content words of every text
    unknown: dict[int, list[str]]  # text -> content words without a vector
    rows: dict[str, int] = field(repr=False)  # row of each word that was looked up; -1 without a vector

    def with_labels(self, labels: Iterable[str]) -> tuple[WordTable, dict[str, int]]:
        """A larger table that has labels too, and the row of each label; -1 where none of its words has a vector.

        A label of several words ("dining table") is one unit: the mean of its words' vectors.
        """
        pieces = {label: [word for word in _BREAKS.split(label.lower()) if word] for label in dict.fromkeys(labels)}
        table = self._with_words(dict.fromkeys(word for own in pieces.values() for word in own))
        known = {label: [table.rows[word] for word in own if table.rows[word] >= 0] for label, own in pieces.items()}
        new = [label for label, own in known.items() if len(own) > 1 and table.rows.get(label, -1) < 0]
        table = table._appended(new, [table.vectors[known[label]].mean(axis=0) for label in new])
        found = {label: own[0] if own else -1 for label, own in known.items()}
        return table, {**found, **{label: table.rows[label] for label, own in known.items() if len(own) > 1}}

    def _with_words(self, words: Iterable[str]) -> WordTable:
        """The table with all words that have a vector; others are noted."""
        new = [word for word in words if word not in self.rows]
        vectors, known = lookup(self.source, new, normalise=self.normalise, centre=self.centre)
        table = self._appended([word for word, good in zip(new, known) if good], list(vectors[known]))
        return replace(table, rows={**dict.fromkeys(new, -1), **table.rows})

    def _appended(self, words: Sequence[str], vectors: Sequence[Rows]) -> WordTable:
        if not words:
            return self
        if self.normalise:
            vectors = [vector / max(float(np.linalg.norm(vector)), 1e-12) for vector in vectors]
        start = len(self.words)
        return replace(
            self,
            words=[*self.words, *words],
            vectors=np.concatenate([self.vectors, np.stack(vectors).astype(np.float32)]),
            rows={**self.rows, **{word: start + place for place, word in enumerate(words)}},
        )

    def unit_vectors(self) -> Rows:
        """Rows of length 1, as cosines need them."""
        if self.normalise:
            return self.vectors
        lengths = np.linalg.norm(self.vectors, axis=1, keepdims=True)
        return np.asarray(self.vectors / np.maximum(lengths, 1e-12), dtype=np.float32)


def lookup(source: WordVectors, words: list[str], *, normalise: bool, centre: bool) -> tuple[Rows, Known]:
    """Vectors of words, with what all words share removed (centre); a zero vector counts as unknown."""
    rows, known = source.rows(words)
    made = prepare(rows, known, source.mean() if centre else None, normalise=normalise)
    return made, known & (np.abs(made).max(axis=1, initial=0.0) > 0)


def word_table(tokens: TokenTable, source: WordVectors, *, normalise: bool = True, centre: bool = True) -> WordTable:
    """The content words of texts in a table of vectors."""
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
    return WordTable(
        source=source,
        normalise=normalise,
        centre=centre,
        words=kept,
        vectors=vectors[known],
        texts=count_bags(text_of[rows >= 0], rows[rows >= 0], len(tokens), max(len(kept), 1)),
        unknown=unknown,
        rows={**dict.fromkeys(words, -1), **{word: row for row, word in enumerate(kept)}},
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
