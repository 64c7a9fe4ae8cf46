"""How likely each token of a sentence stands wrong: a small network over skeletons, NumPy alone.

The value of a sentence is the probability that none of its tokens is wrong, the product of what each token leaves. So
the tokens that lower it are those the network names; nothing else does. A power, the same for all tokens, makes it the
share of people's captions among texts of that value where half of them are spoilt, as in training; captions are spoilt
less often (SPOILT), and the value that is given is the share there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vericap.core import shipped
from vericap.core.samples import has_word
from vericap.core.typing import Floats, Floats32, Ints
from vericap.models.fluency_seen import Seen
from vericap.models.fluency_words import FLAG_BITS, Lexicon, Sentence, content_classes, repetition, sentences

GOOD, ORDER, MISSING, AGREEMENT, REPEATED, UNKNOWN, CUT, LIST = range(8)
KINDS = (
    "", "odd word order", "a word is missing before it", "wrong form", "repetition", "unknown word", "cut off",
    "list or chain of words",
)  # fmt: skip
WIDTH, DILATIONS = 5, (3, 6)  # of the first layer; of the further ones, three places each
LEAST = 0.01  # of a sentence in the mean over a text
SPOILT = 0.1  # of captions that do not read as written by a person, as a reader may expect
MOULD = 2  # sentences of one skeleton that a text may have
_TOKENS = 1 << 15  # computed at once
_ROUND = 4  # sentences are filled up to a multiple of so many tokens


@dataclass(frozen=True)
class Mark:
    """Letters of a text that lower its fluency: where, how likely they are wrong, and why."""

    start: int
    end: int
    chance: float
    kind: int


@dataclass(frozen=True)
class SentenceFluency:
    """One sentence: where it stands, its value, and per token how likely it is right and what is wrong if not."""

    sentence: Sentence
    value: float
    good: Floats32  # of its tokens and its end
    kinds: NDArray[np.int8]
    copied: float = 0.0  # how likely it only repeats an earlier sentence

    def marks(self, least: float) -> Iterator[Mark]:
        """Tokens that are wrong with at least this chance; the end of a sentence is marked on its last token."""
        spans = self.sentence.spans
        for place in np.flatnonzero(self.good <= 1 - least).tolist():
            start, end = spans[min(place, len(spans) - 1)]
            yield Mark(start, end, float(1 - self.good[place]), int(self.kinds[place]))
        if self.copied >= least:
            yield Mark(self.sentence.start, self.sentence.end, self.copied, REPEATED)


@dataclass(frozen=True)
class TextFluency:
    """One text: its value in [0, 1] and its sentences."""

    value: float
    sentences: tuple[SentenceFluency, ...] = ()

    def marks(self, least: float = 0.2) -> list[Mark]:
        """What lowers the value, in the order of the text."""
        return [mark for sentence in self.sentences for mark in sentence.marks(least)]


class FluencyModel:
    """Texts -> fluency.

    Parameters
    ----------
    lexicon : words with their classes.
    arrays : `classes` (classes, e), `flags` (8, e), `first` (5, e, h), `second` and `third` (3, h, h), their biases
        `first.bias`, ..., `out` (h, kinds) and `out.bias`; `power` (1), 1 where it is missing.
    seen : pairs and triples of classes that good English has; None flags none.
    """

    def __init__(self, lexicon: Lexicon, arrays: dict[str, Any], seen: Seen | None = None) -> None:
        self.lexicon, self.seen = lexicon, seen
        weights = {name: np.asarray(array, dtype=np.float32) for name, array in arrays.items()}
        # The first layer is linear in what it reads: its products are looked up.
        self._classes = np.stack([weights["classes"] @ kernel for kernel in weights["first"]])
        bits = (np.arange(1 << FLAG_BITS)[:, None] >> np.arange(FLAG_BITS)) & 1
        self._flags = np.stack([bits.astype(np.float32) @ weights["flags"] @ kernel for kernel in weights["first"]])
        self.power = float(weights.setdefault("power", np.ones(1, dtype=np.float32))[0])
        self.weights = weights
        self._content = content_classes(lexicon.classes)

    # --- texts ----------------------------------------------------------------------------------------------------

    def texts(self, texts: Sequence[str]) -> list[TextFluency]:
        """The fluency of each text; 0 of one without a word."""
        found = [[sentence for sentence in sentences(text) if any(map(has_word, sentence.words))] for text in texts]
        judged = iter(self.sentences([sentence for text in found for sentence in text]))
        return [self._joined([next(judged) for _ in text]) for text in found]

    def _joined(self, found: list[SentenceFluency]) -> TextFluency:
        if len(found) > 1:
            skeletons = [tuple(self.lexicon.encode(judgement.sentence)) for judgement in found]
            found = list(_copies(found, skeletons))
        return TextFluency(mean([sentence.value for sentence in found]), tuple(found))

    def sentences(self, wanted: Sequence[Sentence]) -> list[SentenceFluency]:
        """The fluency of each sentence for itself."""
        coded = [self.encode(sentence) for sentence in wanted]
        lengths = np.array([len(classes) for classes, _ in coded], dtype=np.int64)
        found: list[SentenceFluency | None] = [None] * len(wanted)
        for rows in _buckets(lengths):
            classes, flags = (np.zeros((len(rows), int(lengths[rows].max())), dtype=np.int64) for _ in range(2))
            for place, row in enumerate(rows.tolist()):
                classes[place, : lengths[row]], flags[place, : lengths[row]] = coded[row]
            chances = self.chances(classes, flags, lengths[rows])
            kinds = (chances[:, :, 1:].argmax(axis=2) + 1).astype(np.int8)
            inside = np.arange(classes.shape[1]) < lengths[rows][:, None]
            values = expected(np.where(inside, chances[:, :, GOOD], 1.0).prod(axis=1, dtype=np.float64)).tolist()
            for place, row in enumerate(rows.tolist()):
                kept = slice(1, int(lengths[row]))  # the start of a sentence is never wrong
                found[row] = SentenceFluency(wanted[row], values[place], chances[place, kept, GOOD], kinds[place, kept])
        return [sentence for sentence in found if sentence is not None]

    def encode(self, sentence: Sentence) -> tuple[list[int], list[int]]:
        """Classes and flags of a sentence's tokens, with its start and end."""
        classes = self.lexicon.encode(sentence)
        flags = [0, *repetition(sentence.words, [self._content[number] for number in classes[1:-1]]), 0]
        if self.seen is not None:
            flags = [said | rare for said, rare in zip(flags, self.seen.flags(classes))]
        return classes, flags

    # --- network --------------------------------------------------------------------------------------------------

    def chances(self, classes: Ints, flags: Ints, lengths: Ints) -> Floats32:
        """Chances of every kind (sentences, tokens, kinds) from padded rows."""
        inside = (np.arange(classes.shape[1]) < lengths[:, None])[:, :, None]
        state = self._first(classes, flags, inside)
        for name, dilation in zip(("second", "third"), DILATIONS):
            state = (state + _relu(self._convolved(state, name, dilation))) * inside
        logits = state @ self.weights["out"] + self.weights["out.bias"]
        logits -= logits.max(axis=2, keepdims=True)
        np.exp(logits, out=logits)
        found: Floats32 = logits / logits.sum(axis=2, keepdims=True)
        found[:, :, GOOD] **= self.power
        found[:, 0] = np.eye(len(KINDS), dtype=np.float32)[GOOD]
        return found

    def _first(self, classes: Ints, flags: Ints, inside: NDArray[np.bool_]) -> Floats32:
        count, length = classes.shape
        state = np.broadcast_to(self.weights["first.bias"], (count, length, self._classes.shape[2])).copy()
        rows, places = np.nonzero(flags)
        for kernel in range(WIDTH):
            shift = kernel - WIDTH // 2
            here, there = _shifted(length, shift)
            state[:, here] += self._classes[kernel][classes[:, there]] * inside[:, there]
            at = places - shift
            kept = (at >= 0) & (at < length)
            np.add.at(state, (rows[kept], at[kept]), self._flags[kernel][flags[rows[kept], places[kept]]])
        return _relu(state) * inside

    def _convolved(self, state: Floats32, name: str, dilation: int) -> Floats32:
        found: Floats32 = state @ self.weights[name][1] + self.weights[f"{name}.bias"]
        for kernel, shift in ((0, -dilation), (2, dilation)):
            here, there = _shifted(state.shape[1], shift)
            found[:, here] += state[:, there] @ self.weights[name][kernel]
        return found


