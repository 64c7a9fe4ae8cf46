"""What a caption claims, word by word: objects, attributes, counts, actions and relations, each with its place."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from vericap.graphs.corruption_words import CONCRETE, noun_topic
from vericap.graphs.english_words import IRREGULAR
from vericap.graphs.scene_graph import SceneGraph
from vericap.metrics.evidence import base_forms
from vericap.metrics.toolbox import words_of
from vericap.metrics.verdict.denied import denied, is_negation
from vericap.text import wordnet
from vericap.text.sentences import sentence_spans
from vericap.text.stopwords import ENGLISH
from vericap.vision.caption_words import word_set

OBJECT, ATTRIBUTE, COUNT, ACTION, RELATION = "object", "attribute", "count", "action", "relation"
KINDS = (OBJECT, ATTRIBUTE, COUNT, ACTION, RELATION)

NUMBERS = {"one": 1, "single": 1, "two": 2, "couple": 2, "pair": 2, "both": 2, "three": 3, "four": 4, "five": 5}
_FURTHER = """
    six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty
"""
NUMBERS |= {word: number for number, word in enumerate(_FURTHER.split(), 6)}
SPELT = {str(number): word for word, number in NUMBERS.items() if word not in ("single", "couple", "pair", "both")}
MANY = word_set("several many multiple numerous various group bunch crowd dozen lots few row herd flock pile stack set")
# Relations that say where something is, by their first word.
PLACES = word_set(
    """
    on atop upon onto over above across under beneath underneath below behind before in inside into within at through
    outside beside next near by along alongside close against around away off from out with without to toward towards of
    between among amid past throughout beyond left right front top facing far adjacent
    """
)
# How a text goes on from its subject to details that it is easy to invent: further things, how many, and where.
_DETAILS = (
    word_set("other others another additional additionally more addition also besides"),
    word_set("one two three four five six several various some few multiple numerous many couple"),
    word_set(
        """
        visible seen scattered placed positioned located situated spread left right background foreground side corner
        nearby around further closer
        """
    ),
)
_OF_PLACES = word_set("next front top close")  # which only make up "next to", "in front of", "on top of", "close to"
_SIDES = word_set("side sides middle center centre edge corner")  # "at the side of"
# Words about the picture or the telling of it, and words that no photo can confirm or deny.
_TALK = word_set(
    """
    image picture photo photograph scene view background foreground shot depicts depict features feature shows show
    captures capture showcases appears appear seems seem suggests suggesting likely possibly probably overall also
    additionally visible seen present featuring include includes including various different some other another
    something someone thing things way part kind type lot atmosphere moment addition adding creating create sense
    indicating giving
    """
)

_PART = re.compile(r"[^;\s][^;]*;*")  # of a sentence


Forms = dict[str, list[int]]  # base form -> the places of words that may be forms of it


@dataclass(frozen=True, slots=True)
class Claim:
    """Something a caption says that a photo may show: what, of what kind, and the words that say it."""

    kind: str
    text: str  # base form: "dog", "fire hydrant", "brown", "two", "ride", "next to"
    words: tuple[int, ...]  # places among the words of the sentence
    subject: str = ""  # the object an attribute, count or action belongs to, or the first of a relation
    object: str = ""  # the second object of a relation


@dataclass(frozen=True, slots=True)
class ClaimedSentence:
    """A sentence with its words (text, start and end in the whole caption) and claims."""

    start: int
    end: int
    words: tuple[tuple[str, int, int], ...]
    claims: tuple[Claim, ...]
    order: tuple[int, ...] = ()  # places of the words as they are read, where that is not how they stand
    strange: tuple[int, ...] = ()  # places of words that nobody knows

    def read(self, text: str) -> str:
        """The sentence as it is read; `text` is the whole caption."""
        return " ".join(self.words[place][0] for place in self.order) if self.order else text[self.start : self.end]

    def details(self) -> int:
        """How many kinds of details it goes on to: further things, how many, and where (0 to 3)."""
        said = {word.lower() for word, _, _ in self.words}
        return sum(not said.isdisjoint(kind) for kind in _DETAILS)

    def without(self, text: str, claim: Claim) -> str:
        """The sentence without what a claim says: its words where they stand together, else the first of them."""
        gone = sorted(claim.words)
        if self.order:
            return " ".join(self.words[place][0] for place in self.order if place not in gone)
        run = gone if gone[-1] - gone[0] == len(gone) - 1 else gone[:1]
        start, end = self.words[run[0]][1], self.words[run[-1]][2]
        return f"{text[self.start : start].rstrip()} {text[end : self.end].lstrip()}"


def sentences_of(text: str) -> list[tuple[int, int]]:
    """Sentences to be judged apart, those that a semicolon joins too; a text without any is one."""
    found = []
    for start, end in sentence_spans(text):
        for part in _PART.finditer(text, start, end):
            if any(map(str.isalnum, part.group())):
                found.append(part.span())
    return found or [(0, len(text))]


def claimed(text: str, span: tuple[int, int], graph: SceneGraph) -> ClaimedSentence:
    """The claims of one sentence of a caption, from its scene graph; content words beyond the graph count too.

    What it says is not there, and what it says of that, is no claim.
    """
    start, end = span
    own = text[start:end]
    absent = denied(own)
    words = words_of(own)
    gone = {place for place, (_, a, b) in enumerate(words) if any(a < last and first < b for first, last in absent)}
    forms: Forms = {}
    for place, (word, _, _) in enumerate(words):
        for form in _forms(word):
            forms.setdefault(form, []).append(place)
    found = list(_of_graph(graph, forms))
    said = {place for claim in found for place in claim.words} | gone
    found += [
        Claim("", word.lower(), (place,))
        for place, (word, _, _) in enumerate(words)
        if place not in said and is_content(word)
    ]
    found = list(dict.fromkeys(_without(found, gone) if gone else found))
    return ClaimedSentence(start, end, tuple((word, start + a, start + b) for word, a, b in words), tuple(found))


def _without(claims: Sequence[Claim], gone: Collection[int]) -> Iterator[Claim]:
    """Claims without those of things that are said to be absent."""
    left = [replace(claim, words=tuple(place for place in claim.words if place not in gone)) for claim in claims]
    kept = [claim for claim in left if len(claim.words) > claim.text.count(" ")]
    names = {claim.text for claim in claims if claim.kind == OBJECT} - {c.text for c in kept if c.kind == OBJECT}
    return (claim for claim in kept if claim.subject not in names and claim.object not in names)


def _of_graph(graph: SceneGraph, forms: Forms) -> Iterator[Claim]:
    names = graph.objects
    for name in names:
        if name not in _TALK and (places := _found(name, forms)):
            yield Claim(OBJECT, name, places)
    for place, attribute in graph.attributes:
        own = _found(attribute, forms)
        if own and attribute not in _TALK:
            yield Claim(attribute_kind(attribute), spelt(attribute), own, names[place])
    for place, verb in graph.actions:
        if verb not in _TALK and (own := _found(verb, forms)):
            yield Claim(ACTION, verb, own, names[place])
    for subject, relation, other in graph.relations:
        yield from _of_relation(names[subject], relation, names[other], forms)


def _of_relation(subject: str, relation: str, other: str, forms: Forms) -> Iterator[Claim]:
    """ "on" is a relation; "ride" an action; "sit on" both."""
    first, _, rest = relation.partition(" ")
    verb, place = ("", relation) if first in PLACES else (first, rest)
    if verb and verb not in _TALK and (own := _found(verb, forms)):
        yield Claim(ACTION, verb, own, subject, "" if place else other)
    if place and place.split()[0] in PLACES and (own := _found(place, forms)):
        yield Claim(RELATION, place, own, subject, other)


def attribute_kind(attribute: str) -> str:
    """Numbers and words of quantity are counts."""
    return COUNT if attribute in NUMBERS or attribute in MANY or attribute.isdigit() else ATTRIBUTE


def _found(phrase: str, forms: Forms) -> tuple[int, ...]:
    """All places of the words of a phrase, one after the other in the sentence; single words where they part."""
    first, *rest = (forms.get(part, []) for part in phrase.split())
    if not rest:
        return tuple(first)
    runs = [place for place in first if all(place + step in own for step, own in enumerate(rest, 1))]
    if runs:
        return tuple(sorted({place + step for place in runs for step in range(len(rest) + 1)}))
    return tuple(own[0] for own in (first, *rest)) if first and all(rest) else ()


def bare(word: str) -> str:
    """A word as dictionaries have it: "Hydrant's" as "hydrant"."""
    return word.lower().replace("’", "'").removesuffix("'s")


@lru_cache(maxsize=1 << 15)
def _forms(word: str) -> frozenset[str]:
    return base_forms(bare(word))


@lru_cache(maxsize=1 << 15)
def is_content(word: str) -> bool:
    """Whether a word says something a photo may show; "next" of "next to" says nothing by itself."""
    lower = word.lower()
    empty = lower in ENGLISH or lower in _TALK or lower in _OF_PLACES or is_negation(lower)
    return not empty and _forms(word).isdisjoint(_TALK) and any(map(str.isalpha, lower))


@lru_cache(maxsize=1 << 15)
def content_form(word: str) -> str:
    """The base form of a content word, under which it counts once; "" of other words and of those of place.

    A noun's, unless the noun only names what a verb does: "buildings" as "building", but "riding" as "ride".
    """
    lower = bare(word)
    if not is_content(word) or lower in PLACES or lower in _SIDES:
        return ""
    if lower in IRREGULAR:
        return IRREGULAR[lower]
    nouns, verbs, others = (wordnet.base_forms(lower, part) for part in "nva")
    verb = next((base for base in verbs if base != lower), "")
    if nouns and nouns[0] != lower:
        return content_form(nouns[0]) or nouns[0]
    if nouns and (not verb or noun_topic(lower) in CONCRETE):
        return lower
    return verb or min(verbs or others or base_forms(lower), key=lambda form: (len(form), form))


@lru_cache(maxsize=1 << 14)
def said_words(text: str) -> tuple[str, ...]:
    """The content words of a text in lower case, numbers spelt out, without those for what it says is not there."""
    absent = denied(text)
    return tuple(
        spelt(bare(word))
        for word, start, end in words_of(text)
        if (is_content(word) or word in SPELT) and not any(start < last and first < end for first, last in absent)
    )


def spelt(number: str) -> str:
    """ "2" as "two"; other words as they are."""
    return SPELT.get(number, number)
