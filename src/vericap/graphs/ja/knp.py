"""KNP front end: text in the format of `knp -tab` -> predicate-argument structure.

    jumanpp < captions.txt | knp -tab > captions.knp

It was written from the format's description and tested on three sentences written in that format for the tests; no
output of a real KNP was at hand. Passives, causatives and negation are not read from KNP's features: by this reader
they stay as in the paper.

`read` takes that text; a `rhoknp` Document or Sentence is read through its `to_knp()`.
Lines: `*` opens a bunsetsu, `+` a basic phrase (both with the number of their head and features in <>), other lines
are morphemes, `EOS` ends a sentence. Predicates carry <格解析結果:...> or <述語項構造:...>.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from vericap.core.errors import InputError
from vericap.graphs.ja.categories import ATTRIBUTE_CATEGORIES
from vericap.graphs.ja.pas import CASES, Bunsetsu, Kind, ParsedSentence, Predicate

_UNIT = re.compile(r"^[*+] (-?\d+)([DPIA])?(?: (.*))?$")
_CASES = re.compile(r"<(?:格解析結果|述語項構造):([^>]*)>")
_REPRESENTATIVE = re.compile(r"代表表記:([^\s/\"]+)/")
_CATEGORY = re.compile(r"カテゴリ:([^\s\"]+)")
_SILENT = frozenset({"助詞", "助動詞", "判定詞", "特殊", "接尾辞"})


@dataclass
class _Word:
    surface: str
    part: str
    detail: str
    text: str
    categories: frozenset[str]


@dataclass
class _Unit:
    """A bunsetsu or basic phrase as read."""

    head: int
    parallel: bool
    features: str
    words: list[_Word] = field(default_factory=list)
    bunsetsu: int = -1

    @property
    def surface(self) -> str:
        return "".join(word.surface for word in self.words)

    @property
    def text(self) -> str:
        """Representative form without particles and suffixes; a counter stays with its number."""
        kept = [word.text for word in self.words if word.part not in _SILENT or word.detail == "名詞性名詞助数辞"]
        return "".join(kept)

    @property
    def categories(self) -> frozenset[str]:
        return frozenset(name for word in self.words for name in word.categories)


def read(output: str | Any) -> list[ParsedSentence]:
    """Predicate-argument structures of KNP's output, one per sentence; takes rhoknp objects too."""
    return [structure for _, structure in read_with_text(output)]


def read_with_text(output: str | Any) -> Iterator[tuple[str, ParsedSentence]]:
    """Surface text and structure of every sentence of KNP's output."""
    text = output if isinstance(output, str) else output.to_knp()
    bunsetsu: list[_Unit] = []
    phrases: list[_Unit] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line == "EOS":
            yield "".join(unit.surface for unit in bunsetsu), _sentence(bunsetsu, phrases)
            bunsetsu, phrases = [], []
        elif line.startswith(("* ", "+ ")):
            unit = _unit(line, number)
            (bunsetsu if line[0] == "*" else phrases).append(unit)
            unit.bunsetsu = len(bunsetsu) - 1
        elif line and not line.startswith(("#", "@", "EOP")):
            if not phrases or not bunsetsu:
                raise InputError(
                    f"line {number} of the KNP output is a morpheme outside any phrase: {line[:40]!r}; "
                    "make the text with `jumanpp | knp -tab` (basic phrases, lines that begin with '+', are needed)"
                )
            word = _word(line, number)
            bunsetsu[-1].words.append(word)
            phrases[-1].words.append(word)
    if bunsetsu:
        raise InputError("the KNP output ends within a sentence: its last line must be EOS")


def _unit(line: str, number: int) -> _Unit:
    found = _UNIT.match(line)
    if not found:
        raise InputError(f"line {number} of the KNP output is not '* HEAD FEATURES': {line[:40]!r}")
    return _Unit(int(found[1]), found[2] == "P", found[3] or "")