def expected(even: Floats) -> Floats:
    """Shares where few captions are spoilt, from shares where half of them are.

    >>> expected(np.array([0.0, 0.5, 1.0])).round(2).tolist()
    [0.0, 0.9, 1.0]
    """
    return np.asarray((1 - SPOILT) * even / ((1 - SPOILT) * even + SPOILT * (1 - even)))


def _shifted(length: int, shift: int) -> tuple[slice, slice]:
    """Places that have a neighbour `shift` places on, and these neighbours."""
    return slice(max(0, -shift), max(0, length - max(0, shift))), slice(
        min(length, max(0, shift)), max(0, length + min(0, shift))
    )


def _relu(values: Floats32) -> Floats32:
    return np.maximum(values, 0, out=values)


def _buckets(lengths: Ints) -> Iterator[Ints]:
    """Rows of about equal length, few enough to be computed at once."""
    rounded = -(-lengths // _ROUND)
    order = np.argsort(rounded, kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(rounded[order])) + 1):
        if len(group):
            step = max(1, _TOKENS // int(lengths[group].max()))
            yield from (group[start : start + step] for start in range(0, len(group), step))


# --- texts of several sentences ---------------------------------------------------------------------------------------


def mean(values: Sequence[float]) -> float:
    """The harmonic mean: one broken sentence among ten shows; 0 without any.

    >>> round(mean([0.95] * 9 + [0.05]), 2), mean([])
    (0.34, 0.0)
    """
    if len(values) < 2:
        return float(values[0]) if values else 0.0
    return float(len(values) / (1.0 / np.maximum(values, LEAST)).sum())


def _copies(found: Sequence[SentenceFluency], skeletons: Sequence[tuple[int, ...]]) -> Iterator[SentenceFluency]:
    """Sentences that say again what earlier ones said, or that fill one mould again and again, are worth less."""
    said: set[tuple[str, ...]] = set()
    moulds: Counter[tuple[int, ...]] = Counter()
    for judged, skeleton in zip(found, skeletons):
        words = [word for word in judged.sentence.words if word.isalnum()]
        size = min(4, len(words))
        grams = [tuple(words[i : i + size]) for i in range(len(words) - size + 1)]
        share = sum(gram in said for gram in grams) / len(grams) if grams else 0.0
        again = max(0, moulds[skeleton] - MOULD + 1) / (moulds[skeleton] + 1)
        copied = max(0.0, 2 * share - 1, again)  # half of a sentence may be said again
        said.update(grams)
        moulds[skeleton] += 1
        worth = judged.value * (1 - copied)
        yield SentenceFluency(judged.sentence, worth, judged.good, judged.kinds, copied) if copied else judged


# --- files ------------------------------------------------------------------------------------------------------------


def load(name: str = "default") -> FluencyModel:
    """The shipped model, or one in a folder of `vericap train fluency`."""
    arrays, _ = shipped.weights(name, "fluency")
    classes = _lines(arrays.pop("class_names"))
    words, numbers = _lines(arrays.pop("words")), arrays.pop("word_classes").tolist()
    seen = Seen.unpacked(len(classes), arrays.pop("pairs"), arrays.pop("triples"))
    return FluencyModel(Lexicon(classes, {word: classes[number] for word, number in zip(words, numbers)}), arrays, seen)


def pack(model: FluencyModel) -> dict[str, NDArray[Any]]:
    """Arrays that `load` reads: weights in half precision, words and names of classes as lines of text."""
    lexicon, words = model.lexicon, sorted(model.lexicon.words)
    return {
        **{name: np.ascontiguousarray(array, dtype=np.float16) for name, array in model.weights.items()},
        **(model.seen or Seen(len(lexicon.classes), (), ())).packed(),
        "class_names": _bytes(lexicon.classes),
        "words": _bytes(words),
        "word_classes": np.array([lexicon.words[word] for word in words], dtype=np.uint16),
    }


def _lines(array: NDArray[Any]) -> list[str]:
    return array.tobytes().decode("utf-8").split("\n")


def _bytes(lines: Sequence[str]) -> NDArray[np.uint8]:
    return np.frombuffer("\n".join(lines).encode(), dtype=np.uint8)
