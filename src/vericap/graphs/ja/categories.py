"""JumanDIC's categories of nouns and kinds of verbs, from a shipped table."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from vericap.core import shipped
from vericap.graphs.ja import lexicon

# "A の B" makes A an attribute of B when A is one of these (colour, shape, quantity, time, parts).
ATTRIBUTE_CATEGORIES = frozenset({"動物-部位", "植物-部位", "場所-施設部位", "形・模様", "色", "数量", "時間"})
_SAFE_ENDINGS = frozenset({"人", "動物", "色", "場所-施設", "場所-自然", "人工物-乗り物", "人工物-その他"})
_SHAPE_ENDINGS = ("形", "型", "柄", "模様")
ANIMATE = frozenset({"人", "動物", "組織・団体"})
PLACES = frozenset({"場所-施設", "場所-施設部位", "場所-自然", "場所-機能", "場所-その他"})


class NounTable:
    """noun -> categories, transitive and intransitive verbs."""

    def __init__(self) -> None:
        names = shipped.meta("jumandic")["categories"]
        with np.load(shipped.path("jumandic", "nouns.npz"), allow_pickle=False) as arrays:
            words = _lines(arrays["words"])
            masks = arrays["masks"].tolist()
            self.transitive = frozenset(_lines(arrays["transitive"]))
            self.intransitive = frozenset(_lines(arrays["intransitive"]))
        self._sets = {
            mask: frozenset(name for place, name in enumerate(names) if mask >> place & 1) for mask in set(masks)
        }
        self._masks = dict(zip(words, masks))

    def of(self, noun: str) -> frozenset[str]:
        mask = self._masks.get(noun)
        return frozenset() if mask is None else self._sets[mask]


def _lines(array: NDArray[np.uint8]) -> list[str]:
    return array.tobytes().decode("utf-8").split("\n")


@lru_cache(maxsize=1)
def table() -> NounTable:
    """The table, read at first use."""
    return NounTable()


def categories(noun: str) -> frozenset[str]:
    """Categories of a noun; of the longest known ending where the whole is unknown ("白猫" -> 猫)."""
    found = table()
    if noun in lexicon.COLOURS:
        return frozenset({"色"})
    if noun in lexicon.PATTERNS:
        return frozenset({"形・模様"})
    if len(noun) > 1 and noun.endswith(_SHAPE_ENDINGS) and not found.of(noun):
        return frozenset({"形・模様"})
    for start in range(len(noun)):
        known = found.of(noun[start:])
        if start and start == len(noun) - 1:
            known &= _SAFE_ENDINGS  # one character says little: 球, 姿 would make parts and shapes of anything
        if known:
            return known
    return frozenset()
