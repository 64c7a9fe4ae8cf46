"""Japanese morphemes with their places, which of them say something, and vectors of single words."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from vericap.core.typing import Bools, Floats32
from vericap.text.japanese import ENCODER, WIDTH, JapaneseEncoder, sudachi
from vericap.text.tokens import TokenTable

_PIECE = 8000  # characters per call; the dictionary takes some 16,000 at most
_CONTENT = ("名詞", "動詞", "形容詞", "形状詞", "副詞")
# Verbs and nouns that carry grammar: いる, ある, する, なる; こと, もの, ため; and talk about the picture.
_GRAMMAR = """
    居る いる 有る ある 為る する 成る なる 行く 来る 仕舞う しまう 置く おく 見る 出来る できる 事 こと 物 もの 為
    ため 様 よう 所 ところ 中 上 下 前 後ろ 横 隣 側 辺り 付近 其れ 此れ 彼 彼女 何 時 写真 画像 様子 場面 光景
    とても 迚も 一つ 写る 映る
"""
_EMPTY = frozenset(_GRAMMAR.split())


@dataclass(frozen=True)
class Morpheme:
    """A word: in one width and small letters, its normal form, its part of speech, its place in the text."""

    text: str
    normal: str
    part: str
    start: int
    end: int


@lru_cache(maxsize=1 << 14)
def morphemes(text: str, mode: str = "A") -> list[Morpheme]:
    """The morphemes of a text without blanks and punctuation (SudachiPy): shortest units "A", longest "C"."""
    folded, letters = _folded(text)
    found: list[Morpheme] = []
    for start in range(0, len(folded), _PIECE):
        for word in sudachi(mode).tokenize(folded[start : start + _PIECE]):
            part, first, last = word.part_of_speech()[0], start + word.begin(), start + word.end()
            if part not in ("補助記号", "空白") and word.surface().strip():
                place = letters[first], letters[last - 1] + 1
                found.append(Morpheme(word.surface().lower(), word.normalized_form(), part, *place))
    return found


def _folded(text: str) -> tuple[str, Sequence[int]]:
    """The text in one width, and the letter that each of its letters comes from."""
    pairs = [(letter, i) for i, c in enumerate(text) for letter in unicodedata.normalize("NFKC", c)]
    return "".join(letter for letter, _ in pairs), [i for _, i in pairs]


def content(text: str) -> list[Morpheme]:
    """The words that say something: nouns, verbs, adjectives, without grammar and talk about the picture.

    Longest units: 消火栓 is one word, as the name of the object is.
    """
    return [word for word in morphemes(text, "C") if word.part in _CONTENT and word.normal not in _EMPTY]


class JapaneseVectors:
    """Single words through the multilingual encoder. What all words share is taken from some typical words."""

    name = f"{ENCODER}-words"
    width = WIDTH

    def __init__(self, encoder: JapaneseEncoder, typical: Sequence[str]) -> None:
        self._encoder = encoder
        self._typical = typical

    def rows(self, words: Sequence[str]) -> tuple[Floats32, Bools]:
        """Vectors (words, width), and which words have one: all but blanks."""
        return self._encoder.encode(words), np.array([bool(word.strip()) for word in words], dtype=bool)

    def mean(self) -> Floats32:
        """The mean vector of the typical words."""
        return np.asarray(self._encoder.encode(self._typical).mean(axis=0), dtype=np.float32)


def content_table(texts: Sequence[str]) -> TokenTable:
    """Content words of texts in their normal forms: 走っている and 走る are one word."""
    return TokenTable.of([word.normal for word in content(text)] for text in texts)
