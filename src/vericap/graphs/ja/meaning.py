"""Predicate-argument structures brought nearer to what a sentence means, before the graph is read from them.

The paper's rules lose who did what in passives and causatives, where a thing is taken from, whose top "上" is, and
which of two boxes is meant. Each function here mends one of these and leaves the rest of the sentence alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vericap.graphs.ja import conjugation, lexicon
from vericap.graphs.ja.categories import ANIMATE, categories
from vericap.graphs.ja.pas import Argument, Bunsetsu, ParsedSentence, Predicate
from vericap.text.jumandic import table

_SUBJECTS = ("ガ", "ガ２")
SOURCE = "カラ"


def clarified(sentence: ParsedSentence, *, negation: bool) -> ParsedSentence:
    """The sentence with voices and negation told apart, and without talk about the picture."""
    predicates = [made for found in sentence.predicates for made in _voice(found)]
    sentence = replace(sentence, predicates=predicates)
    sentence = _without_picture_words(sentence)
    if negation:
        sentence = replace(sentence, predicates=[_negated(found) for found in sentence.predicates])
    return sentence


def negated(sentence: ParsedSentence) -> ParsedSentence:
    """The sentence with negated predicates in their negative form."""
    return replace(sentence, predicates=[_negated(found) for found in sentence.predicates])


# --- voice ------------------------------------------------------------------------------------------------------


def _voice(predicate: Predicate) -> list[Predicate]:
    if predicate.causative:
        return _causative(predicate)
    if predicate.benefactive:
        return [_benefactive(predicate)]
    return [_passive(predicate)] if predicate.passive else [predicate]


def _benefactive(predicate: Predicate) -> Predicate:
    """子供が母親に歯を磨いてもらう: 母親 磨く 歯, 母親 磨く 子供."""
    doers = [argument for argument in predicate.get("ニ") if _is_animate(argument.text)]
    if not doers:
        return predicate
    swap = {"ガ": "ニ", "ガ２": "ニ"}
    arguments = [
        replace(item, case="ガ" if item in doers else swap.get(item.case, item.case)) for item in predicate.arguments
    ]
    return replace(predicate, arguments=arguments)


def _passive(predicate: Predicate) -> Predicate:
    """Turned round where the agent is said (男性が犬に噛まれる: 犬 噛む 男性); else marked, where it could act."""
    agents = [argument for argument in predicate.arguments if _is_agent(argument, predicate.text)]
    subjects = [argument for argument in predicate.arguments if argument.case in _SUBJECTS]
    if agents:
        rest = [argument for argument in predicate.arguments if argument not in agents and argument not in subjects]
        acting = [replace(argument, case="ガ") for argument in agents]
        return replace(predicate, arguments=acting + [replace(item, case="ヲ") for item in subjects] + rest)
    if (
        predicate.inflection
        and predicate.text not in lexicon.SETTING
        and any(_is_animate(argument.text) for argument in subjects)
    ):
        text = conjugation.passive(predicate.text, predicate.inflection)
        return replace(predicate, text=text, inflection="下一段-ラ行")
    return predicate


def _is_agent(argument: Argument, verb: str) -> bool:
    if verb in lexicon.COVERING:
        return argument.case in ("ニ", "デ") and argument.text not in lexicon.ALL_PLACES
    if argument.case != "ニ" or verb in lexicon.GIVING:
        return False
    kinds = categories(argument.text)
    return bool(kinds & {"人", "組織・団体"}) or ("動物" in kinds and verb not in lexicon.TAKES_NI)


def _is_animate(noun: str) -> bool:
    return bool(categories(noun) & ANIMATE)


def _causative(predicate: Predicate) -> list[Predicate]:
    """Who makes whom do it, and what that one does: 母親 食べさせる 子供, 子供 食べる 野菜."""
    said, told = predicate.get("ヲ"), [item for item in predicate.get("ニ") if _is_animate(item.text)]
    transitive = predicate.text in lexicon.TRANSITIVE or predicate.text in table().transitive
    made = (told if said or transitive else []) or ([] if transitive else said)
    if predicate.inflection.startswith("サ行変格") and made == said and not any(_is_animate(i.text) for i in said):
        return [predicate]  # 箱を移動させる is 箱を移動する
    text = conjugation.causative(predicate.text, predicate.inflection) if predicate.inflection else predicate.text
    if not made:
        return [replace(predicate, text=text, inflection="下一段-サ行")]
    causers = [argument for argument in predicate.arguments if argument.case in _SUBJECTS]
    rest = [argument for argument in predicate.arguments if argument not in made and argument not in causers]
    return [
        replace(predicate, text=text, inflection="下一段-サ行",
                arguments=causers + [replace(item, case="ヲ") for item in made]),
        replace(predicate, arguments=[replace(item, case="ガ") for item in made] + rest),
    ]  # fmt: skip


# --- source, negation, picture ----------------------------------------------------------------------------------


def sources(sentence: ParsedSentence) -> ParsedSentence:
    """The sentence with predicates of から told apart from those of に."""
    return replace(sentence, predicates=[made for found in sentence.predicates for made in _source(found)])


def _source(predicate: Predicate) -> list[Predicate]:
    """A predicate with から is two: 箱から箱に移す is (カラ移す, 箱) and (移す, 箱)."""
    away = predicate.get(SOURCE)
    if not away:
        return [predicate]
    subjects = [argument for argument in predicate.arguments if argument.case in _SUBJECTS]
    rest = [argument for argument in predicate.arguments if argument.case != SOURCE]
    leaving = replace(predicate, text=SOURCE + predicate.text, arguments=subjects + away)
    return [leaving] if len(rest) == len(subjects) else [replace(predicate, arguments=rest), leaving]


def _negated(predicate: Predicate) -> Predicate:
    if not predicate.negated:
        return predicate
    return replace(predicate, text=conjugation.negative(predicate.text, predicate.inflection))


def _without_picture_words(sentence: ParsedSentence) -> ParsedSentence:
    """写真, 様子 and their like name nothing in the scene where no predicate needs them: 二階建てバスの写真."""
    needed = {argument.bunsetsu for found in sentence.predicates for argument in found.arguments}
    silent = {
        place
        for place, phrase in enumerate(sentence.bunsetsu)
        if phrase.kind == "NP" and phrase.text in lexicon.PICTURE_WORDS and place not in needed
        and (phrase.copula or phrase.head < 0 or _is_told_about(sentence, place))
    }  # fmt: skip
    phrases = [
        replace(phrase, kind="")
        if place in silent
        else replace(phrase, particle="")
        if phrase.head in silent
        else phrase
        for place, phrase in enumerate(sentence.bunsetsu)
    ]
    kept = [found for found in sentence.predicates if found.bunsetsu not in silent]
    return replace(sentence, bunsetsu=phrases, predicates=kept)


def _is_told_about(sentence: ParsedSentence, place: int) -> bool:
    return any(sentence.bunsetsu[child].kind for child in sentence.children(place))


# --- two things of one name -------------------------------------------------------------------------------------


def told_apart(sentence: ParsedSentence, nouns: Sequence[str]) -> ParsedSentence:
    """Mentions of each of `nouns` named by what is said of them: 箱（右下） and 箱（左上）."""
    names = {
        place: f"{phrase.text}（{mark}）"
        for place, phrase in enumerate(sentence.bunsetsu)
        if phrase.text in nouns and (mark := _mark(sentence, place))
    }
    if not names:
        return sentence
    return replace(
        sentence,
        bunsetsu=[replace(item, text=names.get(place, item.text)) for place, item in enumerate(sentence.bunsetsu)],
        predicates=[
            replace(found, arguments=[replace(a, text=names.get(a.bunsetsu, a.text)) for a in found.arguments])
            for found in sentence.predicates
        ],
        modifiers=[replace(item, noun=names.get(item.bunsetsu, item.noun)) for item in sentence.modifiers],
    )


def ambiguous(sentence: ParsedSentence) -> list[str]:
    """Nouns said several times with different marks."""
    marks: dict[str, set[str]] = {}
    for place, phrase in enumerate(sentence.bunsetsu):
        mark = _mark(sentence, place) if phrase.kind == "NP" else ""
        if mark:
            marks.setdefault(phrase.text, set()).add(mark)
    return [noun for noun, found in marks.items() if len(found) > 1]


def _mark(sentence: ParsedSentence, place: int) -> str:
    """The last word before a noun that tells it from others: a place, a colour, an adjective, what it is of."""
    for child in reversed(sentence.children(place)):
        phrase = sentence.bunsetsu[child]
        if _is_mark(phrase) and child < place:
            return phrase.text
    return ""


def _is_mark(phrase: Bunsetsu) -> bool:
    of = phrase.kind == "NP" and phrase.particle == "の" and "数量" not in phrase.categories
    return of or phrase.kind == "AD"
