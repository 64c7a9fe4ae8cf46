"""Sentences as skeletons: function words as they are, content words as classes, so that objects do not matter.

A class is what a word can be in a sentence ("NN" a noun, "NN|VB" a noun or a verb, "VBG.t" a participle that takes an
object), found by counting tags in training. "a dog on a sofa" and "a zither on a plinth" have the same skeleton.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from vericap.text import wordnet
from vericap.text.sentences import sentence_bounds

START, END = "<s>", "</s>"
UNKNOWN, NAME, NUMBER, HASHTAG, SYMBOL, COMPOUND = "<unknown>", "<name>", "<number>", "<tag>", "<symbol>", "<compound>"
WRONG_A, WRONG_AN = "<a before a vowel>", "<an before a consonant>"
MARKS = (",", ".", ";", ":", "(", ")", '"', "-", "!", "?", "/", "&", "'")
SPECIAL = (START, END, UNKNOWN, NAME, NUMBER, HASHTAG, SYMBOL, COMPOUND, WRONG_A, WRONG_AN, *MARKS)

# What repeats, as bits of a number per token; two more tell what good English never has (`fluency_seen`).
SAME, LOOP, PAIR, TRIPLE, AGAIN, NEAR = 1, 2, 4, 8, 16, 32
FLAG_BITS = 8

_TOKEN = re.compile(
    r"https?://\S+|www\.\S+|[#@][^\W_][\w-]*|\d+(?:[.,:/]\d+)*[a-z]{0,2}\b|[^\W\d_]\w*?(?=n['’]t\b)n['’]t"
    r"|['’](?:s|re|ve|ll|d|m)\b|[^\W_]+(?:-[^\W_]+)*|[^\w\s]|_+"
)
_SAME_MARK = {"“": '"', "”": '"', "’": "'", "‘": "'", "–": "-", "—": "-", "`": "'", "´": "'", "[": "(", "]": ")"}
_PICTURES = frozenset(("So", "Sk", "Co", "Cn", "Cs"))  # categories of emoji, their shades, and those to come
_WITHIN = frozenset(("Cf", "Mn", "Me"))  # of marks without a width of their own, also inside a word
_VOWEL = re.compile(r"[aeiou]|hour|honest|heir|honou?r|8|11\b|18\b")
_CONSONANT = re.compile(r"uni(?!n|m)|use|usu|util|eu|ewe|one\b|once|u\b|ura|uk|ufo|ubi|ute")
_WORD = re.compile(r"[a-z][a-z'’]*$")


@dataclass(frozen=True)
class Sentence:
    """One sentence of a text: where it stands, its tokens in small letters and where each stands in the text."""

    start: int
    end: int
    words: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    names: frozenset[int] = frozenset()  # tokens with a capital that nothing but a name explains


def sentences(text: str) -> list[Sentence]:
    """Sentences of a text that hold a token, without the marks that end them.

    >>> [found.words for found in sentences("A dog. It's big!")]
    [('a', 'dog'), ('it', "'s", 'big')]
    """
    found = []
    shouted = text.isupper()
    text, places = _read_aloud(text)
    for start, end, _ in sentence_bounds(text):
        pieces = [
            (match.group(), places[match.start()], places[match.end() - 1] + 1)
            for match in _TOKEN.finditer(text, start, end)
        ]
        if pieces and pieces[-1][0] == ".":  # of an abbreviation that ends the text
            pieces.pop()
        if pieces:
            found.append(_sentence(pieces, shouted))
    return found


def _read_aloud(text: str) -> tuple[str, Sequence[int]]:
    """A text without what nobody reads aloud, emoji, marks of no width and control characters, and where each letter
    of it stands.

    >>> _read_aloud("a\u200b cat \U0001f63a.")
    ('a cat  .', [0, 2, 3, 4, 5, 6, 7, 8])
    """
    if text.isascii() and text.isprintable():
        return text, range(len(text))
    kept = [(_aloud(letter), place) for place, letter in enumerate(text)]
    return "".join(letter for letter, _ in kept), [place for letter, place in kept if letter]


def _aloud(letter: str) -> str:
    kind = unicodedata.category(letter)
    if kind in _WITHIN:
        return ""
    silent = (kind == "Cc" and not letter.isspace()) or (kind in _PICTURES and not letter.isascii())
    return " " if silent else letter


def _sentence(pieces: list[tuple[str, int, int]], shouted: bool) -> Sentence:
    words = tuple(_SAME_MARK.get(word, word.lower().replace("’", "'")) for word, _, _ in pieces)
    spans = tuple((start, end) for _, start, end in pieces)
    names = frozenset() if shouted else frozenset(i for i, (word, _, _) in enumerate(pieces) if word[0].isupper())
    return Sentence(spans[0][0], spans[-1][1], words, spans, names)


class Lexicon:
    """Words with their classes; a word outside of it is looked up in WordNet.

    Parameters
    ----------
    classes : all classes; a token's class is its place in them.
    words : word -> class.
    """

    def __init__(self, classes: Sequence[str], words: Mapping[str, str]) -> None:
        self.classes = tuple(classes)
        self.number = {name: place for place, name in enumerate(self.classes)}
        self.words = {word: self.number[name] for word, name in words.items() if name in self.number}
        self._rare: dict[str, int] = {}

    def __contains__(self, word: str) -> bool:
        return word in self.words

    def encode(self, sentence: Sentence) -> list[int]:
        """Classes of a sentence's tokens, with its start and end."""
        known, words = self.words, sentence.words
        found = [self.number[START]]
        for place, word in enumerate(words):
            number = known.get(word, -1)
            if number < 0:
                number = self._rare_class(word, place in sentence.names)
            elif word == "a" or word == "an":
                number = self._article(word, words[place + 1] if place + 1 < len(words) else "", number)
            found.append(number)
        found.append(self.number[END])
        return found

    def _article(self, word: str, following: str, number: int) -> int:
        if len(following) < 2 or following not in self.words:
            return number  # letters and names may be spoken either way
        vowel = begins_with_vowel(following)
        wrong = WRONG_A if word == "a" and vowel else WRONG_AN if word == "an" and not vowel else ""
        return self.number[wrong] if wrong else number

    def _rare_class(self, word: str, name: bool) -> int:
        found = self._rare.get(word)
        if found is None:
            found = self.number.get(self._looked_up(word), self.number[UNKNOWN])
            if len(self._rare) < 200_000:
                self._rare[word] = found
        return self.number[NAME] if name and found == self.number[UNKNOWN] and _WORD.match(word) else found

    def _looked_up(self, word: str) -> str:
        if word in MARKS:
            return word
        if word[0] in "#@" or word.startswith(("http", "www.")):
            return HASHTAG if len(word) > 1 else SYMBOL
        if word[0].isdigit():
            return NUMBER
        if not word[0].isalpha():
            return SYMBOL
        if word.endswith("n't"):
            return self.classes[self.words[word[:-3]]] if word[:-3] in self.words else UNKNOWN
        if "-" in word:
            parts = word.split("-")
            return COMPOUND if all(part in self.words or dictionary_class(part) for part in parts) else UNKNOWN
        return dictionary_class(word) or UNKNOWN


