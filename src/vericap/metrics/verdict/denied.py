"""Words of a caption for what it says is not there: "no dog", "without people", "not wearing a collar"."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache

from vericap.graphs.corruption_words import CONCRETE, noun_topic
from vericap.graphs.english_words import NEGATIONS
from vericap.text import wordnet
from vericap.text.stopwords import ENGLISH
from vericap.vision.caption_words import CaptionWords, listed_with, negated, negates, word_set
from vericap.vision.mentions import class_words

Span = tuple[int, int]
# A quick look for one before the words are read.
_SIGN = re.compile(r"\b(?:no\w*|ne\w+|without|zero|lack\w*|minus|cannot|absent|missing|gone)\b|n['’]t\b", re.I)
_THINGS = CONCRETE | {"noun.person", "noun.animal", "noun.group"}
_BE = word_set("is are was were")


def is_negation(word: str) -> bool:
    """Whether a word only denies others: "no", "without", "isn't"."""
    lower = word.lower().replace("’", "'")
    return negates(lower) or lower in NEGATIONS


@lru_cache(maxsize=1 << 14)
def denied(text: str) -> tuple[Span, ...]:
    """Places of the words for what a sentence says is not there, by the rules of CHAIR for objects. What is done is
    denied right behind a negation ("not smiling") or of what is denied ("no one is riding").

    >>> text = "A cat without a red collar"
    >>> [text[start:end] for start, end in denied(text)]
    ['red', 'collar']
    """
    if not _SIGN.search(text):
        return ()
    words, names = CaptionWords.of(text), class_words().phrases
    found, absent = [], -1  # where the last word ends that is said to be absent
    for place, word in enumerate(words.tokens):
        if word in ENGLISH or not word.isalnum() or is_negation(word):
            continue
        if _is_denied(words, place, absent, names):
            found.append(words.span(place))
            absent = place + 1
        elif word in names:
            absent = -1
    return tuple(found)


def _is_denied(words: CaptionWords, place: int, absent: int, names: Collection[str]) -> bool:
    before = words.at(place - 1)
    if negates(before):
        return True
    if _is_done(words.at(place)):
        return before in _BE and absent == place - 1
    return negated(words, place, 1, names) or (absent >= 0 and listed_with(words, absent, place))


@lru_cache(maxsize=1 << 12)
def _is_done(word: str) -> bool:
    """Whether a word says what someone does rather than what is there: "riding", "holds"."""
    nouns = wordnet.base_forms(word, "n")
    return bool(wordnet.base_forms(word, "v")) and not any(noun_topic(noun) in _THINGS for noun in nouns)
