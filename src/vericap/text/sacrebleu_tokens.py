"""Tokenisers for other languages, with the tokens that sacrebleu gives to lower-case texts (`sacrebleu -lc`).

    intl    punctuation and symbols apart from words, of any script (mteval-v14, international)
    char    every letter and mark is a token
    zh      every Chinese character is a token, the rest is cut as mteval-v13a does

Punctuation stays, as it does there. `tests/text/test_sacrebleu_tokens.py` compares with what sacrebleu printed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

_CHINESE = re.compile(
    "([\u2001-\u2a6d\u2e80-\u2fdf\u2ff0-\u303f\u3100-\u312f\u31a0-\u31ef\u3200-\u4db5\u4e00-\u9fbb\uf900-\ufa2d"
    "\ufa30-\ufa6a\ufa70-\ufad9\ufe10-\ufe1f\ufe30-\ufe4f\uff00-\uffef])"
)
_ASCII_MARKS = re.compile(r"([!-&(-+/:-@\[-`{-~])")
_STOPS = ((re.compile(r"([^0-9])([.,])"), r"\1 \2 "), (re.compile(r"([.,])([^0-9])"), r" \1 \2"))
_HYPHEN = re.compile(r"([0-9])(-)")


def intl(texts: Sequence[str]) -> list[list[str]]:
    """Tokens of texts in any language with blanks between words.

    >>> intl(["Zwei Hunde, 3,5 kg!"])
    [['zwei', 'hunde', ',', '3,5', 'kg', '!']]
    """
    lowered = [text.lower().rstrip() for text in texts]
    letters = set().union(*lowered)
    marks, numbers, symbols = (_class(letters, kind, always) for kind, always in (("P", "."), ("N", "0"), ("S", "+")))
    before = re.compile(f"([^{numbers}])([{marks}])")
    after = re.compile(f"([{marks}])([^{numbers}])")
    single = re.compile(f"([{symbols}])")
    return [single.sub(r" \1 ", after.sub(r" \1 \2", before.sub(r"\1 \2 ", text))).split() for text in lowered]


def _class(letters: Iterable[str], kind: str, always: str) -> str:
    """The letters of a Unicode category for a regular expression; Python's own has no such classes."""
    found = {letter for letter in letters if unicodedata.category(letter).startswith(kind)}
    return "".join(map(re.escape, sorted(found | {always})))


def char(texts: Sequence[str]) -> list[list[str]]:
    """Every letter and mark of texts.

    >>> char(["Ab c"])
    [['a', 'b', 'c']]
    """
    return [[letter for letter in text.lower() if not letter.isspace()] for text in texts]


def zh(texts: Sequence[str]) -> list[list[str]]:
    """Chinese characters one by one, words of other scripts whole.

    >>> zh(["两只狗 on grass。"])
    [['两', '只', '狗', 'on', 'grass', '。']]
    """
    return [_thirteen(_CHINESE.sub(r" \1 ", text.lower().strip())) for text in texts]


def _thirteen(text: str) -> list[str]:
    """The regular expressions of mteval-v13a."""
    text = _ASCII_MARKS.sub(r" \1 ", text)
    for pattern, put in _STOPS:
        text = pattern.sub(put, text)
    return _HYPHEN.sub(r"\1 \2 ", text).split()
