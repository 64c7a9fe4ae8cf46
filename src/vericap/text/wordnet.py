"""WordNet from compact tables: lemma <-> synsets, base forms (morphy), hypernyms.

A synset is named by its offset and part of speech as in the Open Multilingual Wordnet: "02084071-n".
The same names serve every language, so a lexicon of another language is one more `Lexicon` file.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vericap.core import shipped

PARTS = "nvar"  # noun, verb, adjective (satellites too), adverb
_SCALE = 100_000_000  # a synset number is the part of speech times this plus WordNet's offset

# WordNet's rules of detachment: (ending, replacement) in the order they are tried.
_RULES: dict[str, tuple[tuple[str, str], ...]] = {
    "n": (
        ("s", ""), ("ses", "s"), ("ves", "f"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"),
        ("men", "man"), ("ies", "y"),
    ),
    "v": (
        ("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", ""),
    ),
    "a": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "r": (),
}  # fmt: skip


def synset_number(name: str) -> int:
    """ "02084071-n" -> the number the tables hold; adjective satellites ("-s") count as adjectives."""
    part = name[-1].replace("s", "a")
    return PARTS.index(part) * _SCALE + int(name[:8])


def synset_name(number: int) -> str:
    return f"{offset(number):08d}-{PARTS[number // _SCALE]}"


def offset(number: int) -> int:
    """WordNet's own number of a synset, which says nothing of its part of speech."""
    return number % _SCALE


