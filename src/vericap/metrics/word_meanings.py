"""Words as the text side of a SCAN model reads them alone: what an orthogonal part is compared with, to be named.

In a caption every word's vector carries the whole caption, so that "a" and "the" lie nearest to any residual. Read
alone, less the mean of frequent words, only the word itself is left.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vericap.models import store
from vericap.models.scan import Scan, unit
from vericap.run.batch import Batch
from vericap.text import encoder
from vericap.text.stopwords import ENGLISH

Array = NDArray[Any]
_WORD = re.compile(r"[^\W\d_](?:[\w'-]*\w)?")
_COMMON = 500  # frequent words whose mean is removed


def content(text: str) -> list[str]:
    """Content words of a text in small letters, each once."""
    return [word for word in dict.fromkeys(_WORD.findall(text.lower())) if word not in ENGLISH]


class Meanings:
    """Vectors of the content words of some texts."""

    def __init__(self, model: Scan, texts: Iterable[str], batch: Batch) -> None:
        words = list(dict.fromkeys(word for text in texts for word in content(text)))
        common = common_words()
        vectors = alone(model, [*common, *words], batch)
        self._places = {word: place for place, word in enumerate(words)}
        self._vectors = unit(vectors[len(common) :] - vectors[: len(common)].mean(axis=0))

    def __call__(self, words: Sequence[str]) -> Array:
        """(words, D) unit vectors."""
        return self._vectors[[self._places[word] for word in words]]

    def nearest(self, vector: Array, words: Sequence[str], count: int = 5) -> list[dict[str, Any]]:
        """The words nearest to a vector, with their cosines."""
        if not words:
            return []
        cosines = self(words) @ unit(vector)
        best = np.argsort(-cosines, kind="stable")[:count]
        return [{"word": words[i], "strength": round(float(cosines[i]), 4)} for i in best]


def alone(model: Scan, words: list[str], batch: Batch) -> Array:
    """(words, D): each word read as a text of its own, marks left out; zero for a word the model does not know."""
    states = encoder.of(batch).token_states(words) if model.meta["words"] == "states" else None
    read = model.words(words, states)
    return np.stack(
        [read[i][1:-1].mean(axis=0) if len(read[i]) > 2 else np.zeros(model.width) for i in range(len(words))]
    )


@lru_cache(maxsize=1)
def common_words() -> tuple[str, ...]:
    """Content words captions use most."""
    words = store.path("word_vectors", "words.txt").read_text("utf-8").split("\n")
    return tuple([word for word in words if word.isalpha() and word not in ENGLISH][:_COMMON])
