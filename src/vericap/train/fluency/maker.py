"""What makers of errors share: what a word is, and the places where an error fits."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from vericap.models.fluency import GOOD
from vericap.models.fluency_words import Lexicon

NOT_TOLD = -1  # which of the tokens are wrong is not known: the sentence as a whole is
_WORDS = {
    "determiners": "a an the this that these those his her its their my your our some another each every",
    "prepositions": "of in on at with by for from into onto over under near behind through between across around along",
    "inserted": "the of is in a and on to with are it by at from as an",
}
DETERMINERS, PREPOSITIONS = (frozenset(_WORDS[name].split()) for name in ("determiners", "prepositions"))
INSERTED = tuple(_WORDS["inserted"].split())  # what sentences are spoilt with


@dataclass
class Made:
    """A sentence with what is wrong in it: one label per token and one for its end."""

    words: list[str]
    labels: list[int]


class Maker:
    """Words and their classes; `dice` decides where an error is made.

    Parameters
    ----------
    lexicon : classes of words.
    nouns : nouns that lists and chains are drawn from.
    """

    def __init__(self, lexicon: Lexicon, nouns: Sequence[str], dice: random.Random) -> None:
        self.lexicon, self.nouns, self.dice = lexicon, nouns, dice
        self.everything = list(lexicon.words)
        self.closed = [word for word in self.everything if self.own(word)]
        self.objects = [word for word in nouns if self.name(word) in ("NN.c", "NNS")] or list(nouns)
        self.adjectives = [word for word in lexicon.words if self.name(word) == "JJ"] or ["red"]

    def name(self, word: str) -> str:
        """The class of a word."""
        number = self.lexicon.words.get(word)
        return self.lexicon.classes[number] if number is not None else ""

    def is_noun(self, word: str) -> bool:
        return self.name(word).startswith(("NN.", "NN|")) or self.name(word) in ("NN", "NNS")

    def own(self, word: str) -> bool:
        """Whether a word is a function word."""
        return self.name(word).startswith("=")

    def pick(self, words: list[str], fits: Callable[[int], bool]) -> int | None:
        places = [place for place in range(len(words)) if fits(place)]
        return self.dice.choice(places) if places else None

    def differs(self, made: list[str], words: list[str]) -> bool:
        """Whether the skeletons differ: two nouns that changed places are no error of grammar."""
        return [self.name(word).partition(".")[0] for word in made] != [
            self.name(word).partition(".")[0] for word in words
        ]

    def labelled(self, words: list[str], at: int, kind: int) -> Made:
        """A sentence with one wrong token."""
        labels = [GOOD] * (len(words) + 1)
        labels[at] = kind
        return Made(words, labels)