def _word(line: str, number: int) -> _Word:
    fields = line.split(" ", 11)
    if len(fields) < 11:
        raise InputError(
            f"line {number} of the KNP output has {len(fields)} fields, a morpheme has 11 or more: {line[:40]!r}"
        )
    rest = fields[11] if len(fields) > 11 else ""
    name = _REPRESENTATIVE.search(rest)
    kinds = _CATEGORY.search(rest)
    return _Word(
        surface=fields[0],
        part=fields[3],
        detail=fields[5],
        text=unicodedata.normalize("NFKC", name[1] if name else fields[2]),
        categories=frozenset(kinds[1].split(";")) if kinds else frozenset(),
    )


def _sentence(bunsetsu: list[_Unit], phrases: list[_Unit]) -> ParsedSentence:
    structure = ParsedSentence([_bunsetsu(unit, place, bunsetsu, phrases) for place, unit in enumerate(bunsetsu)], [])
    for phrase in phrases:
        found = _CASES.search(phrase.features)
        if found:
            structure.predicates.append(_predicate(phrase, found[1], structure, phrases))
    _share_subjects(structure)
    return structure


def _bunsetsu(unit: _Unit, place: int, bunsetsu: list[_Unit], phrases: list[_Unit]) -> Bunsetsu:
    kind: Kind = (
        "VP"
        if "<用言:動" in unit.features
        else "AD"
        if "<用言:形" in unit.features
        else "NP"
        if "<体言" in unit.features
        else ""
    )
    particle = next((word.surface for word in reversed(unit.words) if word.part == "助詞"), "")
    own = [phrase for phrase in phrases if phrase.bunsetsu == place]
    describes = particle == "の" and unit.categories & ATTRIBUTE_CATEGORIES
    head_kind = "<体言" in bunsetsu[unit.head].features if unit.head >= 0 else False
    joined = kind == "NP" and head_kind and (unit.parallel or particle in ("と", "や"))
    return Bunsetsu(
        text=unit.text if describes or not own else own[-1].text or unit.text,
        kind=kind,
        surface=unit.surface,
        head=unit.head,
        particle=particle,
        categories=own[-1].categories if own and not describes else unit.categories,
        coordinate=joined and particle != "の",
        copula="<用言:判" in unit.features,
    )


def _predicate(phrase: _Unit, cases: str, structure: ParsedSentence, phrases: list[_Unit]) -> Predicate:
    """ "着る/きる:動8:ガ/N/男の子/6/0/1;ヲ/C/ズボン/4/0/1": the third field onwards are the cases."""
    asks = "<モダリティ-命令" in phrase.features or "<モダリティ-依頼" in phrase.features
    predicate = Predicate(phrase.text, phrase.bunsetsu, imperative=asks)
    parts = cases.split(":", 2)
    for item in parts[2].split(";") if len(parts) > 2 else ():
        fields = item.split("/")
        if len(fields) < 4 or fields[1] in ("U", "-") or not fields[3].isdigit() or int(fields[3]) >= len(phrases):
            continue
        case = "ガ２" if fields[0] in ("ガ2", "ガ２") else fields[0]
        if case not in CASES:
            continue
        target = phrases[int(fields[3])]
        for place in _members(structure, target.bunsetsu):
            text = target.text if place == target.bunsetsu else structure.bunsetsu[place].text
            predicate.add(case, text, place)
    return predicate


def _members(structure: ParsedSentence, place: int) -> list[int]:
    found = [place]
    for child in structure.children(place):
        if structure.bunsetsu[child].coordinate:
            found += _members(structure, child)
    return found


def _share_subjects(structure: ParsedSentence) -> None:
    """A verb that leads to another verb shares its subject with it (the paper's verb -> verb rule)."""
    for upwards in (True, False):
        order: Iterable[Predicate] = structure.predicates if upwards else reversed(structure.predicates)
        for below in order:
            phrase = structure.bunsetsu[below.bunsetsu]
            above = structure.predicate_at(phrase.head)
            if above is None or phrase.kind != "VP" or structure.bunsetsu[phrase.head].kind != "VP":
                continue
            giver, taker = (below, above) if upwards else (above, below)
            if not taker.has("ガ"):
                for argument in giver.get("ガ"):
                    taker.add("ガ", argument.text, argument.bunsetsu)
