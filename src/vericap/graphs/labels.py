"""What a trained labeller says of a caption's words, and the scene graph it makes: FACTUAL's convention.

Every label points at words: which are objects, which words belong to an object's or attribute's name, which attribute
is whose, and for pairs of objects a template of the relation ("V on", "have"), whose V is the base form of a word.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from vericap.graphs.english_words import kind, verb_lemma
from vericap.graphs.factual import DIGITS, NAMES, QUALITIES
from vericap.graphs.scene_graph import SceneGraph
from vericap.text import wordnet

VERB = "V"  # of a template: the verb of the caption
FLAGS = 10  # numbers that say what WordNet knows of a word
_TOKEN = re.compile(r"'s\b|n't\b|[a-z0-9]+(?:[-&./][a-z0-9]+)*|[^\w\s]")


@dataclass
class Labels:
    """Labels of one caption; all numbers are positions of words."""

    objects: list[int] = field(default_factory=list)
    parts: set[tuple[int, int]] = field(default_factory=set)  # (word, last word of the name it belongs to)
    attributes: list[tuple[int, int]] = field(default_factory=list)  # (attribute, object)
    relations: list[tuple[int, int, str, int]] = field(default_factory=list)  # subject, object, template, verb or -1


def words_of(text: str) -> list[str]:
    """Words and marks of a clean lower-case caption.

    >>> words_of("a man's t-shirt, on a chair")
    ['a', 'man', "'s", 't-shirt', ',', 'on', 'a', 'chair']
    """
    return _TOKEN.findall(text.replace("’", "'"))


@lru_cache(maxsize=1 << 16)
def base(word: str) -> str:
    """One base form of a word, whatever its part of speech; numbers as digits."""
    if word in DIGITS:
        return DIGITS[word]
    return min(wordnet.base_forms(word) or [word], key=lambda form: (len(form), form))


@lru_cache(maxsize=1 << 16)
def verb(word: str) -> str:
    """The base form of a word that is used as a verb."""
    return verb_lemma(word, "VBN")


@lru_cache(maxsize=1 << 16)
def flags(word: str) -> tuple[float, ...]:
    """What WordNet knows: parts of speech, kind of thing, number, nothing."""
    forms = wordnet.base_forms(word) or [word]
    speech = [float(any(wordnet.synsets(form, part) for form in forms)) for part in "nvar"]
    what = kind(min(forms, key=len))
    kinds = [float(bool(speech[0]) and what == name) for name in ("person", "animal", "vehicle")]
    return (*speech, *kinds, float(base(word).isdigit()), float(word.isalpha()), float(not any(speech)))


def graph_of(words: Sequence[str], labels: Labels) -> SceneGraph:
    """The graph that labels make of a caption's words."""
    if not labels.objects:
        return SceneGraph(reason="no object was found in the text" if words else "the text is empty")
    names = {place: _named(words, labels, place, NAMES) for place in labels.objects}
    tuples: list[tuple[str, ...]] = [(name,) for name in names.values()]
    for attribute, place in labels.attributes:
        if place in names:
            tuples.append((names[place], _named(words, labels, attribute, QUALITIES)))
    for subject, target, template, place in labels.relations:
        tuples.append((names[subject], relation(words, template, place), names[target]))
    return SceneGraph.of(tuples)


def relation(words: Sequence[str], template: str, place: int) -> str:
    """A template with its verb put in."""
    first, blank, rest = template.partition(" ")
    return f"{verb(words[place])}{blank}{rest}" if first == VERB else template


def _named(words: Sequence[str], labels: Labels, last: int, same: dict[str, str]) -> str:
    """The words of a name, or what FACTUAL calls it; a number as digits."""
    places = sorted([word for word, head in labels.parts if head == last] + [last])
    name = " ".join(base(words[place]) for place in places)
    if name in same:
        return same[name]
    said = " ".join(words[place] for place in places)
    return DIGITS.get(said, said)
