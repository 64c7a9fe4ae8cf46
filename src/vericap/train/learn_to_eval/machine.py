"""Captions that no person wrote of a photo, for the discriminator to tell from people's.

No captioning system's output may be trained on here (all that is at hand is of test photos), so machines of our own
make them, in the kinds that Cui et al. (2018) train on:
    babbled    a trigram model of the captions talks; of many sentences the one nearest to the photo is taken
    retrieved  a caption of the photo that looks most alike
    foreign    a caption of any other photo
    permuted   a caption of the photo, its words in random order
    replaced   a caption of the photo, a third of its words replaced
They begin with a capital and end with a stop where the photo's own captions do, so that neither gives them away.
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from vericap.core.typing import Array, Floats32, Ints
from vericap.models.words import tokens
from vericap.text.encoders import SentenceEncoder
from vericap.train.data import Captioned

KINDS = ("babbled", "retrieved", "foreign", "permuted", "replaced")
_MARK = ""  # before and after a sentence
_LONGEST = 20  # words
_SHORTEST = 4
_HEARD = 300  # babbled sentences from which one is chosen for a photo
_REPLACED = 1 / 3
_ROWS = 256  # photos compared with all others at once


class Babbler:
    """A trigram language model that talks.

    >>> Babbler(["a dog runs"]).say(np.random.default_rng(0))
    'a dog runs'
    """

    def __init__(self, texts: Sequence[str]) -> None:
        counts: dict[tuple[str, str], Counter[str]] = {}
        used: Counter[str] = Counter()
        for text in texts:
            words = tokens(text)
            used.update(words)
            padded = [_MARK, _MARK, *words, _MARK]
            for first, second, third in zip(padded, padded[1:], padded[2:]):
                counts.setdefault((first, second), Counter())[third] += 1
        self._next = {pair: _summed(own) for pair, own in counts.items()}
        self._words = _summed(used)

    def say(self, generator: np.random.Generator) -> str:
        """One sentence; a long one is cut."""
        said = [_MARK, _MARK]
        while len(said) < _LONGEST + 2:
            word = _drawn(self._next[said[-2], said[-1]], generator)
            if word == _MARK:
                break
            said.append(word)
        return " ".join(said[2:])

    def word(self, generator: np.random.Generator) -> str:
        """One word, as often as people use it."""
        return _drawn(self._words, generator)

    def pool(self, count: int, known: Sequence[str], generator: np.random.Generator) -> list[str]:
        """Different sentences that nobody wrote; fewer where it soon repeats itself."""
        written = {" ".join(tokens(text)) for text in known}
        found: dict[str, None] = {}
        for _ in range(20 * count):
            text = self.say(generator)
            if text not in written and len(text.split()) >= _SHORTEST:
                found[text] = None
            if len(found) == count:
                break
        return list(found)


Summed = tuple[list[str], list[int]]  # words, and how often they and those before them are used


def _summed(counts: Counter[str]) -> Summed:
    return list(counts), list(accumulate(counts.values()))


def _drawn(words: Summed, generator: np.random.Generator) -> str:
    return words[0][bisect(words[1], int(generator.integers(words[1][-1])))]


@dataclass(frozen=True)
class MachineCaptions:
    """Of every photo one caption of each kind.

    Attributes
    ----------
    texts : (photos, kinds)
    vectors : (photos, kinds, d)
    sources : (photos,) which of the photo's own captions was permuted and replaced: it is no reference of these.
    """

    texts: list[list[str]]
    vectors: Array
    sources: Ints


def machine_captions(
    data: Captioned,
    images: Floats32,
    encoder: SentenceEncoder,
    *,
    babbled: int = 20_000,
    seed: int = 0,
) -> MachineCaptions:
    """Captions of every kind for photos with unit vectors `images` (photos, d)."""
    generator = np.random.default_rng(seed)
    human = [text for own in data.captions for text in own]
    babbler = Babbler(human)
    pool = babbler.pool(babbled, human, generator) or human
    others = _other_photos(len(data), generator)
    sources = np.array([generator.integers(len(own)) for own in data.captions], dtype=np.int64)
    own = [texts[place] for texts, place in zip(data.captions, sources.tolist())]
    heard = [pool[place] for place in nearest_heard(images, encoder.encode(pool), generator)]
    columns = {
        "babbled": [dressed(text, like) for text, like in zip(heard, own)],
        "retrieved": [_one_of(data.captions[place], generator) for place in nearest_photos(images)],
        "foreign": [_one_of(data.captions[place], generator) for place in others],
        "permuted": [dressed(permuted(text, generator), text) for text in own],
        "replaced": [dressed(replaced(text, babbler, generator), text) for text in own],
    }
    texts = [list(row) for row in zip(*(columns[kind] for kind in KINDS))]
    vectors = encoder.encode([text for row in texts for text in row]).reshape(len(data), len(KINDS), -1)
    return MachineCaptions(texts, vectors.astype(np.float16), sources)


def _one_of(texts: Sequence[str], generator: np.random.Generator) -> str:
    return texts[int(generator.integers(len(texts)))]


def _other_photos(count: int, generator: np.random.Generator) -> list[int]:
    """For every photo another one."""
    steps = generator.integers(1, max(count, 2), count)
    found: list[int] = ((np.arange(count) + steps) % count).tolist()
    return found


def nearest_heard(images: Floats32, pool: Floats32, generator: np.random.Generator) -> list[int]:
    """For every photo the best of some hundred sentences of the pool."""
    found: list[int] = []
    for start in range(0, len(images), _ROWS):
        scores = images[start : start + _ROWS] @ pool.T
        heard = generator.integers(len(pool), size=(len(scores), _HEARD))
        best = np.take_along_axis(scores, heard, axis=1).argmax(axis=1)
        found += heard[np.arange(len(heard)), best].tolist()
    return found


def nearest_photos(images: Floats32) -> list[int]:
    """For every photo the one that looks most alike."""
    found: list[int] = []
    for start in range(0, len(images), _ROWS):
        scores = images[start : start + _ROWS] @ images.T
        scores[np.arange(len(scores)), np.arange(start, start + len(scores))] = -np.inf
        found += scores.argmax(axis=1).tolist()
    return found


def dressed(text: str, like: str) -> str:
    """A text with a capital and a stop where another one has them.

    >>> dressed("dog a runs", "A dog runs.")
    'Dog a runs.'
    """
    first = text[:1].upper() if like[:1].isupper() else text[:1]
    return first + text[1:] + ("." if like.rstrip().endswith(".") else "")


def permuted(text: str, generator: np.random.Generator) -> str:
    words = tokens(text)
    return " ".join(words[place] for place in generator.permutation(len(words)))


def replaced(text: str, babbler: Babbler, generator: np.random.Generator) -> str:
    """A third of the words, one at least, become others, drawn as often as people use them."""
    words = tokens(text)
    for place in generator.permutation(len(words))[: max(1, round(_REPLACED * len(words)))]:
        words[place] = babbler.word(generator)
    return " ".join(words)
