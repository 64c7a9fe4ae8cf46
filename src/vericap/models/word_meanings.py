"""Words as the text side of a SCAN model reads them alone: what an orthogonal part is compared with, to be named.

In a caption every word's vector carries the whole caption, so that "a" and "the" lie nearest to any residual. Read
alone, less the mean of frequent words, only the word itself is left.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

import numpy as np

from vericap.core import shipped
from vericap.core.typing import Floats32
from vericap.models.scan import CaptionWords, unit
from vericap.text.stopwords import ENGLISH

_WORD = re.compile(r"[^\W\d_](?:[\w'’-]*\w)?")
_COMMON = 500  # frequent words whose mean is removed

Read = Callable[[Sequence[str]], CaptionWords]  # how a model reads texts


def content(text: str) -> list[str]:
    """Content words of a text in small letters, each once."""
    return [word for word in dict.fromkeys(_WORD.findall(text.lower())) if word not in ENGLISH]


class Meanings:
    """Unit vectors of content words."""

    def __init__(self, words: Sequence[str], vectors: Floats32) -> None:
        self._places = {word: place for place, word in enumerate(words)}
        self._vectors = vectors

    @classmethod
    def of(cls, texts: Iterable[str], read: Read) -> Meanings:
        """The content words of some texts, as a model reads them; words it does not know are left out."""
        words = list(dict.fromkeys(word for text in texts for word in content(text)))
        common = common_words()
        vectors = alone([*common, *words], read)
        own = vectors[len(common) :]
        known = np.flatnonzero(own.any(axis=1))
        centred = unit(own[known] - vectors[: len(common)].mean(axis=0))
        return cls([words[place] for place in known.tolist()], centred)

    def __contains__(self, word: str) -> bool:
        return word in self._places

    def __call__(self, words: Sequence[str]) -> Floats32:
        """(words, D) unit vectors."""
        return self._vectors[[self._places[word] for word in words]]

    def nearest(self, vector: Floats32, words: Sequence[str], count: int = 5) -> list[tuple[str, float]]:
        """The words nearest to a vector, with their cosines; unknown words are passed over."""
        known = [word for word in words if word in self]
        if not known:
            return []
        cosines = self(known) @ unit(vector)
        best = np.argsort(-cosines, kind="stable")[:count]
        return [(known[place], float(cosines[place])) for place in best]


def alone(words: Sequence[str], read: Read) -> Floats32:
    """(words, D): each word read as a text of its own, marks left out; zero for a word the model does not know."""
    found = read(words)
    blank = np.zeros(found.vectors.shape[1], dtype=np.float32)
    rows = [found[place] for place in range(len(words))]
    return np.stack([row[1:-1].mean(axis=0) if len(row) > 2 else blank for row in rows])


@lru_cache(maxsize=1)
def common_words() -> tuple[str, ...]:
    """Content words captions use most."""
    words = shipped.path("word_vectors", "words.txt").read_text("utf-8").split("\n")
    return tuple([word for word in words if word.isalpha() and word not in ENGLISH][:_COMMON])