def begins_with_vowel(word: str) -> bool:
    """Whether "an" belongs before a word, by its letters.

    >>> [begins_with_vowel(word) for word in ("apple", "hour", "unicorn", "umbrella", "dog")]
    [True, True, False, True, False]
    """
    return bool(_VOWEL.match(word)) and not _CONSONANT.match(word)


@lru_cache(maxsize=1 << 16)
def dictionary_class(word: str) -> str:
    """The class of a word by WordNet's parts of speech and its ending; empty for an unknown one.

    >>> dictionary_class("zither"), dictionary_class("zithers"), dictionary_class("xqz")
    ('NN', 'NNS', '')
    """
    if len(word) < 4 or not _WORD.match(word):
        return ""  # short entries are abbreviations: "de", "mit", "des"
    base = {part: wordnet.base_forms(word, part) for part in "nvar"}
    tags = {
        "NN": word in base["n"],
        "NNS": any(form != word for form in base["n"]) and word not in base["n"],
        "VBG": bool(base["v"]) and word.endswith("ing"),
        "VBN": bool(base["v"]) and word not in base["v"] and not word.endswith(("ing", "s")),
        "VBZ": bool(base["v"]) and word not in base["v"] and word.endswith("s"),
        "VB": word in base["v"],
        "JJ": bool(base["a"]) and not (base["v"] and word.endswith("ing")),
        "RB": bool(base["r"]) and word.endswith("ly"),
    }
    found = [tag for tag, holds in tags.items() if holds]
    return "|".join(sorted(found)[:3]) if found else ("RB" if base["r"] else "")


def content_classes(classes: Sequence[str]) -> list[bool]:
    """Which classes are of words that say something: names, compounds and unknown words too, not marks and numbers."""
    return [name in (UNKNOWN, NAME, COMPOUND) or name[0].isalpha() for name in classes]


def repetition(words: Sequence[str], content: Sequence[bool]) -> list[int]:
    """What of a sentence was said before in it, one number of flags per token.

    Pairs and triples count where they hold a content word: "in front of a" may well stand twice; only when a phrase
    follows itself at once (LOOP) its words do not matter.

    >>> repetition(["a", "dog", "and", "a", "dog"], [False, True, False, False, True])
    [0, 0, 0, 0, 52]
    """
    found = []
    last: dict[str, int] = {}
    pairs: set[tuple[str, str]] = set()
    triples: set[tuple[str, str, str]] = set()
    one = two = ""
    for place, word in enumerate(words):
        flags = 0
        if word == two and word.isalnum():
            flags = SAME
        if (two, word) in pairs:
            if content[place] or content[place - 1]:
                flags |= PAIR
            if list(words[place - 1 : place + 1]) == list(words[max(place - 3, 0) : place - 1]):
                flags |= LOOP
        if (one, two, word) in triples:
            if content[place] or content[place - 1] or content[place - 2]:
                flags |= TRIPLE
            if list(words[place - 2 : place + 1]) == list(words[max(place - 5, 0) : place - 2]):
                flags |= LOOP
        if content[place]:
            before = last.get(word, -1)
            if before >= 0:
                flags |= AGAIN | (NEAR if place - before <= 4 else 0)
            last[word] = place
        pairs.add((two, word))
        triples.add((one, two, word))
        one, two = two, word
        found.append(flags)
    return found
