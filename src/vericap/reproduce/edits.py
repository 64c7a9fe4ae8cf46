"""Captions with a known error, out of real ones: a phrase that is not true is added, an object that matters is dropped.

    for case in added(captions, 500): case.before, case.after, case.words

The scene-graph parser's pipeline tells where a prepositional or coordinated noun phrase begins and ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from vericap.graphs.english import clean, pipeline
from vericap.graphs.english_words import noun_lemma
from vericap.meta.judgements import Retrieval

# Nouns that say where, not what.
PLACES = frozenset(
    """front top side sides back middle background foreground edge end center centre left right distance air midair
    way direction camera picture photo view""".split()  # noqa: SIM905 - a list of words reads better
)


@dataclass(frozen=True)
class Captions:
    """Images by key with their captions."""

    keys: Sequence[str]
    captions: Sequence[Sequence[str]]

    @classmethod
    def of(cls, data: Retrieval) -> Captions:
        own: list[list[str]] = [[] for _ in data.images]
        for text, image in zip(data.captions, data.owner.tolist()):
            own[image].append(text)
        return cls(data.images, own)


@dataclass(frozen=True)
class Case:
    """A caption, the same caption made worse, and what was added or dropped."""

    key: str
    before: str
    after: str
    references: tuple[str, ...]
    phrase: str
    words: tuple[str, ...]  # content words of the phrase
    noun: str


@dataclass(frozen=True)
class Phrase:
    """A noun with its preposition or conjunction: words start:end of a parsed caption."""

    start: int
    end: int
    noun: Any

    def text(self, caption: Any) -> str:
        return str(caption[self.start : self.end])

    def content(self, caption: Any) -> tuple[str, ...]:
        return tuple(word.text for word in caption[self.start : self.end] if word.tag_[:2] in ("NN", "JJ", "VB", "CD"))


def phrases(caption: Any) -> Iterator[Phrase]:
    """Phrases that can be cut out: "with a frisbee", "in front of a house", "and a cat"."""
    for noun in caption:
        if not is_noun(noun) or noun.lower_ in PLACES:
            continue
        if noun.dep_ == "pobj":
            first = _beginning(noun.head)
        elif noun.dep_ == "conj":
            first = next((word for word in noun.head.children if word.dep_ == "cc" and word.i < noun.i), None)
        else:
            continue
        # What hangs on the noun from the right ("in the snow") stays and belongs to what is left.
        if first is not None and 0 < first.i < noun.i and not any(w.tag_[0] == "V" for w in _between(first, noun)):
            yield Phrase(first.i, noun.i + 1, noun)


def _between(first: Any, last: Any) -> Any:
    return first.doc[first.i : last.i]


def _beginning(preposition: Any) -> Any:
    """First word of "on top of", "next to", "out of"; None for "a group of people", whose head says nothing alone."""
    if preposition.lower_ == "of":
        if preposition.head.dep_ != "pobj":
            return None
        preposition = preposition.head.head
    while preposition.head.dep_ == "prep" and preposition.head.i == preposition.i - 1:
        preposition = preposition.head
    if preposition.head.lower_ in ("next", "close") and preposition.head.i == preposition.i - 1:
        return preposition.head
    return preposition


def parsed(data: Captions) -> list[list[Any]]:
    """All captions through the pipeline."""
    texts = [clean(text.rstrip(" .")) for five in data.captions for text in five]
    found = iter(pipeline().pipe(texts, batch_size=256))
    return [list(islice(found, len(five))) for five in data.captions]


def is_noun(word: Any) -> bool:
    return bool(word.tag_.startswith("NN"))


def name(noun: Any) -> str:
    """One name for "dogs" and "dog"."""
    return noun_lemma(noun.lower_, noun.tag_)


def nouns(caption: Any) -> set[str]:
    return {name(word) for word in caption if is_noun(word)}


def dropped(data: Captions, count: int, *, mentions: int = 2) -> list[Case]:
    """Captions without an object that at least `mentions` of the other captions speak of, one per image."""
    cases = []
    for key, captions in zip(data.keys, parsed(data)):
        case = next(_droppable(key, captions, mentions), None)
        if case is not None:
            cases.append(case)
        if len(cases) == count:
            break
    return cases


def _droppable(key: str, captions: list[Any], mentions: int) -> Iterator[Case]:
    for place, caption in enumerate(captions):
        others = [other for k, other in enumerate(captions) if k != place]
        for phrase in phrases(caption):
            noun = name(phrase.noun)
            rest = [word for word in caption if is_noun(word) and not phrase.start <= word.i < phrase.end]
            if noun in map(name, rest) or sum(noun in nouns(other) for other in others) < mentions:
                continue
            if rest:
                left = f"{caption[: phrase.start]} {caption[phrase.end :]}".strip(" ,")
                yield Case(
                    key,
                    str(caption),
                    left,
                    tuple(map(str, others)),
                    phrase.text(caption),
                    phrase.content(caption),
                    noun,
                )


def added(data: Captions, count: int, *, seed: int = 0) -> list[Case]:
    """Captions with a phrase of another image whose noun no caption of this image speaks of."""
    rng = np.random.default_rng(seed)
    everything = parsed(data)
    pool = [
        (i, caption, phrase) for i, five in enumerate(everything) for caption in five for phrase in phrases(caption)
    ]
    cases = []
    for i in range(len(data.keys)):
        own = set().union(*map(nouns, everything[i]))
        for _ in range(20):
            other, caption, phrase = pool[int(rng.integers(len(pool)))]
            if other != i and name(phrase.noun) not in own:
                before, *others = map(str, everything[i])
                text = phrase.text(caption)
                words = phrase.content(caption)
                cases.append(
                    Case(data.keys[i], before, f"{before} {text}", tuple(others), text, words, phrase.noun.lower_)
                )
                break
        if len(cases) == count:
            break
    return cases
