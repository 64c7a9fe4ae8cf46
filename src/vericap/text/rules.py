"""Rules a caption's text can be kept by: counts, marks and the language, each a column of one value per text.

words>=3 & lang==en & !url & !markup
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from vericap.core.samples import has_word
from vericap.core.typing import Array
from vericap.text.languages import language

Kind = Literal["number", "flag", "text"]

# Signs of Han and kana count as one word each: these scripts write no blanks.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+(?:['’-][^\W_]+)*")
# Endings that are English words (in, it, me, us) are left out: "grass.in the park" only lacks a blank.
_TOP_LEVEL = "com|org|net|edu|gov|io|info|biz|co|de|uk|fr|es|nl|ru|jp|cn|eu|ca|au|br|tv|shop|store|ly"
_PATH = r"[^\s<>\"]*[^\s<>\".,;:!?)\]}']"  # a mark at the end belongs to the sentence
URL = re.compile(
    rf"\b(?:https?|ftp)://{_PATH}|\bwww\.{_PATH}|(?<![\w@.])(?:[a-z0-9-]+\.)+(?:{_TOP_LEVEL})\b(?:/{_PATH})?",
    re.IGNORECASE,
)
EMAIL = re.compile(r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b")
_ENDINGS = "jpe?g|png|gif|webp|bmp|tiff?|svg|avif|heic|raw|psd|pdf|mp4|mov|avi|docx?|pptx?|xlsx?|zip"
CAMERA = r"\b(?:IMG|DSC[NF]?|PICT|PXL|MVIMG|GOPR|P|Screenshot)[ _-]?\d{3,}(?:[_-]\w+)*\b(?:\.\w{3,4}\b)?"
FILE_NAME = re.compile(
    rf"(?<!\S)\S*[\w)\]]\.(?:{_ENDINGS})\b"  # photo_of(1).jpg
    rf"|{CAMERA}",
    re.IGNORECASE,
)
ENTITY = re.compile(r"&(?:[A-Za-z][A-Za-z0-9]{1,30}|#\d{1,7}|#[xX][0-9A-Fa-f]{1,6});")
TAG = re.compile(r"<!--.*?-->|</?[A-Za-z][A-Za-z0-9:-]*(?:\s[^<>]*)?/?>|<![A-Za-z][^<>]*>", re.DOTALL)
_MARKUP = re.compile(rf"{ENTITY.pattern}|{TAG.pattern}|\[/?(?:b|i|u|url|img|quote)\b[^\]]*\]", re.DOTALL)
_EMOJI = re.compile("[\U0001f300-\U0001faff\u2600-\u27bf\U0001f1e6-\U0001f1ff]")
_HASHTAG = re.compile(r"(?<!\S)#[^\W\d_]\w*")

SHOUTED_WORDS = 3  # a caption of fewer words in capitals may be an abbreviation
SHOUTED_SHARE = 0.8  # of the letters


@dataclass(frozen=True)
class Rule:
    """One rule: what it gives for a text, and what it means."""

    name: str
    kind: Kind
    of: Callable[[str], float | bool | str]
    help: str

    def column(self, texts: Sequence[str]) -> Array:
        """One value per text; texts that occur again are looked at once."""
        known: dict[str, float | bool | str] = {}
        for text in texts:
            if text not in known:
                known[text] = self.of(text)
        dtype: type = {"number": np.float64, "flag": np.bool_, "text": np.object_}[self.kind]
        return np.array([known[text] for text in texts], dtype=dtype)


def words(text: str) -> list[str]:
    """Words of a text; a sign of Han or kana is one."""
    return _WORD.findall(text)


def uppercase(text: str) -> float:
    """Share of the letters that are capitals; 0 without a letter."""
    letters = [letter for letter in text if letter.isalpha()]
    return sum(letter.isupper() for letter in letters) / len(letters) if letters else 0.0


def symbols(text: str) -> float:
    """Share of the characters, without blanks, that are neither letter nor digit."""
    signs = [sign for sign in text if not sign.isspace()]
    return sum(not sign.isalnum() for sign in signs) / len(signs) if signs else 0.0


def repetition(text: str) -> float:
    """Share of the pairs of neighbouring words that occurred before: 0 for most captions, near 1 for a loop."""
    found = [word.lower() for word in words(text)]
    pairs = list(pairwise(found))
    return 1 - len(set(pairs)) / len(pairs) if pairs else 0.0


def shouting(text: str) -> bool:
    """Whether a caption of several words is written in capitals."""
    return len(words(text)) >= SHOUTED_WORDS and uppercase(text) >= SHOUTED_SHARE


def _has(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda text: pattern.search(text) is not None


_RULES = (
    Rule("words", "number", lambda text: float(len(words(text))), "number of words (Han and kana: of signs)"),
    Rule("characters", "number", lambda text: float(len(text)), "number of characters"),
    Rule("digits", "number", lambda text: float(sum(map(str.isdigit, text))), "number of digits"),
    Rule("longest-word", "number", lambda text: float(max(map(len, words(text)), default=0)), "letters of it"),
    Rule("uppercase", "number", uppercase, "share of letters that are capitals"),
    Rule("symbols", "number", symbols, "share of characters that are neither letter nor digit"),
    Rule("repetition", "number", repetition, "share of word pairs that occurred before"),
    Rule("lang", "text", language, "language by script and function words; `und` where nothing tells"),
    Rule("url", "flag", _has(URL), "holds a web address"),
    Rule("email", "flag", _has(EMAIL), "holds an e-mail address"),
    Rule("filename", "flag", _has(FILE_NAME), "holds a file's name (x.jpg, IMG_1234)"),
    Rule("markup", "flag", _has(_MARKUP), "holds HTML tags or entities, or marks of a forum"),
    Rule("emoji", "flag", _has(_EMOJI), "holds an emoji"),
    Rule("hashtag", "flag", _has(_HASHTAG), "holds a #hashtag"),
    Rule("shouting", "flag", shouting, "three words or more, in capitals"),
    Rule("wordless", "flag", lambda text: not has_word(text), "holds neither letter nor digit"),
)
RULES: dict[str, Rule] = {rule.name: rule for rule in _RULES}
