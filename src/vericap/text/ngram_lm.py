"""A back-off n-gram language model as sorted arrays: exact lookup, no hashing, a few bytes per n-gram.

The n-grams of one order are numbered in sorted order; an n-gram is its context's number (in the order below) and
its last word. Arrays of order k: `words` (last words), `counts` (how many n-grams follow each context of order
k - 1), `probability` and `backoff` (log, one byte each through a codebook of 256 values).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vericap.core.errors import InputError
from vericap.core.shipped import sha256
from vericap.core.typing import Floats32, Ints
from vericap.text.language_model import TokenScores

START, END, UNKNOWN = 0, 1, 2
MARKS = ("<s>", "</s>", "<unk>")


@dataclass
class Order:
    """All n-grams of one length."""

    keys: Ints  # sorted: number of the context x size of the vocabulary + last word
    probability: Floats32  # natural log
    backoff: Floats32  # natural log; 0 for n-grams that are no context


@dataclass
class NgramModel:
    """Back-off model: log p(w | h) = stored value, or backoff(h) + log p(w | shorter h)."""

    vocabulary: dict[str, int]
    orders: list[Order]  # from unigrams up
    frequency: Floats32  # log relative frequency of every word, </s> included
    name: str

    @property
    def order(self) -> int:
        return len(self.orders)

    def numbers(self, tokens: Sequence[str]) -> list[int]:
        return [self.vocabulary.get(token, UNKNOWN) for token in tokens]

    def token_scores(self, texts: Sequence[Sequence[str]]) -> tuple[Floats32, Ints, Ints]:
        """log p of every token and of the end of each text; their word numbers; offsets by text.

        An unknown word ends the context: what follows it is judged as if nothing stood before.
        """
        rows = [self.numbers(text) for text in texts]
        offsets = np.concatenate([[0], np.cumsum([len(row) + 1 for row in rows])]).astype(np.int64)
        words = np.array([w for row in rows for w in (*row, END)], dtype=np.int64)
        place = np.arange(len(words)) - np.repeat(offsets[:-1], np.diff(offsets))
        # context[k] is the word k + 1 places back; before the text there is one <s>, before that nothing (-1)
        context = np.full((self.order - 1, len(words)), -1, dtype=np.int64)
        for back in range(1, self.order):
            inside = place >= back
            context[back - 1, inside] = words[np.flatnonzero(inside) - back]
            context[back - 1, place == back - 1] = START
        # All unknown words are one: in training they stand in company, so that nonsense would predict nonsense.
        context[np.logical_or.accumulate(context == UNKNOWN, axis=0)] = -1
        return self.scores(words, context), words, offsets

    def text_scores(self, texts: Sequence[Sequence[str]]) -> list[TokenScores]:
        """Each text's tokens and its end, with both log-probabilities; nothing of a text without tokens.

        An unknown word is never likelier where it stands than anywhere: that some unknown word was to be expected
        says nothing for this one.
        """
        scores, words, offsets = self.token_scores(texts)
        inside, alone = scores.astype(np.float64), self.frequency[words].astype(np.float64)
        inside = np.where(words == UNKNOWN, np.minimum(inside, alone), inside)
        return [
            TokenScores([*text, MARKS[END]], inside[start:end], alone[start:end]) if text else TokenScores.nothing()
            for text, start, end in zip(texts, offsets, offsets[1:])
        ]

    def scores(self, words: Ints, context: Ints) -> Floats32:
        """From the longest context down: what is found counts, what is not adds the context's back-off weight."""
        known = [words * 0]  # number of the context of each length, -1 where it was never seen
        for length in range(1, self.order):
            number = self._number(context[:length][::-1], length)
            known.append(number)
        score = np.zeros(len(words), dtype=np.float32)
        open_ = np.ones(len(words), dtype=bool)
        for length in range(self.order - 1, -1, -1):
            usable = open_ & (known[length] >= 0)
            rows = np.flatnonzero(usable)
            found = self._find(length, known[length][rows], words[rows])
            hit = rows[found >= 0]
            score[hit] += self.orders[length].probability[found[found >= 0]]
            open_[hit] = False
            if length:
                miss = rows[found < 0]
                score[miss] += self.orders[length - 1].backoff[known[length][miss]]
        return score

    def _number(self, context: Ints, length: int) -> Ints:
        """Number of the n-gram `context` (length, n) in its order, -1 where it does not exist."""
        number = np.where((context >= 0).all(axis=0), 0, -1)
        for depth in range(length):
            alive = np.flatnonzero(number >= 0)
            number[alive] = self._find(depth, number[alive], context[depth, alive])
        return number

    def _find(self, length: int, contexts: Ints, words: Ints) -> Ints:
        """Row of (context, word) among n-grams of length + 1; -1 where it is not."""
        keys = self.orders[length].keys
        wanted = contexts * len(self.vocabulary) + words
        place = np.searchsorted(keys, wanted)
        place[place == len(keys)] = 0
        return np.where(keys[place] == wanted, place, -1)


