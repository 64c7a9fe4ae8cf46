"""Objects that the visual words lack, by those that they have: a synonym, else what a thing is a kind of (WordNet)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from vericap.graphs.corruption_words import COLLECTIVE, CONCRETE, VAGUE, covers
from vericap.metrics.verdict.claims import OBJECT
from vericap.metrics.verdict.meaning import plain_name
from vericap.models.visual_words import VisualWords
from vericap.text import wordnet
from vericap.vision.caption_words import word_set

_SENSES = 3  # of an unknown noun that are looked at
SYNONYM, _RARER = 0.2, 0.1  # how much nearer a synonym counts, and how much farther each rarer sense
_COMMON = 2  # senses in which an entry is meant
_TOPICS = CONCRETE | {"noun.person", "noun.animal", "noun.location", "noun.group"}
_VAGUE = (VAGUE | COLLECTIVE) - {"animal", "vehicle"} | word_set(
    """
    device event activity message collection grouping unit system use process portion number work range tissue
    covering stuff plan somebody someone worker employee businessman instrument layer land mixture
    """
)


class StandIns:
    """Entries that stand for objects."""

    def __init__(self, model: VisualWords) -> None:
        self.model = model
        self._entries = frozenset(model.entries)

    def named(self, text: str) -> dict[int, float]:
        """Entries that name a thing, each with how much nearer it counts: what it is called by its own name or people,
        and by WordNet, for each of its commoner senses that name what one can see, the nearest entry on the way up to
        what it is a kind of ("owl": "bird"), if no vague one."""
        if text in self._entries:
            return {}  # a word that the vocabulary has as another kind
        found = dict.fromkeys(self._heads(text), 0.0)
        for form in wordnet.base_forms(text, "n")[:1]:
            for rank, sense in enumerate(wordnet.english().numbers(form, "n")[:_SENSES]):
                for step, entries in enumerate(self._kinds(sense)):
                    if entries:
                        commonest = max(entries, key=lambda place: float(self.model.prior[place]))
                        nearer = SYNONYM * (step == 0 or self._ends(sense, commonest)) - _RARER * rank
                        found[commonest] = max(found.get(commonest, nearer), nearer)
                        break
        return found

    def _ends(self, sense: int, entry: int) -> bool:
        """Whether a synset is called by an entry with a word before it: "hair dryer"."""
        return any(lemma.endswith(f"_{self.model.entries[entry]}") for lemma in wordnet.lexicon().lemmas(sense))

    def _heads(self, text: str) -> Iterator[int]:
        """The entries in which a compound ends ("arm|chair"), or by which people call a thing ("tulip": "flower")."""
        plain = plain_name(text)
        for name in (plain, *(text[start:] for start in range(1, len(text)))):
            place = self.model.places.get((OBJECT, name))
            if place is not None and name != text and (name == plain or covers(name, text)):
                yield place

    def _kinds(self, sense: int) -> Iterator[list[int]]:
        """Entries that mean a synset, then what it is a kind of, and so on; of what one cannot see only those that
        commonly mean it."""
        dictionary = wordnet.english()
        if dictionary.topic(sense) not in _TOPICS:
            entries = self._meant.get(sense, ())
            yield [place for place in entries if dictionary.numbers(self.model.entries[place], "n")[0] == sense]
            return
        for level in _upwards(sense):
            yield [place for number in level for place in self._meant.get(number, ())]

    @cached_property
    def _meant(self) -> dict[int, list[int]]:
        """The entries of objects that commonly mean a synset."""
        found: dict[int, list[int]] = {}
        for place, (kind, text) in enumerate(zip(self.model.kinds, self.model.entries)):
            if kind == OBJECT and text not in _VAGUE:
                for sense in wordnet.english().numbers(text, "n")[:_COMMON]:
                    found.setdefault(sense, []).append(place)
        return found


def _upwards(sense: int) -> Iterator[list[int]]:
    """A synset, what it is a kind of, what that is a kind of, and so on."""
    level = [sense]
    while level:
        yield level
        level = [parent for number in level for parent in wordnet.english().hypernym_numbers(number)]
