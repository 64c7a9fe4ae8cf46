"""The English Snowball stemmer ("Porter 2") in the version METEOR 1.5 carries.

Current Snowball releases changed some rules, and METEOR compares stems, so the older rules are kept here:
https://snowballstem.org/algorithms/english/stemmer.html describes the steps by these names.
"""

from __future__ import annotations

import re
from functools import lru_cache

_VOWELS = frozenset("aeiouy")
_SPECIAL = {
    "skis": "ski", "skies": "sky", "dying": "die", "lying": "lie", "tying": "tie", "idly": "idl",
    "gently": "gentl", "ugly": "ugli", "early": "earli", "only": "onli", "singly": "singl",
    "sky": "sky", "news": "news", "howe": "howe", "atlas": "atlas", "cosmos": "cosmos", "bias": "bias",
    "andes": "andes",
}  # fmt: skip
_STOP_AFTER_1A = frozenset((
    "inning", "outing", "canning", "herring", "earring", "proceed", "exceed", "succeed",
))  # fmt: skip
_STEP_2 = {
    "ational": "ate", "fulness": "ful", "iveness": "ive", "ization": "ize", "ousness": "ous", "biliti": "ble",
    "lessli": "less", "tional": "tion", "alism": "al", "aliti": "al", "ation": "ate", "entli": "ent",
    "fulli": "ful", "iviti": "ive", "ousli": "ous", "abli": "able", "alli": "al", "anci": "ance",
    "ator": "ate", "enci": "ence", "izer": "ize", "bli": "ble", "ogi": "og", "li": "",
}  # fmt: skip
_STEP_3 = {
    "ational": "ate", "tional": "tion", "alize": "al", "ative": "", "icate": "ic", "iciti": "ic",
    "ical": "ic", "ness": "", "ful": "",
}  # fmt: skip
_STEP_4 = (
    "ement", "able", "ance", "ence", "ible", "ment", "ant", "ate", "ent", "ion", "ism", "iti", "ive", "ize",
    "ous", "al", "er", "ic",
)  # fmt: skip
_DOUBLES = frozenset(letter * 2 for letter in "bdfgmnprt")
_REGION = re.compile("[aeiouy].*?[^aeiouy]", re.DOTALL)
_Y_AFTER_VOWEL = re.compile("([aeiouy])y")


def _regions(word: str) -> tuple[int, int]:
    """Where R1 and R2 begin."""
    for prefix in ("gener", "commun", "arsen"):
        if word.startswith(prefix):
            first = len(prefix)
            break
    else:
        found = _REGION.search(word)
        if not found:
            return len(word), len(word)
        first = found.end()
    found = _REGION.search(word, first)
    return first, found.end() if found else len(word)


def _short(word: str) -> bool:
    """Does the word end in a short syllable?"""
    if len(word) >= 3 and word[-1] not in _VOWELS and word[-1] not in "wxY":
        return word[-2] in _VOWELS and word[-3] not in _VOWELS
    return len(word) == 2 and word[0] in _VOWELS and word[1] not in _VOWELS


def _has_vowel(text: str) -> bool:
    return not _VOWELS.isdisjoint(text)


def _step_1a(word: str) -> str:
    for suffix in ("'s'", "'s", "'"):
        if word.endswith(suffix):
            word = word[: -len(suffix)]
            break
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith(("ied", "ies")):
        return word[:-2] if len(word) >= 5 else word[:-1]
    if word.endswith("s") and not word.endswith(("us", "ss")) and _has_vowel(word[:-2]):
        return word[:-1]
    return word


def _step_1b(word: str, first: int) -> str:
    for suffix in ("eedly", "ingly", "edly", "eed", "ing", "ed"):
        if word.endswith(suffix):
            break
    else:
        return word
    stem = word[: -len(suffix)]
    if suffix.startswith("eed"):
        return stem + "ee" if len(stem) >= first else word
    if not _has_vowel(stem):
        return word
    if stem.endswith(("at", "bl", "iz")):
        return stem + "e"
    if stem[-2:] in _DOUBLES:
        return stem[:-1]
    return stem + "e" if len(stem) == first and _short(stem) else stem


def _step_1c(word: str) -> str:
    if len(word) > 2 and word[-1] in "yY" and word[-2] not in _VOWELS:
        return word[:-1] + "i"
    return word


def _step_2(word: str, first: int) -> str:
    for suffix, instead in _STEP_2.items():
        if word.endswith(suffix):
            stem = word[: -len(suffix)]
            if len(stem) < first:
                return word
            if suffix == "ogi" and not stem.endswith("l"):
                return word
            if suffix == "li" and stem[-1:] not in tuple("cdeghkmnrt"):
                return word
            return stem + instead
    return word


def _step_3(word: str, first: int, second: int) -> str:
    for suffix, instead in _STEP_3.items():
        if word.endswith(suffix):
            stem = word[: -len(suffix)]
            if len(stem) < first or (suffix == "ative" and len(stem) < second):
                return word
            return stem + instead
    return word


def _step_4(word: str, second: int) -> str:
    for suffix in _STEP_4:
        if word.endswith(suffix):
            stem = word[: -len(suffix)]
            if len(stem) < second or (suffix == "ion" and not stem.endswith(("s", "t"))):
                return word
            return stem
    return word


def _step_5(word: str, first: int, second: int) -> str:
    stem = word[:-1]
    if word.endswith("e") and (len(stem) >= second or (len(stem) >= first and not _short(stem))):
        return stem
    if word.endswith("ll") and len(stem) >= second:
        return stem
    return word


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """The stem of a lower-case English word."""
    if word in _SPECIAL:
        return _SPECIAL[word]
    if len(word) < 3:
        return word
    word = word.removeprefix("'")
    if word.startswith("y"):
        word = "Y" + word[1:]
    word = _Y_AFTER_VOWEL.sub(r"\1Y", word)
    first, second = _regions(word)
    word = _step_1a(word)
    if word not in _STOP_AFTER_1A:
        word = _step_1c(_step_1b(word, first))
        word = _step_4(_step_3(_step_2(word, first), first, second), second)
        word = _step_5(word, first, second)
    return word.replace("Y", "y")
