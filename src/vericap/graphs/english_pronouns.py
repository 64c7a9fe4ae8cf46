"""What a pronoun in a caption points back to, where that is clear."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vericap.graphs import english_words as lexicon
from vericap.graphs.english_words import kind

if TYPE_CHECKING:
    from vericap.graphs.english_tree import Tree

_LIVING = frozenset({"person", "animal"})
_COLLECTIVE = frozenset({"people", "group", "crowd", "team", "couple", "family", "pair", "herd", "flock", "band"})


def antecedent(tree: Tree, token: int, apart_from: int) -> int:
    """Position of the noun a pronoun stands for; -1 where none is clear.

    `apart_from` is the other end of the pronoun's own relation: the candle of "a candle in it" is not "it".
    """
    word = tree.words[token]
    others = {apart_from, tree.quantified.get(apart_from, -1), tree.of_what(apart_from)}
    if tree.tags[token] == "PRP":  # no object is its own clause's subject
        others.update(kid for kid in tree.kids[apart_from] if tree.deps[kid] in ("nsubj", "nsubjpass"))
        if tree.deps[apart_from] in ("acl", "relcl"):  # "a cup sitting on it"
            others.add(tree.heads[apart_from])
        others.update([_first_of(tree, other) for other in others])
    before = [place for place in range(token - 1, -1, -1) if tree.names[place] and place not in others]
    before = [place for place in before if not any(_coordinated(tree, place, other) for other in others)]
    if word in lexicon.PERSON_PRONOUNS:
        return _person(tree, before, word in lexicon.FEMALE_PRONOUNS)
    if word in lexicon.PLURAL_PRONOUNS:
        return _several(tree, before)
    if word in lexicon.THING_PRONOUNS:
        subject = tree.deps[token] in ("nsubj", "nsubjpass")
        holder = -1 if subject or word == "its" else _holder(tree, apart_from)
        return holder if holder in before else _thing(tree, before, owner=word == "its", subject=subject)
    return -1


def _first_of(tree: Tree, noun: int) -> int:
    """The first noun of a coordination."""
    while noun >= 0 and tree.deps[noun] == "conj":
        noun = tree.heads[noun]
    return noun


def _holder(tree: Tree, token: int) -> int:
    """What has the thing that is "on it": the table of "a table with a plate and a cup on it"; -1 if unclear."""
    if tree.deps[token] in ("acl", "relcl"):
        token = tree.heads[token]
    noun = _first_of(tree, token)
    above = tree.heads[noun] if noun >= 0 else -1
    if noun < 0 or above == noun:
        return -1
    if tree.deps[noun] == "pobj" and tree.words[above] in ("with", "of", "containing"):
        above = tree.heads[above]
        return tree.quantified.get(above, above) if kind(tree.names[above] or "man") != "person" else -1
    if tree.deps[noun] == "dobj":
        owners = [kid for kid in tree.kids[above] if tree.deps[kid] == "nsubj" and tree.names[kid]]
        owners += [tree.heads[above]] if tree.deps[above] in ("acl", "relcl") else []
        fitting = [owner for owner in owners if kind(tree.names[owner] or "man") in ("thing", "vehicle")]
        return fitting[0] if fitting else -1
    return -1


def _coordinated(tree: Tree, place: int, other: int) -> bool:
    """Nouns of one coordination cannot refer to one another: "nuts and bolts on it"."""
    while tree.deps[place] == "conj":
        place = tree.heads[place]
        if place == other:
            return True
    return other >= 0 and tree.deps[other] == "conj" and tree.heads[other] == place


def _first(tree: Tree, places: list[int], kinds: frozenset[str]) -> int:
    """The nearest of these kinds, a clause's subject or the caption's head before others."""
    fitting = [place for place in places if kind(tree.names[place]) in kinds]
    return fitting[0] if fitting else -1


def _person(tree: Tree, places: list[int], female: bool) -> int:
    other = lexicon.MALE if female else lexicon.FEMALE
    fitting = [place for place in places if tree.names[place] not in other]
    found = _first(tree, fitting, frozenset({"person"}))
    return found if found >= 0 else _first(tree, fitting, frozenset({"animal"}))


def _several(tree: Tree, places: list[int]) -> int:
    plural = [
        place
        for place in places
        if tree.tags[place] in ("NNS", "NNPS")
        or tree.names[place] in _COLLECTIVE
        or any(tree.deps[kid] == "conj" for kid in tree.kids[place])
    ]
    found = _first(tree, plural, _LIVING)
    if found < 0:
        found = _first(tree, places, frozenset({"person"}))
    return found if found >= 0 else (plural[0] if plural else -1)


def _thing(tree: Tree, places: list[int], *, owner: bool, subject: bool) -> int:
    if owner:
        animal = _first(tree, places, frozenset({"animal"}))
        if animal >= 0:
            return animal
    things = [
        place
        for place in places
        if tree.tags[place] not in ("NNS", "NNPS")
        and tree.names[place] not in lexicon.DEPICTIONS
        and kind(tree.names[place]) != "person"
    ]
    things = [_whole(tree, place) for place in things]
    if subject:  # "it" as a subject goes on about the subject before
        things.sort(key=lambda place: tree.deps[place] not in ("nsubj", "nsubjpass"))
    return things[0] if things else -1


def _whole(tree: Tree, place: int) -> int:
    """ "a plate of food ... on it": on the plate."""
    above = tree.heads[place]
    whole = tree.heads[above]
    if tree.deps[place] == "pobj" and tree.words[above] == "of" and tree.names[whole] not in ("", "body"):
        return whole
    return place
