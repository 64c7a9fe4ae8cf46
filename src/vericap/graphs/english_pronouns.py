"""What a pronoun in a caption points back to, where that is clear."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vericap.graphs import english_words as lexicon
from vericap.graphs.english_words import kind

if TYPE_CHECKING:
    from vericap.graphs.english_rules import Rules

_LIVING = frozenset({"person", "animal"})
_COLLECTIVE = frozenset({"people", "group", "crowd", "team", "couple", "family", "pair", "herd", "flock", "band"})


def antecedent(rules: Rules, token: int, apart_from: int) -> int:
    """Position of the noun a pronoun stands for; -1 where none is clear.

    `apart_from` is the other end of the pronoun's own relation: the candle of "a candle in it" is not "it".
    """
    word = rules.words[token]
    others = {apart_from}
    if rules.tags[token] == "PRP":  # no object is its own clause's subject
        others.update(kid for kid in rules.kids[apart_from] if rules.deps[kid] in ("nsubj", "nsubjpass"))
    before = [place for place in range(token - 1, -1, -1) if rules.names[place] and place not in others]
    before = [place for place in before if not any(_coordinated(rules, place, other) for other in others)]
    if word in lexicon.PERSON_PRONOUNS:
        return _person(rules, before, word in lexicon.FEMALE_PRONOUNS)
    if word in lexicon.PLURAL_PRONOUNS:
        return _several(rules, before)
    if word in lexicon.THING_PRONOUNS:
        subject = rules.deps[token] in ("nsubj", "nsubjpass")
        return _thing(rules, before, owner=word == "its", subject=subject)
    return -1


def _coordinated(rules: Rules, place: int, other: int) -> bool:
    """Nouns of one coordination cannot refer to one another: "nuts and bolts on it"."""
    while rules.deps[place] == "conj":
        place = rules.heads[place]
        if place == other:
            return True
    return other >= 0 and rules.deps[other] == "conj" and rules.heads[other] == place


def _first(rules: Rules, places: list[int], kinds: frozenset[str]) -> int:
    """The nearest of these kinds, a clause's subject or the caption's head before others."""
    fitting = [place for place in places if kind(rules.names[place]) in kinds]
    return fitting[0] if fitting else -1


def _person(rules: Rules, places: list[int], female: bool) -> int:
    other = lexicon.MALE if female else lexicon.FEMALE
    fitting = [place for place in places if rules.names[place] not in other]
    found = _first(rules, fitting, frozenset({"person"}))
    return found if found >= 0 else _first(rules, fitting, frozenset({"animal"}))


def _several(rules: Rules, places: list[int]) -> int:
    plural = [
        place
        for place in places
        if rules.tags[place] in ("NNS", "NNPS")
        or rules.names[place] in _COLLECTIVE
        or any(rules.deps[kid] == "conj" for kid in rules.kids[place])
    ]
    found = _first(rules, plural, _LIVING)
    if found < 0:
        found = _first(rules, places, frozenset({"person"}))
    return found if found >= 0 else (plural[0] if plural else -1)


def _thing(rules: Rules, places: list[int], *, owner: bool, subject: bool) -> int:
    if owner:
        animal = _first(rules, places, frozenset({"animal"}))
        if animal >= 0:
            return animal
    things = [
        place
        for place in places
        if rules.tags[place] not in ("NNS", "NNPS")
        and rules.names[place] not in lexicon.DEPICTIONS
        and kind(rules.names[place]) != "person"
    ]
    if subject:  # "it" as a subject goes on about the subject before
        things.sort(key=lambda place: rules.deps[place] not in ("nsubj", "nsubjpass"))
    return things[0] if things else -1