def starts(counts: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """Where each of some runs begins, and where the last one ends."""
    return np.concatenate([np.zeros(1, np.uint32), np.cumsum(counts, dtype=np.uint32)])


class Lexicon:
    """lemma <-> synset numbers of one language, read from one `.npz`.

    Arrays: `lemmas` (UTF-8 bytes, one lemma per line, blanks as `_`), `counts` of their senses and `senses` (synset
    numbers, commonest sense first within a part of speech).
    """

    def __init__(self, file: Path) -> None:
        with np.load(file, allow_pickle=False) as tables:
            self.words: list[str] = tables["lemmas"].tobytes().decode("utf-8").split("\n")
            self._starts: list[int] = starts(tables["counts"]).tolist()
            self._senses: NDArray[np.uint32] = tables["senses"]
        self._index = dict(zip(self.words, range(len(self.words))))

    def __contains__(self, lemma: object) -> bool:
        return lemma in self._index

    def numbers(self, lemma: str) -> list[int]:
        """Synset numbers of a lemma; empty for an unknown one."""
        place = self._index.get(lemma)
        if place is None:
            return []
        found: list[int] = self._senses[self._starts[place] : self._starts[place + 1]].tolist()
        return found

    @cached_property
    def _by_synset(self) -> tuple[NDArray[Any], NDArray[Any]]:
        owner = np.repeat(np.arange(len(self.words)), np.diff(self._starts))
        order = np.argsort(self._senses, kind="stable")
        return self._senses[order], owner[order]

    def lemmas(self, number: int) -> list[str]:
        """Lemmas of a synset number, in alphabetical order."""
        senses, owners = self._by_synset
        low, high = np.searchsorted(senses, [number, number + 1])
        return [self.words[i] for i in owners[low:high]]


class WordNet:
    """English WordNet 3.0: a lexicon with base forms and the hypernym relation."""

    def __init__(self) -> None:
        self.lexicon = lexicon()
        self._exceptions: dict[str, dict[str, list[str]]] = {part: {} for part in PARTS}
        for line in shipped.path("wordnet", "exceptions.txt").read_text("utf-8").splitlines():
            part, word, *bases = line.split(" ")
            self._exceptions[part][word] = bases

    @cached_property
    def _relations(self) -> dict[str, NDArray[Any]]:
        with np.load(shipped.path("wordnet", "relations.npz"), allow_pickle=False) as tables:
            synsets, first = np.cumsum(tables["gaps"], dtype=np.uint32), starts(tables["counts"])
            return {"synsets": synsets, "starts": first, "hypernyms": tables["hypernyms"], "topics": tables["topics"]}

    def _place(self, number: int) -> int:
        synsets = self._relations["synsets"]
        place = int(np.searchsorted(synsets, number))
        return place if place < len(synsets) and synsets[place] == number else -1

    def numbers(self, lemma: str, part: str | None = None) -> list[int]:
        found = self.lexicon.numbers(lemma.lower().replace(" ", "_"))
        if part is None:
            return found
        code = PARTS.index(part.replace("s", "a"))
        return [number for number in found if number // _SCALE == code]

    def has(self, lemma: str, part: str) -> bool:
        return bool(self.numbers(lemma, part))

    def bases(self, word: str, part: str) -> list[str]:
        """Every base form in one part of speech: itself if a lemma, then exceptions or else rules."""
        word = word.lower().replace(" ", "_")
        found = [base for base in self._exceptions[part].get(word, ()) if self.has(base, part)]
        if not found:
            found = [base for base in detached(word, part) if self.has(base, part)]
        if self.has(word, part):
            found.insert(0, word)
        return list(dict.fromkeys(found))

    def hypernym_numbers(self, number: int) -> list[int]:
        place = self._place(number)
        if place < 0:
            return []
        starts = self._relations["starts"]
        found: list[int] = self._relations["hypernyms"][starts[place] : starts[place + 1]].tolist()
        return found

    def topic(self, number: int) -> str:
        """Lexicographer's file of a synset ("noun.animal"); empty for an unknown synset."""
        place = self._place(number)
        return _topics()[int(self._relations["topics"][place])] if place >= 0 else ""


def detached(word: str, part: str) -> list[str]:
    """Word with each fitting ending taken off, in the order of WordNet's rules."""
    suffix = ""
    if part == "n":
        if word.endswith("ful"):  # "boxesful": the stem in front of "ful" is looked at
            word, suffix = word[:-3], "ful"
        elif word.endswith("ss") or len(word) <= 2:
            return []
    forms = (word[: -len(end)] + new + suffix for end, new in _RULES[part] if word.endswith(end))
    return [form for form in forms if form]


@lru_cache(maxsize=1)
def lexicon() -> Lexicon:
    """Lemmas and synsets of English, read at first use; METEOR's synonyms are these too."""
    return Lexicon(shipped.path("wordnet", "lexicon.npz"))


@lru_cache(maxsize=1)
def english() -> WordNet:
    """The English WordNet, read at first use."""
    return WordNet()


@lru_cache(maxsize=1)
def _topics() -> list[str]:
    names: list[str] = shipped.meta("wordnet")["topics"]
    return names


def synsets(lemma: str, pos: str | None = None) -> list[str]:
    """Synsets of a lemma ("hot dog", "hot_dog"); `pos` is n, v, a or r. For inflected forms see `morphy`."""
    return [synset_name(number) for number in english().numbers(lemma, pos)]


@lru_cache(maxsize=1 << 16)
def morphy(word: str, pos: str | None = None) -> str | None:
    """Base form of a word (a lemma is its own), the first over n, v, a, r without `pos`; None if unknown."""
    for part in (pos.replace("s", "a"),) if pos else PARTS:
        found = english().bases(word, part)
        if found:
            return found[0]
    return None


def base_forms(word: str, pos: str | None = None) -> list[str]:
    """Every base form, itself included where it is a lemma ("cows" -> "cows", "cow")."""
    parts = (pos.replace("s", "a"),) if pos else PARTS
    return list(dict.fromkeys(base for part in parts for base in english().bases(word, part)))


def hypernyms(synset: str) -> list[str]:
    """Direct hypernyms, of instances too."""
    return [synset_name(number) for number in english().hypernym_numbers(synset_number(synset))]


def ancestors(synset: str) -> set[str]:
    """All hypernyms up to the root, without the synset itself."""
    found: set[str] = set()
    waiting = [synset]
    while waiting:
        for parent in hypernyms(waiting.pop()):
            if parent not in found:
                found.add(parent)
                waiting.append(parent)
    return found


def lemmas(synset: str) -> list[str]:
    """English lemmas of a synset, blanks as `_`."""
    return english().lexicon.lemmas(synset_number(synset))


def topic(synset: str) -> str:
    """Lexicographer's file of a synset: "noun.animal", "verb.motion", ..."""
    return english().topic(synset_number(synset))
