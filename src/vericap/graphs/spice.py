"""SPICE's scoring stage, second half: which tuples of the candidate the references have.

`score_tuples` needs nothing but tuples, whoever made them:

    >>> score_tuples([["dog"], ["dog", "brown"]], [[["dog"], ["dog", "black"]]]).f
    0.5
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from vericap.graphs.concepts import ConceptGraph, ConceptTuple, Synonyms, Tuple, meteor_synsets

CATEGORIES = ("all", "object", "attribute", "relation", "color", "count", "size")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# An attribute belongs to a category when its concept is exactly one of these words.
COLORS = _words(
    """beige black blue brown cream crimson cyan dark gray green grey indigo light magenta maroon orange pink
    purple red violet white yellow"""
)
COUNTS = _words(
    """one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen twenty thirty forty fifty"""
)
SIZES = _words(
    """baby big bulky chubby colossal curvy enormous expansive fat gargantuan gaunt giant gigantic grand great
    heavy hefty huge immense large lean life-size little mammoth massive microscopic mini miniature minute
    narrow obese overweight petite plump scrawny short skinny slender slim small squat stocky stout tall teeny
    thick thin tiny trim vast wide"""
)


@dataclass(frozen=True, slots=True)
class Counts:
    """True positives, candidate tuples and reference tuples of one category."""

    matched: int
    candidate: int
    reference: int

    @property
    def precision(self) -> float:
        return self.matched / self.candidate if self.candidate else 0.0

    @property
    def recall(self) -> float:
        return self.matched / self.reference if self.reference else 0.0

    @property
    def f(self) -> float:
        """F1 = 2 P R / (P + R); 0 where either graph is empty."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0

    @property
    def defined(self) -> bool:
        """A sub-score means nothing where the references have no tuple of its kind."""
        return self.reference > 0

    @property
    def tp(self) -> int:
        return self.matched

    @property
    def fp(self) -> int:
        return self.candidate - self.matched

    @property
    def fn(self) -> int:
        return self.reference - self.matched


@dataclass(frozen=True)
class SpiceScore:
    """Counts per category, and which reference tuples (a bit mask) each candidate tuple matches."""

    counts: dict[str, Counts]
    candidate: list[ConceptTuple]
    references: list[ConceptTuple]
    matches: list[int]

    @property
    def partners(self) -> list[int | None]:
        """Position of the first reference tuple each candidate tuple matches; None where there is none."""
        return [(mask & -mask).bit_length() - 1 if mask else None for mask in self.matches]

    @property
    def missing(self) -> list[ConceptTuple]:
        """Reference tuples that no candidate tuple matches."""
        covered = 0
        for mask in self.matches:
            covered |= mask
        return [item for place, item in enumerate(self.references) if not covered >> place & 1]

    @property
    def f(self) -> float:
        return self.counts["all"].f

    @property
    def precision(self) -> float:
        return self.counts["all"].precision

    @property
    def recall(self) -> float:
        return self.counts["all"].recall


def categories(item: ConceptTuple) -> tuple[str, ...]:
    """The sub-scores a tuple counts for."""
    kinds: tuple[str, ...] = ("all", ("object", "attribute", "relation")[len(item) - 1])
    if len(item) == 2 and len(item[1].words) == 1:
        word = item[1].words[0]
        for name, words in (("color", COLORS), ("count", COUNTS), ("size", SIZES)):
            if word in words:
                kinds += (name,)
    return kinds


class ReferenceGraph:
    """The merged graph of one sample's references, indexed for matching; serves any number of candidates."""

    def __init__(self, references: Iterable[Iterable[Tuple]], *, synonyms: Synonyms = meteor_synsets) -> None:
        self.synonyms = synonyms
        graph = ConceptGraph(synonyms=synonyms)
        for tuples in references:
            graph.extend(tuples)
        self.tuples = graph.tuples()
        self._members = dict.fromkeys(CATEGORIES, 0)  # bit masks of each category's tuples
        # (tuple length, slot) -> word or synset -> bit mask of the tuples that have it there
        self._index: dict[tuple[int, int], dict[str | int, int]] = {}
        for place, item in enumerate(self.tuples):
            for name in categories(item):
                self._members[name] |= 1 << place
            for slot, concept in enumerate(item):
                masks = self._index.setdefault((len(item), slot), {})
                for key in concept.marks():
                    masks[key] = masks.get(key, 0) | 1 << place

    def partners(self, item: ConceptTuple) -> int:
        """Bit mask of the tuples of the same length that share a word or synset in every slot."""
        common = -1
        for slot, concept in enumerate(item):
            masks = self._index.get((len(item), slot))
            if masks is None:
                return 0
            found = 0
            for key in concept.marks():
                found |= masks.get(key, 0)
            common &= found
            if not common:
                return 0
        return common

    def score(self, candidate: Iterable[Tuple]) -> SpiceScore:
        """Match a candidate's tuples; not one-to-one, true positives count candidate tuples."""
        tuples = ConceptGraph.of(candidate, synonyms=self.synonyms).tuples()
        matched, proposed = dict.fromkeys(CATEGORIES, 0), dict.fromkeys(CATEGORIES, 0)
        matches: list[int] = []
        for item in tuples:
            common = self.partners(item)
            for name in categories(item):  # a colour must match a colour, not just any attribute
                proposed[name] += 1
                matched[name] += bool(common & self._members[name])
            matches.append(common)
        counts = {name: Counts(matched[name], proposed[name], self._members[name].bit_count()) for name in CATEGORIES}
        return SpiceScore(counts, tuples, self.tuples, matches)


def score_tuples(
    candidate: Iterable[Tuple], references: Iterable[Iterable[Tuple]], *, synonyms: Synonyms = meteor_synsets
) -> SpiceScore:
    """SPICE of a candidate's tuples against the tuples of each reference.

    Tuples are `[object]`, `[object, attribute]` or `[subject, relation, object]`, in the order a parser
    proposes them (the order decides which similar concept a word joins). `synonyms` maps a word or phrase to
    its synsets; `vericap.graphs.concepts.no_synsets` matches by words alone.
    """
    return ReferenceGraph(references, synonyms=synonyms).score(candidate)
