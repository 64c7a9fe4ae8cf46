"""Place nouns with their owner: "テーブルの上に皿がある" is (皿, ある, テーブル) and (テーブル, 上, 皿)."""

from __future__ import annotations

from dataclasses import replace

from vericap.graphs.ja import lexicon
from vericap.graphs.ja.pas import Argument, ParsedSentence, Predicate

Relation = tuple[str, str, str]


def owned(sentence: ParsedSentence) -> tuple[ParsedSentence, list[Relation], list[tuple[str, str]]]:
    """The sentence with place nouns replaced by what owns them; relations and attributes that say where."""
    work = _Places(sentence)
    predicates = [work.replaced(found) for found in sentence.predicates]
    work.free_places()
    phrases = [
        replace(phrase, kind="", particle="") if place in work.gone
        else replace(phrase, particle="") if phrase.head in work.gone and _is_of(sentence, place) else phrase
        for place, phrase in enumerate(sentence.bunsetsu)
    ]  # fmt: skip
    return replace(sentence, bunsetsu=phrases, predicates=predicates), work.relations, work.attributes


class _Places:
    def __init__(self, sentence: ParsedSentence) -> None:
        self.sentence = sentence
        self.gone: set[int] = set()
        self.relations: list[Relation] = []
        self.attributes: list[tuple[str, str]] = []

    def replaced(self, predicate: Predicate) -> Predicate:
        arguments: list[Argument] = []
        for argument in predicate.arguments:
            owners = self._owners(argument.bunsetsu)
            if not owners or argument.case in ("ガ", "ガ２", "時間"):
                arguments.append(argument)
                continue
            self.gone.add(argument.bunsetsu)
            for owner in owners:
                arguments.append(Argument(argument.case, self.sentence.bunsetsu[owner].text, owner))
                if not predicate.negated:
                    self._say(owner, argument, _located(predicate, argument.case))
        return replace(predicate, arguments=arguments)

    def _say(self, owner: int, place: Argument, located: list[Argument]) -> None:
        name = self.sentence.bunsetsu[owner].text
        if place.text in lexicon.SIDES:
            return
        self.relations += [(name, place.text, item.text) for item in located if item.text != name]
        if not located:
            self.attributes.append((name, place.text))

    def free_places(self) -> None:
        """ "雨の中、": without a case, said of whoever acts."""
        used = {argument.bunsetsu for found in self.sentence.predicates for argument in found.arguments}
        for place, phrase in enumerate(self.sentence.bunsetsu):
            if place in used or phrase.particle or phrase.head < 0 or phrase.copula:
                continue
            actors = next((found.get("ガ") for found in self.sentence.predicates if found.bunsetsu == phrase.head), [])
            for owner in self._owners(place) if actors else ():
                self.gone.add(place)
                self._say(owner, Argument("", phrase.text, place), actors)

    def _owners(self, place: int) -> list[int]:
        """The nouns whose place this is, with those joined to them; what is beside is looked through (木の上の方)."""
        phrases = self.sentence.bunsetsu
        if place < 0 or phrases[place].text not in lexicon.ALL_PLACES or phrases[place].kind != "NP":
            return []
        found: list[int] = []
        for child in self.sentence.children(place):
            if _is_of(self.sentence, child) and "数量" not in phrases[child].categories:
                found += self._joined(child)
        return found

    def _joined(self, place: int) -> list[int]:
        found = [place]
        for child in self.sentence.children(place):
            if self.sentence.bunsetsu[child].coordinate:
                found += self._joined(child)
        return found


def _is_of(sentence: ParsedSentence, place: int) -> bool:
    phrase = sentence.bunsetsu[place]
    return phrase.kind == "NP" and phrase.particle == "の"


def _located(predicate: Predicate, case: str) -> list[Argument]:
    """What is at the place: the thing put there, or taken from there, or whoever acts."""
    acting, things = predicate.get("ガ"), predicate.get("ヲ")
    if case in ("ニ", "ヘ", "マデ"):
        return things or acting
    if case == "カラ":
        return things if predicate.text in lexicon.TAKING else acting
    if case == "ヲ":
        return acting if predicate.text in lexicon.MOTION else []
    return acting if case == "デ" else []
