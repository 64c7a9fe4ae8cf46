"""Predicate-argument structure of one sentence, whatever analyser it came from.

A sentence is a row of bunsetsu (a content word with what clings to it). Each bunsetsu depends on one to its
right. Predicates carry arguments by case: ガ ガ２ ヲ ニ ト デ カラ ヨリ ヘ マデ, and the deep case 時間; the noun an
adnominal clause modifies without filling one of its cases is 外の関係.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

CASES = ("ガ", "ガ２", "ヲ", "ニ", "ト", "デ", "カラ", "ヨリ", "ヘ", "マデ", "時間", "外の関係")

Kind = Literal["NP", "VP", "AD", ""]


@dataclass(slots=True)
class Morpheme:
    """One word as the analyser cut it. `tag` is 品詞 with its subdivisions joined by "-"."""

    surface: str
    lemma: str
    tag: str
    inflection: str = ""
    norm: str = ""

    def part(self, *names: str) -> bool:
        return self.tag.startswith(names)


@dataclass(slots=True)
class Bunsetsu:
    """A phrase: what it is (`kind`), its representative form (`text`), and what it depends on (`head`, -1: nothing)."""

    text: str
    kind: Kind
    surface: str = ""
    head: int = -1
    particle: str = ""  # case or conjunction at its end: が の と ...
    categories: frozenset[str] = frozenset()
    coordinate: bool = False  # "A と", "A や": joined to its head, not modifying it
    copula: bool = False  # "... だ", "... です": a noun that is a predicate


@dataclass(slots=True)
class Argument:
    """What fills a case of a predicate; `bunsetsu` is -1 where the analyser names no place."""

    case: str
    text: str
    bunsetsu: int = -1


@dataclass(slots=True)
class Predicate:
    """A verb, adjective or nominal predicate with its arguments."""

    text: str
    bunsetsu: int
    arguments: list[Argument] = field(default_factory=list)
    imperative: bool = False  # an instruction: its subject is the one spoken to and stays a zero pronoun
    negated: bool = False
    passive: bool = False
    causative: bool = False
    benefactive: bool = False
    inflection: str = ""  # conjugation type of a verb or adjective, for its negative, passive and causative form

    def get(self, case: str) -> list[Argument]:
        return [argument for argument in self.arguments if argument.case == case]

    def has(self, *cases: str) -> bool:
        return any(argument.case in cases for argument in self.arguments)

    def add(self, case: str, text: str, bunsetsu: int = -1) -> None:
        if not any(known.case == case and known.text == text for known in self.arguments):
            self.arguments.append(Argument(case, text, bunsetsu))


@dataclass(slots=True)
class Modifier:
    """An attribute said of a noun outside any predicate: a floating quantity, 大きな, この-less 連体詞."""

    noun: str
    text: str
    bunsetsu: int = -1  # of the noun


@dataclass(slots=True)
class ParsedSentence:
    """Bunsetsu, predicates, and attributes that no predicate carries."""

    bunsetsu: list[Bunsetsu]
    predicates: list[Predicate]
    modifiers: list[Modifier] = field(default_factory=list)

    def children(self, index: int) -> list[int]:
        return [i for i, phrase in enumerate(self.bunsetsu) if phrase.head == index]

    def predicate_at(self, index: int) -> Predicate | None:
        return next((found for found in self.predicates if found.bunsetsu == index), None)
