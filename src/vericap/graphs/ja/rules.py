"""Predicate-argument structure -> scene graph: the rules of the JaSPICE paper (section 3).

Edges run subject -> predicate -> argument. Nouns are objects; another node without outgoing edges is an attribute of
what points at it, one with outgoing edges a relation between what points at it and what it points at.
Objects merge by their text. A predicate is a node of its own each time it is said, so that two people who hold two
things do not hold each other's.
"""

from __future__ import annotations

from collections.abc import Iterable

from vericap.graphs.ja import zero_pronoun
from vericap.graphs.ja.categories import ATTRIBUTE_CATEGORIES
from vericap.graphs.ja.lexicon import MORE_PLACE_WORDS, PLACE_WORDS
from vericap.graphs.ja.network import Network
from vericap.graphs.ja.pas import Bunsetsu, ParsedSentence, Predicate

ZERO = zero_pronoun.ZERO
_SUBJECTS = ("ガ", "ガ２")
_TARGETS = ("ヲ", "ニ", "カラ", "ヨリ", "ト", "ヘ", "マデ", "外の関係", "デ")  # デ last, as in the paper


def tuples(sentences: Iterable[ParsedSentence], *, zero_pronouns: bool = True) -> list[tuple[str, ...]]:
    """Tuples (o), (o, a), (o, r, o') of a caption; a subject nobody names is the placeholder `[PHI]`."""
    found: dict[tuple[str, ...], None] = {}
    for sentence in sentences:
        network = build(sentence)
        if zero_pronouns:
            zero_pronoun.complete(network)
        found.update(dict.fromkeys(network.tuples()))
    return sorted(found, key=len)


def build(sentence: ParsedSentence) -> Network:
    """The graph of one sentence before zero pronouns are filled."""
    network = Network(instruction=any(found.imperative for found in sentence.predicates))
    roles = {argument.bunsetsu: argument.case for found in sentence.predicates for argument in found.arguments}
    arguments = set(roles)
    for place, phrase in enumerate(sentence.bunsetsu):
        if roles.get(place) == "時間":
            continue
        if phrase.kind == "NP" and not _says_how(sentence, place, arguments):
            network.object(phrase.text)
    for predicate in sentence.predicates:
        _add_predicate(network, predicate)
    for modifier in sentence.modifiers:
        network.attribute(modifier.noun, modifier.text)
    _add_dependencies(network, sentence, arguments)
    return network


def _says_how(sentence: ParsedSentence, place: int, arguments: set[int]) -> bool:
    """Whether a noun is only a modifier: an attribute before の, or a place word that relates two things."""
    phrase = sentence.bunsetsu[place]
    modifies = phrase.particle == "の" and _is_noun(sentence, phrase.head)
    if phrase.text in PLACE_WORDS:
        owned = any(_modifies(sentence, child) for child in sentence.children(place))
        return place not in arguments and (modifies or owned)
    if modifies and sentence.bunsetsu[phrase.head].text in PLACE_WORDS:
        return False  # 壁の前: the wall is a thing in the scene
    if phrase.coordinate and _is_noun(sentence, phrase.head):  # 黒と青色のバス
        return bool(phrase.categories & {"色"}) and _says_how(sentence, phrase.head, arguments)
    return modifies and _describes(phrase, sentence.bunsetsu[phrase.head])


def _describes(noun: Bunsetsu, head: Bunsetsu) -> bool:
    """A の B where A is an attribute by its category; what lies before a place word is a thing."""
    return bool(noun.categories & ATTRIBUTE_CATEGORIES) and head.text not in MORE_PLACE_WORDS


def _is_noun(sentence: ParsedSentence, place: int) -> bool:
    return place >= 0 and sentence.bunsetsu[place].kind == "NP"


def _modifies(sentence: ParsedSentence, place: int) -> bool:
    """A noun with の before a noun."""
    phrase = sentence.bunsetsu[place]
    return phrase.kind == "NP" and phrase.particle == "の" and _is_noun(sentence, phrase.head)


def _add_predicate(network: Network, predicate: Predicate) -> None:
    text = f"ヨリ{predicate.text}" if predicate.has("ヨリ") else predicate.text
    node = network.other(text)
    for case in (*_SUBJECTS, *_TARGETS):
        for argument in predicate.get(case):
            noun = network.object(argument.text)
            network.edge(*((noun, node) if case in _SUBJECTS else (node, noun)))
    for time in predicate.get("時間"):
        owner = network.nearest_noun(node)
        if owner is None:
            network.object(time.text)
        else:
            network.edge(owner, network.other(time.text))


def _add_dependencies(network: Network, sentence: ParsedSentence, arguments: set[int]) -> None:
    """ "A の B": place words relate, attribute nouns describe, anything else is the relation の."""
    places: dict[int, int] = {}

    def place_node(place: int) -> int:
        if place not in places:
            phrase = sentence.bunsetsu[place]
            solid = place in arguments
            places[place] = network.object(phrase.text) if solid else network.other(phrase.text)
        return places[place]

    for place in range(len(sentence.bunsetsu)):
        if not _modifies(sentence, place):
            continue
        phrase = sentence.bunsetsu[place]
        head = sentence.bunsetsu[phrase.head]
        owners = _joined(sentence, place)
        if head.text in PLACE_WORDS:
            for owner in owners:
                source = place_node(owner) if sentence.bunsetsu[owner].text in PLACE_WORDS else None
                text = sentence.bunsetsu[owner].text
                network.edge(network.object(text) if source is None else source, place_node(phrase.head))
        elif phrase.text in PLACE_WORDS:
            network.edge(place_node(place), network.object(head.text))
        elif _describes(phrase, head):
            for owner in owners:
                network.attribute(head.text, sentence.bunsetsu[owner].text)
        else:
            for owner in owners:
                network.relation(sentence.bunsetsu[owner].text, "の", head.text)


def _joined(sentence: ParsedSentence, place: int) -> list[int]:
    """A noun with the nouns joined to it."""
    found = [place]
    for child in sentence.children(place):
        phrase: Bunsetsu = sentence.bunsetsu[child]
        if phrase.coordinate and phrase.kind == "NP":
            found += _joined(sentence, child)
    return found
