"""JumanDIC: categories of nouns, kinds of verbs, representative spellings, from a shipped table."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from vericap.core import shipped


class JumanDic:
    """noun -> categories, transitive and intransitive verbs, word -> representative form."""

    def __init__(self) -> None:
        names = shipped.meta("jumandic")["categories"]
        with np.load(shipped.path("jumandic", "nouns.npz"), allow_pickle=False) as arrays:
            words = _lines(arrays["words"])
            masks = arrays["masks"].tolist()
            self.transitive = frozenset(_lines(arrays["transitive"]))
            self.intransitive = frozenset(_lines(arrays["intransitive"]))
            self.spellings = dict(zip(_lines(arrays["spelled"]), _lines(arrays["representative"])))
        self._sets = {
            mask: frozenset(name for place, name in enumerate(names) if mask >> place & 1) for mask in set(masks)
        }
        self._masks = dict(zip(words, masks))

    def __contains__(self, noun: str) -> bool:
        return noun in self._masks

    def of(self, noun: str) -> frozenset[str]:
        """The categories of a noun, none where the dictionary does not have it."""
        mask = self._masks.get(noun)
        return frozenset() if mask is None else self._sets[mask]


def _lines(array: NDArray[np.uint8]) -> list[str]:
    return array.tobytes().decode("utf-8").split("\n")


@lru_cache(maxsize=1)
def table() -> JumanDic:
    """The table, read at first use."""
    return JumanDic()
