"""Which pairs and triples of classes good English has: what it never has is rarely good.

A network alone can be led astray by combinations that neither good sentences nor made errors showed it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

RARE_PAIR, RARE_TRIPLE = 64, 128  # flags of a token that closes one never seen
SLOTS = 1 << 20  # triples share slots by their hash: one in ten unseen ones passes for seen
_FACTOR = 2654435761


class Seen:
    """Pairs and triples of classes, one bit each.

    Parameters
    ----------
    classes : how many classes there are.
    pairs, triples : numbers of those seen, as `pair` and `triple` give them.
    """

    def __init__(self, classes: int, pairs: Iterable[int], triples: Iterable[int]) -> None:
        self.classes = classes
        self._pairs, self._triples = bytearray(classes * classes), bytearray(SLOTS)
        for number in pairs:
            self._pairs[number] = 1
        for number in triples:
            self._triples[number] = 1

    def numbers(self, classes: Sequence[int]) -> tuple[list[int], list[int]]:
        """Numbers of the pairs and of the triples in a sentence.

        >>> Seen(10, [], []).numbers([1, 2, 3])[0]
        [12, 23]
        """
        pairs = [one * self.classes + two for one, two in pairwise(classes)]
        triples = [
            ((pair * self.classes + three) * _FACTOR >> 8) & (SLOTS - 1) for pair, three in zip(pairs, classes[2:])
        ]
        return pairs, triples

    def flags(self, classes: Sequence[int]) -> list[int]:
        """Flags of a sentence's tokens.

        >>> seen = Seen(10, [12], [])
        >>> seen.flags([1, 2, 3])
        [0, 0, 192]
        """
        pairs, triples = self.numbers(classes)
        known, told = self._pairs, self._triples
        found = [0, *(0 if known[number] else RARE_PAIR for number in pairs)]
        for place, number in enumerate(triples, 2):
            if not told[number]:
                found[place] |= RARE_TRIPLE
        return found[: len(classes)]

    def packed(self) -> dict[str, NDArray[np.uint8]]:
        """Bits as arrays that `unpacked` reads."""
        return {
            "pairs": np.packbits(np.frombuffer(self._pairs, dtype=np.uint8)),
            "triples": np.packbits(np.frombuffer(self._triples, dtype=np.uint8)),
        }

    @classmethod
    def unpacked(cls, classes: int, pairs: NDArray[np.uint8], triples: NDArray[np.uint8]) -> Seen:
        found = cls(classes, (), ())
        found._pairs = bytearray(np.unpackbits(pairs)[: classes * classes].tobytes())
        found._triples = bytearray(np.unpackbits(triples)[:SLOTS].tobytes())
        return found
