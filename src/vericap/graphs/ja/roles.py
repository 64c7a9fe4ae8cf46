"""Bunsetsu and their heads -> predicates with arguments: particles, adnominal gaps, shared subjects, light verbs."""

from __future__ import annotations

from collections.abc import Sequence

from vericap.graphs.ja import lexicon
from vericap.graphs.ja.categories import ANIMATE, PLACES
from vericap.graphs.ja.chunks import Phrase
from vericap.graphs.ja.pas import Bunsetsu, Modifier, ParsedSentence, Predicate
from vericap.text.japanese_spelling import is_count
from vericap.text.jumandic import table


def assign(phrases: Sequence[Phrase], heads: Sequence[int]) -> ParsedSentence:
    """The predicate-argument structure of one sentence."""
    return _Assigner(phrases, heads).run()


def overt(phrases: Sequence[Phrase], heads: Sequence[int]) -> ParsedSentence:
    """Only what is said by particles, on the parser's own heads: no shared subjects, no gaps of clauses."""
    return _Assigner(phrases, heads).run_overt()


class _Assigner:
    def __init__(self, phrases: Sequence[Phrase], heads: Sequence[int]) -> None:
        self.phrases = phrases
        self.heads = list(heads)
        self.predicates: dict[int, Predicate] = {}
        self.modifiers: list[Modifier] = []
        self.dropped: set[int] = set()  # phrases that are said elsewhere: quantities, light-verb nouns

    def run(self) -> ParsedSentence:
        self._find_predicates()
        self._overt_arguments()
        self._light_verbs()
        self._became()
        self._share_upwards()
        self._fill_gaps()
        self._share_downwards()
        for predicate in self.predicates.values():
            if predicate.text == "通う" and predicate.has("ヲ"):
                predicate.text = "通る"  # 道を通って: the tagger cannot know; 通う takes に
        predicates = self._kept()
        return ParsedSentence([self._bunsetsu(i) for i in range(len(self.phrases))], predicates, self.modifiers)

    def run_overt(self) -> ParsedSentence:
        self._find_predicates()
        self._overt_arguments()
        for place, predicate in self.predicates.items():
            head = self.heads[place]
            modifies = self.phrases[place].form == "adnominal" and head >= 0 and self.phrases[head].kind == "NP"
            if modifies and not predicate.arguments:  # 赤い服, 走る犬: an edge of the tree, not a case
                predicate.add("ガ", self.phrases[head].text, head)
        return ParsedSentence([self._bunsetsu(i) for i in range(len(self.phrases))], self._kept(), self.modifiers)

    def _find_predicates(self) -> None:
        for place, phrase in enumerate(self.phrases):
            if phrase.words[0].part("連体詞") and phrase.kind == "AD":
                self._modify_noun(place, "" if phrase.text in lexicon.SILENT_ADNOMINALS else phrase.text)
            elif phrase.predicate and not phrase.adverb:
                self.predicates[place] = Predicate(
                    phrase.text,
                    place,
                    imperative=phrase.imperative,
                    negated=phrase.negated,
                    passive=phrase.passive and not phrase.result,
                    causative=phrase.causative,
                    benefactive=phrase.benefactive,
                    inflection=phrase.inflection if phrase.kind in ("VP", "AD") else "",
                )

    def _modify_noun(self, place: int, text: str) -> None:
        head = self.heads[place]
        if text and head >= 0 and self.phrases[head].kind == "NP":
            self.modifiers.append(Modifier(self.phrases[head].text, text, head))

    def _members(self, place: int) -> list[int]:
        """A noun with those joined to it: "A と B や C"."""
        found = [place]
        for other, phrase in enumerate(self.phrases[:place]):
            if self.heads[other] == place and self._is_joined(other, phrase):
                found += self._members(other)
        return found

    def _is_joined(self, place: int, phrase: Phrase) -> bool:
        head = self.heads[place]
        return (
            phrase.kind == "NP"
            and not phrase.quantity
            and head >= 0
            and self.phrases[head].kind == "NP"
            and (phrase.form in ("joined", "bare") or (phrase.form == "case" and phrase.case == "と"))
        )

    def _overt_arguments(self) -> None:
        for place, phrase in enumerate(self.phrases):
            if phrase.quantity and phrase.form != "adnominal" and self._floating_quantity(place):
                continue
            if phrase.count:
                self.modifiers.append(Modifier(phrase.text, phrase.count, place))
            head = self.heads[place]
            predicate = self.predicates.get(head)
            if phrase.case == "の" and head >= 0 and self.phrases[head].kind == "NP":
                continue
            if phrase.kind != "NP" or predicate is None or (phrase.copula and phrase.form != "adnominal"):
                continue
            case = self._case(place, predicate)
            if case:
                for member in self._members(place):
                    predicate.add(case, self.phrases[member].text, member)

    def _floating_quantity(self, place: int) -> bool:
        """ "熊が二匹", "二匹の熊" without の: the number belongs to the noun before (or after) it."""
        phrase = self.phrases[place]
        together = phrase.case == "で" and is_count(phrase.text)  # 三人で食べる
        lots = phrase.case == "に" and phrase.text in lexicon.QUANTITIES  # 大量に並ぶ
        if not (phrase.case in ("", "と", "も", "ほど") or together or lots) or phrase.words[-1].surface == "は":
            return False
        earlier = [i for i in range(place) if _can_be_counted(self.phrases[i])]
        owner = -1
        if place - 1 in earlier:
            owner = place - 1
        elif self.heads[place] >= 0 and self.phrases[self.heads[place]].kind == "NP":
            owner = self.heads[place]
        elif earlier and phrase.form != "final":
            owner = earlier[-1]
        elif together and self.heads[place] >= 0 and self.phrases[self.heads[place]].form == "adnominal":
            owner = self.heads[self.heads[place]]  # 三人で食べている子供
        if owner < 0 or self.phrases[owner].quantity:
            return False
        for member in self._members(owner):
            self.modifiers.append(Modifier(self.phrases[member].text, phrase.text, member))
        self.dropped.add(place)
        return True

    def _case(self, place: int, predicate: Predicate) -> str:
        phrase = self.phrases[place]
        verb = self.phrases[predicate.bunsetsu]
        timely = "時間" in phrase.categories and not phrase.categories & PLACES
        if timely and phrase.case in ("", "に", "で") and phrase.form in ("case", "bare"):
            return "時間"
        if phrase.case in lexicon.CASE_OF:
            return lexicon.CASE_OF[phrase.case]
        if phrase.case == "の":
            return "ガ"
        if phrase.topic:
            needs_object = verb.kind == "VP" and _is_transitive(verb.text) and not verb.passive
            if (
                needs_object
                and not self._has_case(predicate.bunsetsu, "を")
                and (verb.imperative or self._has_case(predicate.bunsetsu, "が"))
            ):
                return "ヲ"
            return "ガ２" if self._has_case(predicate.bunsetsu, "が") else "ガ"
        if phrase.form == "bare" and not phrase.quantity:
            free = not self._has_case(predicate.bunsetsu, "が")
            if free and (phrase.categories & ANIMATE or verb.text in lexicon.EXISTENCE):
                return "ガ"
            if _is_transitive(verb.text) and not verb.passive and not self._has_case(predicate.bunsetsu, "を"):
                return "ヲ"
        return ""

    def _has_case(self, place: int, particle: str) -> bool:
        return any(self.heads[i] == place and p.case == particle for i, p in enumerate(self.phrases))

    def _light_verbs(self) -> None:
        """ "練習をする" is 練習する; "テニスの練習をする" practises tennis."""
        for predicate in self.predicates.values():
            objects = predicate.get("ヲ")
            if predicate.text not in ("する", "行う", "おこなう") or len(objects) != 1:
                continue
            noun = objects[0].bunsetsu
            if noun < 0 or not self._is_deed(self.phrases[noun]):
                continue
            predicate.arguments.remove(objects[0])
            predicate.text = self.phrases[noun].text + "する"
            predicate.inflection = "サ行変格"
            self.dropped.add(noun)
            for other, phrase in enumerate(self.phrases[:noun]):
                if self.heads[other] == noun and phrase.case == "の" and not phrase.quantity:
                    self.heads[other] = predicate.bunsetsu
                    for member in self._members(other):
                        predicate.add("ヲ", self.phrases[member].text, member)

    def _became(self) -> None:
        """ "黄色になる" is yellow."""
        for predicate in self.predicates.values():
            for argument in predicate.get("ニ"):
                noun = argument.bunsetsu
                if predicate.text in ("なる", "成る") and noun >= 0 and "色" in self.phrases[noun].categories:
                    predicate.arguments.remove(argument)
                    predicate.text = argument.text
                    predicate.inflection = ""
                    self.dropped.add(noun)

    def _is_deed(self, phrase: Phrase) -> bool:
        return phrase.sahen and not phrase.categories & {"人工物-衣類", "人工物-その他", "人", "動物"}

    def _is_linked(self, child: int) -> int:
        """The predicate that a continuing clause (て, 連用形, ながら) leads to, or -1."""
        phrase, head = self.phrases[child], self.heads[child]
        continues = phrase.kind in ("VP", "AD") and phrase.form == "adverbial" and not phrase.nominalized
        continues = continues and child in self.predicates
        return head if continues and head in self.predicates and self.phrases[head].kind == phrase.kind else -1

    def _share_upwards(self) -> None:
        for place in sorted(self.predicates):
            head = self._is_linked(place)
            if head >= 0 and not self.predicates[head].has("ガ"):
                for argument in self.predicates[place].get("ガ"):
                    self.predicates[head].add("ガ", argument.text, argument.bunsetsu)

    def _share_downwards(self) -> None:
        for place in sorted(self.predicates, reverse=True):
            head = self._is_linked(place)
            if head < 0:
                continue
            above, below = self.predicates[head], self.predicates[place]
            below.imperative = below.imperative or (above.imperative and not above.has("ガ"))
            if not below.has("ガ"):
                for argument in above.get("ガ"):
                    below.add("ガ", argument.text, argument.bunsetsu)

    def _fill_gaps(self) -> None:
        """The noun an adnominal clause modifies fills the case the clause lacks."""
        for place, predicate in self.predicates.items():
            head = self.heads[place]
            cleft = self.phrases[place].nominalized and self.phrases[place].topic  # 登っているのは猿です
            if not (cleft or self.phrases[place].form == "adnominal") or head < 0 or self.phrases[head].kind != "NP":
                continue
            noun = self.phrases[head]
            above = self.predicates.get(self.heads[head])
            if noun.text in ("状態", "まま", "格好", "姿勢") and above is not None and not above.has("ガ"):
                for argument in predicate.get("ガ"):  # 積んだ状態で停まる: the same one does both
                    above.add("ガ", argument.text, argument.bunsetsu)
            picture = noun.text in lexicon.OUTER_NOUNS or noun.text.endswith(("写真", "画像", "映像"))
            if picture or noun.text in lexicon.ALL_PLACES:
                continue
            case = self._gap(self.phrases[place], predicate, noun)
            if not (case == "ガ" and predicate.imperative):
                predicate.add(case, noun.text, head)

    def _gap(self, verb: Phrase, predicate: Predicate, noun: Phrase) -> str:
        animate = bool(noun.categories & ANIMATE)
        takes_object = (
            verb.kind == "VP" and not verb.passive and not predicate.has("ヲ") and _is_transitive(predicate.text)
        )
        if verb.kind != "VP":
            return "外の関係" if predicate.has("ガ") else "ガ"
        if not predicate.has("ガ"):
            if takes_object and not animate:
                return "ヲ"
            along = predicate.text in lexicon.MOTION and noun.categories & PLACES and not predicate.has("ヲ")
            return "ヲ" if along and not noun.categories & {"人工物-乗り物"} else "ガ"
        if takes_object:
            return "ヲ"
        return "ニ" if predicate.text in lexicon.TAKES_NI and not predicate.has("ニ") else "外の関係"

    def _kept(self) -> list[Predicate]:
        """Predicates in text order; a nominal one only where it says something of a subject."""
        kept = []
        for place in sorted(self.predicates):
            predicate, phrase = self.predicates[place], self.phrases[place]
            if phrase.copula and phrase.kind == "NP":
                head = self.heads[place]
                subject = predicate.has("ガ", "ガ２") and not predicate.has("外の関係")
                about = phrase.form == "adnominal" and head >= 0
                if not (subject or about) or phrase.text in lexicon.OUTER_NOUNS:
                    continue
                self.dropped.add(place)
            kept.append(predicate)
        return kept

    def _bunsetsu(self, place: int) -> Bunsetsu:
        phrase = self.phrases[place]
        return Bunsetsu(
            text=phrase.text,
            kind="" if place in self.dropped else phrase.kind,
            surface=phrase.surface,
            head=self.heads[place],
            particle="と" if self._is_joined(place, phrase) else phrase.case,
            categories=phrase.categories | ({"数量"} if phrase.quantity else frozenset()),
            coordinate=self._is_joined(place, phrase),
            copula=phrase.copula,
        )


def _can_be_counted(phrase: Phrase) -> bool:
    return phrase.kind == "NP" and phrase.form == "case" and phrase.case in ("が", "を", "") and not phrase.quantity


def _is_transitive(verb: str) -> bool:
    return verb in lexicon.TRANSITIVE or verb in table().transitive
