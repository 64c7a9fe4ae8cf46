"""SPICE's scoring stage, first half: tuples of several captions merged into one graph of concepts.

A concept is a set of words and the set of their synset numbers in METEOR's English synonym table. Words that
share a synset become one concept ("bike" and "bicycle").
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

Tuple = Sequence[str]
Synonyms = Callable[[str], frozenset[int]]


@lru_cache(maxsize=1 << 18)
def meteor_synsets(phrase: str) -> frozenset[int]:
    """Synset numbers of a word or phrase in METEOR's table (blanks become `_`).

    A compound also has those of the thing it is a kind of: a tennis racket is a racket. A dog is no hot dog, though
    the table has a sense of "dog" that is one.
    """
    from vericap.graphs.english_compounds import kind_of, not_kinds_of
    from vericap.text.meteor_tables import synonyms

    found = frozenset(synonyms(phrase.replace(" ", "_")))
    if head := kind_of(phrase):
        return found | frozenset(synonyms(head))
    others = (synonyms(compound.replace(" ", "_")) for compound in not_kinds_of(phrase))
    return found.difference(*others)


def no_synsets(phrase: str) -> frozenset[int]:
    """For matching by words alone."""
    return frozenset()


class Concept:
    """Words that mean the same here, with the union of their synsets."""

    __slots__ = ("synsets", "words")

    def __init__(self, phrase: str, synsets: frozenset[int]) -> None:
        self.words: list[str] = [phrase]
        self.synsets: frozenset[int] = synsets

    def similar(self, phrase: str, synsets: frozenset[int]) -> float:
        """A shared word counts 1, else the Jaccard coefficient of the synset sets."""
        if phrase in self.words:
            return 1.0
        shared = len(self.synsets & synsets)
        return shared / (len(self.synsets) + len(synsets) - shared) if shared else 0.0

    def join(self, phrase: str, synsets: frozenset[int]) -> None:
        if phrase not in self.words:
            self.words.append(phrase)
            self.synsets |= synsets

    def marks(self) -> list[str | int]:
        """What another concept must share one of to match this one."""
        return [*self.words, *self.synsets]

    def __str__(self) -> str:
        return "/".join(self.words)


ConceptTuple = tuple[Concept, ...]


class ConceptGraph:
    """Objects, attributes and relations over concepts; tuples are added one after the other."""

    def __init__(self, *, synonyms: Synonyms = meteor_synsets) -> None:
        self._synonyms = synonyms
        self.nodes: list[Concept] = []
        self._attributes: list[list[Concept]] = []
        self._relations: dict[tuple[int, int], list[Concept]] = {}
        self._node_of: dict[str, int] = {}

    @classmethod
    def of(cls, tuples: Iterable[Tuple], *, synonyms: Synonyms = meteor_synsets) -> ConceptGraph:
        graph = cls(synonyms=synonyms)
        graph.extend(tuples)
        return graph

    def extend(self, tuples: Iterable[Tuple]) -> None:
        for item in tuples:
            if len(item) == 1:
                self.node(item[0])
            elif len(item) == 2:
                _join_first_similar(self._attributes[self.node(item[0])], item[1], self._synonyms)
            elif len(item) == 3:
                ends = (self.node(item[0]), self.node(item[2]))
                relation = item[1].removeprefix("be ")  # "be on" says no more than "on"
                _join_first_similar(self._relations.setdefault(ends, []), relation, self._synonyms)
            else:
                raise ValueError(f"a tuple has one, two or three parts, not {len(item)}: {item!r}")

    def node(self, phrase: str) -> int:
        """The node of a word: one that has it, else the most similar one, else a new one."""
        place = self._node_of.get(phrase)
        if place is None:
            place = self._most_similar(phrase)
            self._node_of[phrase] = place
        return place

    def _most_similar(self, phrase: str) -> int:
        synsets = self._synonyms(phrase)
        best, chosen = 0.0, -1
        if synsets:
            for place, concept in enumerate(self.nodes):
                likeness = concept.similar(phrase, synsets)
                if likeness > best:
                    best, chosen = likeness, place
        if chosen >= 0:
            self.nodes[chosen].join(phrase, synsets)
            return chosen
        self.nodes.append(Concept(phrase, synsets))
        self._attributes.append([])
        return len(self.nodes) - 1

    def tuples(self) -> list[ConceptTuple]:
        """Objects, then attributes, then relations, each in the order they came."""
        found: list[ConceptTuple] = [(node,) for node in self.nodes]
        found += [(node, a) for node, own in zip(self.nodes, self._attributes) for a in own]
        found += [(self.nodes[s], r, self.nodes[o]) for (s, o), own in self._relations.items() for r in own]
        return found


def _join_first_similar(concepts: list[Concept], phrase: str, synonyms: Synonyms) -> None:
    synsets = synonyms(phrase)
    for concept in concepts:
        if concept.similar(phrase, synsets) > 0:
            concept.join(phrase, synsets)
            return
    concepts.append(Concept(phrase, synsets))
