"""Predicate-argument structure -> scene graph: the rules of the JaSPICE paper (section 3).

Edges run subject -> predicate -> argument. Nouns are objects; another node without outgoing edges is an attribute of
what points at it, one with outgoing edges a relation between what points at it and what it points at.
Objects merge by their text. A predicate is a node of its own each time it is said, so that two people who hold two
things do not hold each other's.
"""

from __future__ import annotations

from collections.abc import Iterable

from vericap.graphs.ja import meaning, places, zero_pronoun
from vericap.graphs.ja.categories import ATTRIBUTE_CATEGORIES
from vericap.graphs.ja.lexicon import ALL_PLACES, MORE_PLACE_WORDS, PLACE_WORDS, SIDES
from vericap.graphs.ja.network import Network
from vericap.graphs.ja.options import DEFAULT, GraphOptions
from vericap.graphs.ja.pas import Bunsetsu, ParsedSentence, Predicate

ZERO = zero_pronoun.ZERO
_OWN_PLACES = ALL_PLACES - SIDES
_SUBJECTS = ("ガ", "ガ２")
_TARGETS = ("ヲ", "ニ", "カラ", "ヨリ", "ト", "ヘ", "マデ", "外の関係", "デ")  # デ last, as in the paper


def tuples(sentences: Iterable[ParsedSentence], *, options: GraphOptions = DEFAULT) -> list[tuple[str, ...]]:
    """Tuples (o), (o, a), (o, r, o') of a caption; a subject nobody names is the placeholder `[PHI]`."""
    read = _paper_tuples if options.rules == "paper" else _tuples
    found: dict[tuple[str, ...], None] = {}
    for sentence in sentences:
        found.update(dict.fromkeys(read(sentence, options)))
    return sorted(found, key=len)


def _paper_tuples(sentence: ParsedSentence, options: GraphOptions) -> list[tuple[str, ...]]:
    network = build(meaning.negated(sentence) if options.negation else sentence)
    if options.zero:
        zero_pronoun.complete(network)
    return network.tuples()


def _tuples(sentence: ParsedSentence, options: GraphOptions) -> list[tuple[str, ...]]:
    sentence = meaning.clarified(sentence, negation=options.negation)
    twice = meaning.ambiguous(sentence)
    found = _located_tuples(sentence, zero=options.zero)
    instruction = any(predicate.imperative for predicate in sentence.predicates)
    itself = {item[0] for item in found if len(item) == 3 and item[0] == item[2]}
    apart = [noun for noun in twice if instruction or noun in itself]
    if apart:
        found = _located_tuples(meaning.told_apart(sentence, apart), zero=options.zero)
    return [made for item in found for made in _without_itself(item)]


def _located_tuples(sentence: ParsedSentence, *, zero: bool) -> list[tuple[str, ...]]:
    sentence, relations, attributes = places.owned(sentence)
    network = build(meaning.sources(sentence), place_words=_OWN_PLACES)
    for relation in relations:
        network.relation(*relation)
    for attribute in attributes:
        network.attribute(*attribute)
    if zero:
        zero_pronoun.complete(network)
    return network.tuples()


def _without_itself(item: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Nothing is related to itself: 人の中で立っている人 stands."""
    if len(item) < 3 or item[0] != item[2]:
        return [item]
    return [] if item[1] == "の" or item[1] in ALL_PLACES else [item[:2]]


def build(sentence: ParsedSentence, *, place_words: frozenset[str] = PLACE_WORDS) -> Network:
    """The graph of one sentence before zero pronouns are filled."""
    return _Builder(sentence, place_words).run()


class _Builder:
    def __init__(self, sentence: ParsedSentence, place_words: frozenset[str]) -> None:
        self.sentence = sentence
        self.place_words = place_words
        self.network = Network(instruction=any(found.imperative for found in sentence.predicates))
        roles = {argument.bunsetsu: argument.case for found in sentence.predicates for argument in found.arguments}
        self.times = {place for place, case in roles.items() if case == "時間"}
        self.arguments = set(roles)
        self.places: dict[int, int] = {}

    def run(self) -> Network:
        for place, phrase in enumerate(self.sentence.bunsetsu):
            if place not in self.times and phrase.kind == "NP" and not self.says_how(place):
                self.network.object(phrase.text)
        for predicate in self.sentence.predicates:
            _add_predicate(self.network, predicate)
        for modifier in self.sentence.modifiers:
            self.network.attribute(modifier.noun, modifier.text)
        for place in range(len(self.sentence.bunsetsu)):
            if _modifies(self.sentence, place):
                self.add_modifier(place)
        return self.network

    def says_how(self, place: int) -> bool:
        """Whether a noun is only a modifier: an attribute before の, or a place word that relates two things."""
        sentence, phrase = self.sentence, self.sentence.bunsetsu[place]
        modifies = phrase.particle == "の" and _is_noun(sentence, phrase.head)
        if phrase.text in self.place_words:
            owned = any(_modifies(sentence, child) for child in sentence.children(place))
            return place not in self.arguments and (modifies or owned)
        if modifies and sentence.bunsetsu[phrase.head].text in self.place_words:
            return False  # 壁の前: the wall is a thing in the scene
        if phrase.coordinate and _is_noun(sentence, phrase.head):  # 黒と青色のバス
            return bool(phrase.categories & {"色"}) and self.says_how(phrase.head)
        return modifies and _describes(phrase, sentence.bunsetsu[phrase.head])

    def place_node(self, place: int) -> int:
        if place not in self.places:
            text = self.sentence.bunsetsu[place].text
            solid = place in self.arguments
            self.places[place] = self.network.object(text) if solid else self.network.other(text)
        return self.places[place]

    def add_modifier(self, place: int) -> None:
        """ "A の B": place words relate, attribute nouns describe, anything else is the relation の."""
        phrases, network = self.sentence.bunsetsu, self.network
        phrase, head = phrases[place], phrases[phrases[place].head]
        owners = _joined(self.sentence, place)
        if head.text in self.place_words:
            for owner in owners:
                inner = phrases[owner].text in self.place_words
                source = self.place_node(owner) if inner else network.object(phrases[owner].text)
                network.edge(source, self.place_node(phrase.head))
        elif phrase.text in self.place_words:
            network.edge(self.place_node(place), network.object(head.text))
        elif _describes(phrase, head):
            for owner in owners:
                network.attribute(head.text, phrases[owner].text)
        else:
            for owner in owners:
                network.relation(phrases[owner].text, "の", head.text)


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


def _joined(sentence: ParsedSentence, place: int) -> list[int]:
    """A noun with the nouns joined to it."""
    found = [place]
    for child in sentence.children(place):
        phrase: Bunsetsu = sentence.bunsetsu[child]
        if phrase.coordinate and phrase.kind == "NP":
            found += _joined(sentence, child)
    return found