def save(model: NgramModel, folder: Path, **facts: Any) -> None:
    """Write the model with one byte per probability, and its description with the SHA-256 of every file."""
    folder.mkdir(parents=True, exist_ok=True)
    size = len(model.vocabulary)
    (folder / "words.txt").write_text("\n".join(model.vocabulary), "utf-8")
    arrays: dict[str, NDArray[Any]] = {"frequency": model.frequency.astype(np.float16)}
    for length, order in enumerate(model.orders, 1):
        contexts = len(model.orders[length - 2].keys) if length > 1 else 1
        arrays[f"{length}.words"] = (order.keys % size).astype(np.uint16 if size < 65536 else np.uint32)
        arrays[f"{length}.counts"] = _small(np.bincount(order.keys // size, minlength=contexts))
        arrays[f"{length}.probability"], arrays[f"{length}.probabilities"] = _codes(order.probability)
        if length < model.order:
            arrays[f"{length}.backoff"], arrays[f"{length}.backoffs"] = _codes(order.backoff)
    with (folder / "ngrams.npz").open("wb") as stream:
        np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]
    files = {name: sha256(folder / name) for name in ("words.txt", "ngrams.npz")}
    meta = {"kind": "ngram", "name": model.name, "order": model.order, **facts, "files": files}
    (folder / "meta.json").write_text(json.dumps(meta, indent=1) + "\n", "utf-8")


def is_model(folder: Path) -> bool:
    """Whether a folder holds a model that `save` wrote."""
    return (folder / "ngrams.npz").is_file()


def describe(folder: Path) -> dict[str, Any]:
    """The model's meta file."""
    try:
        found: dict[str, Any] = json.loads((folder / "meta.json").read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{folder} is not an n-gram model of `vericap train lm`: {error}") from error
    return found


def version(folder: Path) -> str:
    """The model's name with the first digits of its SHA-256: signatures tell one training from another."""
    meta = describe(folder)
    return f"{meta['name']}-{meta['files']['ngrams.npz'][:8]}"


def load(folder: Path) -> NgramModel:
    """Open a model that `save` wrote."""
    meta = describe(folder)
    try:
        words = (folder / "words.txt").read_text("utf-8").split("\n")
        with np.load(folder / "ngrams.npz", allow_pickle=False) as arrays:
            orders = [_order(arrays, length, len(words), meta["order"]) for length in range(1, meta["order"] + 1)]
            frequency = arrays["frequency"].astype(np.float32)
    except (OSError, KeyError, ValueError) as error:
        raise InputError(f"{folder} is not an n-gram model of `vericap train lm`: {error}") from error
    return NgramModel({word: i for i, word in enumerate(words)}, orders, frequency, meta["name"])


def _order(arrays: Any, length: int, size: int, longest: int) -> Order:
    words, counts = arrays[f"{length}.words"].astype(np.int64), arrays[f"{length}.counts"].astype(np.int64)
    keys = np.repeat(np.arange(len(counts)), counts) * size + words
    probability = arrays[f"{length}.probabilities"][arrays[f"{length}.probability"]]
    if length == longest:
        return Order(keys, probability, np.zeros(0, np.float32))
    return Order(keys, probability, arrays[f"{length}.backoffs"][arrays[f"{length}.backoff"]])


def _codes(values: Floats32) -> tuple[NDArray[np.uint8], Floats32]:
    """A byte per value and the 256 values they stand for: means of equally filled bins."""
    distinct = np.unique(values)
    if len(distinct) <= 256:
        return np.searchsorted(distinct, values).astype(np.uint8), distinct.astype(np.float32)
    edges = np.unique(np.quantile(values, np.linspace(0, 1, 257)[1:-1]))
    codes = np.searchsorted(edges, values, side="right")
    total = np.bincount(codes, values, minlength=len(edges) + 1)
    count = np.maximum(np.bincount(codes, minlength=len(edges) + 1), 1)
    return codes.astype(np.uint8), (total / count).astype(np.float32)


def _small(counts: Ints) -> NDArray[Any]:
    return counts.astype(np.uint16 if counts.max(initial=0) < 65536 else np.uint32)
