"""Japanese words: morphemes for the n-gram metrics, and one spelling for words written in several ways."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from vericap.errors import MissingPart, require

_PIECE = 8000  # characters per call; the dictionary takes some 16,000 at most
_DIGITS = str.maketrans("一二三四五六七八九", "123456789")
_COUNT = re.compile(r"^([0-9一二三四五六七八九]+)(人|名|つ|個|匹|頭|台|本|枚|羽|機|冊|杯|皿|隻|艘|艇|足|着|切れ|階|段)(.*)$")
_SPELLINGS = {"ひとり": "1人", "ふたり": "2人", "ひとつ": "1つ", "ふたつ": "2つ", "みっつ": "3つ", "よっつ": "4つ",
              "大きな": "大きい", "小さな": "小さい", "沢山": "たくさん"}  # fmt: skip


@lru_cache(maxsize=2)
def _tokenizer(mode: str) -> Any:
    sudachipy = require("sudachipy", "ja", "the tokenizer 'sudachi'")
    try:
        return sudachipy.Dictionary().create(mode=getattr(sudachipy.SplitMode, mode))
    except Exception as error:  # a missing dictionary is reported by types SudachiPy does not export
        raise MissingPart(
            f"SudachiPy finds no dictionary ({error}); install one with: pip install 'vericap[ja]'"
        ) from error


def tokenize(texts: Sequence[str]) -> list[list[str]]:
    """Morphemes of each text (SudachiPy, shortest units), without punctuation and blanks, in one width."""
    return [_morphemes(text) for text in texts]


def _morphemes(text: str) -> list[str]:
    text = unicodedata.normalize("NFKC", text)
    tokenizer = _tokenizer("A")
    found: list[str] = []
    for start in range(0, len(text), _PIECE):
        for word in tokenizer.tokenize(text[start : start + _PIECE]):
            if word.part_of_speech()[0] not in ("補助記号", "空白") and word.surface().strip():
                found.append(word.surface().lower())
    return found


@lru_cache(maxsize=1 << 16)
def representative(word: str) -> str:
    """One spelling for a word: さす and 差す, 二人 and 2人, 大きな and 大きい become the same."""
    if word in _SPELLINGS:
        return _SPELLINGS[word]
    count = _COUNT.match(word)
    if count:
        return count[1].translate(_DIGITS) + count[2].replace("名", "人") + count[3]
    parts = _tokenizer("C").tokenize(word)
    if len(parts) > 6:
        return word
    return "".join(part.normalized_form() if len(parts) == 1 else part.surface() for part in parts)
