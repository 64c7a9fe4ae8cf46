"""Misspelt words of captions: "frisbe" is read as "frisbee", "umbrela" as "umbrella".

Only words that WordNet and captions do not know are touched, and only where one frequent caption word is one slip away
(a letter missing, doubled, changed or two swapped; the first letter stays), in long words two slips.
"""

from __future__ import annotations

import re
from functools import lru_cache

from vericap.core import shipped
from vericap.text import wordnet

_WORD = re.compile(r"[a-z]{5,}")
_FREQUENT = 3000  # only such frequent caption words are put in
_TIMES = 3  # and only where they are this many times nearer to the head of the list of words
_ENDINGS = ("er", "ers", "r", "rs", "y", "ed", "ing", "less", "like", "s")


def mend(text: str) -> str:
    """A lower-case text with its misspelt words put right."""
    return _WORD.sub(_mended, text)


def _mended(match: re.Match[str]) -> str:
    return spelt(match.group())


@lru_cache(maxsize=1 << 16)
def spelt(word: str) -> str:
    """The word itself, or the one it was meant to be."""
    if len(word) < 5 or _is_known(word):
        return word
    ranks = _ranks()
    rank = ranks.get(word, 1 << 20)
    index = _index(word[0])
    near = {other for form in _shortened(word) for other in index.get(form, ())}
    slips = sorted((_slips(word, other), ranks[other], other) for other in near)
    least = slips[0][0] if slips else 9
    fitting = [(place, other) for count, place, other in slips if count == least and place * _TIMES < rank]
    if not fitting or least > (2 if len(word) >= 8 else 1):
        return word
    (best, found), rest = fitting[0], fitting[1:]
    if any(place < _TIMES * best and not _same_base(found, other) for place, other in rest):
        return word  # two words it might be
    return found


@lru_cache(maxsize=1)
def _ranks() -> dict[str, int]:
    """Words of captions by how frequent they are."""
    words = shipped.path("lm", "words.txt").read_text("utf-8").split()
    return {word: place for place, word in enumerate(words)}


@lru_cache(maxsize=32)
def _index(first: str) -> dict[str, list[str]]:
    """Frequent caption words that begin with a letter, by their forms with one letter left out."""
    found: dict[str, list[str]] = {}
    for word, rank in _ranks().items():
        if word[0] == first and rank < _FREQUENT and len(word) > 3 and word.isalpha() and _is_known(word):
            for form in _shortened(word):
                found.setdefault(form, []).append(word)
    return found


def _shortened(word: str) -> set[str]:
    return {word, *(word[:place] + word[place + 1 :] for place in range(len(word)))}


def _slips(one: str, two: str) -> int:
    """Letters put in, left out, changed, or neighbours swapped (Damerau's distance)."""
    before, row = [], list(range(len(two) + 1))
    for i, letter in enumerate(one, 1):
        before, above, row = row, before, [i]
        for j, other in enumerate(two, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == two[j - 2] and one[i - 2] == other:
                cost = min(cost, above[j - 2] + 1)
            row.append(cost)
    return row[-1]


def _same_base(one: str, two: str) -> bool:
    return not set(wordnet.base_forms(one)).isdisjoint(wordnet.base_forms(two))


@lru_cache(maxsize=1 << 16)
def _is_known(word: str) -> bool:
    """In WordNet, or made of a word there: "biker", "colorfully"."""
    if any(wordnet.synsets(base) for base in wordnet.base_forms(word) or [word]):
        return True
    stems = (word.removesuffix(ending) for ending in _ENDINGS if word.endswith(ending))
    return any(len(stem) > 3 and wordnet.synsets(stem) for stem in stems)
