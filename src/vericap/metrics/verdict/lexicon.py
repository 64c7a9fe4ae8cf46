"""Claims as entries of the visual words: their own, else their nearest, and what could stand instead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from vericap.core import shipped
from vericap.core.typing import Floats32, Ints
from vericap.graphs.corruption_words import ATTRIBUTES as KINDS_OF_ATTRIBUTES
from vericap.graphs.corruption_words import (
    KIND_OF_ATTRIBUTE,
    NUMBERS,
    noun_kind,
    resembles,
)
from vericap.metrics.evidence import base_forms
from vericap.metrics.verdict.claims import (
    ACTION,
    ATTRIBUTE,
    COUNT,
    OBJECT,
    RELATION,
    Claim,
    ClaimedSentence,
    bare,
)
from vericap.metrics.verdict.claims import NUMBERS as SIZES
from vericap.metrics.verdict.stand_ins import SYNONYM, StandIns
from vericap.models.visual_words import VisualWords
from vericap.native.dense import Layer
from vericap.text import wordnet

Vectors = Callable[[Sequence[str]], Floats32]  # unit vectors of phrases, for words the vocabulary lacks
PART = "verdict"  # what ships of it
NEAREST = 4  # known words that stand for an unknown one
RIVALS = 6  # words of the same kind that could stand instead
_LIKE = 12.0  # how much nearer ones weigh more
_KEPT = 1 << 16  # claims that stay known
_WORD_KINDS = {
    OBJECT: ("object",),
    ATTRIBUTE: ("attribute", "object"),  # "garbage" of "garbage truck"
    COUNT: ("attribute",),
    ACTION: ("action", "attribute"),
}
_KINDS_OF_THINGS = ("animal", "vehicle", "furniture")
_ANY = ("object", "action", "attribute")
# Nearness up to which an entry cannot stand for a word, and beyond which a synonym is as good as the word.
_UNLIKE, _SURE = 0.0, 0.45


@dataclass(frozen=True, slots=True)
class Known:
    """How the vocabulary knows a claim: entries that say it, each with a share, and how near they come to it."""

    entries: tuple[int, ...]  # NEAREST of them, shares of 0 where there are fewer
    shares: tuple[float, ...]
    likeness: float  # 1: an entry of its own
    phrase: int = -1  # the entry of the claim with its object: "brown dog", "ride horse"
    near: tuple[str, ...] = ()  # known words that stand for it


class Lexicon:
    """Claims as entries of the visual words; what was looked up once stays known."""

    def __init__(self, model: VisualWords, vectors: Vectors, rivals: Ints | None = None) -> None:
        self.model, self._vectors = model, vectors
        self._known: dict[tuple[str, str, str, str], Known] = {}
        self._others: dict[int, frozenset[str]] = {}
        self._met: dict[str, bool] = {}  # words, and whether they are known
        self._parts = {part for entry in model.entries for part in entry.split()}
        self._table: Layer | None = None  # vectors of the words
        self._words = np.array([place for place, kind in enumerate(model.kinds) if kind in _ANY], dtype=np.int64)
        self._place = {entry: place for place, entry in enumerate(self._words.tolist())}  # in the table
        self._rivals = rivals
        self._stand_ins = StandIns(model)

    def learn(self, claims: Sequence[Claim]) -> None:
        """Look up claims; those the vocabulary lacks are compared with it together."""
        if len(self._known) > _KEPT:
            self._known.clear()
        lacking: dict[tuple[str, bool], list[Claim]] = {}
        for claim in claims:
            if key(claim) in self._known or claim.kind == RELATION:
                continue
            own, near = self._own(claim), ""
            if own is None and claim.kind == COUNT and (own := self._number(claim.text)) is not None:
                near = self.model.entries[own]
            if own is not None:
                self._known[key(claim)] = Known(*_alone(own), 1.0, self._phrase(claim), (near,) if near else ())
            else:
                lacking.setdefault((claim.text, claim.kind == OBJECT), []).append(claim)
        if lacking:
            for alike, (entries, shares, likeness) in zip(lacking.values(), self._near(list(lacking))):
                near_by = tuple(self.model.entries[entry] for entry, share in zip(entries, shares) if share)
                for claim in alike:
                    self._known[key(claim)] = Known(entries, shares, likeness, self._phrase(claim), near_by)

    def __getitem__(self, claim: Claim) -> Known | None:
        return self._known.get(key(claim))

    def knows(self, word: str) -> bool:
        """Whether the meaning of a word is known: the visual words or WordNet have it, or a part of "two-tiered"."""
        if word not in self._met:
            if len(self._met) > _KEPT:
                self._met.clear()
            self._met[word] = any(map(self._has, bare(word).split("-")))
        return self._met[word]

    def _has(self, word: str) -> bool:
        dictionary = wordnet.lexicon()
        return any(map(str.isdigit, word)) or any(
            form in self._parts or form in dictionary for form in base_forms(word)
        )

    def through(self, sentences: Sequence[ClaimedSentence]) -> dict[str, tuple[str, ...]]:
        """Words of a caption that are judged through others, and these."""
        claims = [claim for sentence in sentences for claim in sentence.claims]
        known = [(claim.text, self[claim]) for claim in claims]
        return {text: own.near for text, own in known if own is not None and own.near}

    @property
    def rivals(self) -> Ints:
        """(entries, RIVALS): words of the same kind that could stand in the place of each; -1: no more."""
        if self._rivals is None:
            self._rivals = rivals_of(self.model)
        return self._rivals

    def rival_words(self, claim: Claim) -> frozenset[str]:
        """What could stand in the place of a claim's word."""
        known = self[claim]
        if known is None or known.likeness < 1:
            return frozenset()
        first = known.entries[0]
        if first not in self._others:
            places = self.rivals[first].tolist()
            self._others[first] = frozenset(self.model.entries[place] for place in places if place >= 0)
        return self._others[first]

    def _own(self, claim: Claim) -> int | None:
        places = self.model.places
        kinds = _WORD_KINDS.get(claim.kind, _ANY)
        texts = [claim.text, *sorted(base_forms(claim.text))]
        if " " in claim.text and claim.kind == OBJECT:
            texts.append(claim.text.rpartition(" ")[2])  # "hotel bedroom" is at least a bedroom
        found = [places[kind, text] for kind in kinds for text in texts if (kind, text) in places]
        return found[0] if found else None

    def _number(self, text: str) -> int | None:
        """The known number nearest to another."""
        known = [self.model.places[ATTRIBUTE, word] for word in SIZES if (ATTRIBUTE, word) in self.model.places]
        if text not in SIZES or not known:
            return None
        return min(known, key=lambda place: abs(SIZES[self.model.entries[place]] - SIZES[text]))

    def _phrase(self, claim: Claim) -> int:
        joined = {ATTRIBUTE: ("attribute object", f"{claim.text} {claim.subject}")}
        joined |= {COUNT: ("attribute object", f"{claim.text} {claim.subject}")}
        joined |= {ACTION: ("action object", f"{claim.text} {claim.object}")}
        return self.model.places.get(joined.get(claim.kind, ("", "")), -1)

    def _near(self, texts: Sequence[tuple[str, bool]]) -> list[tuple[tuple[int, ...], tuple[float, ...], float]]:
        """What stands for words: for one that is an object, the likeliest of the entries that name it, if any."""
        if self._table is None:
            self._table = Layer(self._vectors([self.model.entries[place] for place in self._words.tolist()]))
        found = []
        for (text, thing), row in zip(texts, self._table(self._vectors([text for text, _ in texts]))):
            own = self._stand_ins.named(text) if thing else {}
            named = {entry: float(row[self._place[entry]]) + nearer for entry, nearer in own.items()}
            best = max(named, key=lambda place: named[place], default=-1)
            if best >= 0 and named[best] > _UNLIKE:
                found.append(
                    (*_alone(best), 1.0 if own[best] == SYNONYM and named[best] > _SURE else min(named[best], 1.0))
                )
                continue
            near = np.argsort(-row)[:NEAREST]
            weights = np.exp(_LIKE * (row[near] - row[near[0]]))
            entries = tuple(self._words[near].tolist())
            found.append((entries, tuple((weights / weights.sum()).tolist()), float(row[near[0]])))
        return found


def _alone(entry: int) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """One entry with all the share."""
    none = (0,) * (NEAREST - 1)
    return (entry, *none), (1.0, *none)


def shipped_rivals(model: VisualWords) -> Ints | None:
    """The table of rivals that ships, where it is that of the model."""
    if not (shipped.ROOT / PART / "meta.json").is_file() or shipped.meta(PART).get("words") != model.name:
        return None  # training makes it anew
    return np.load(shipped.path(PART, "rivals.npy"), allow_pickle=False).astype(np.int64)


@lru_cache(maxsize=4)
def rival_words(model: VisualWords) -> dict[str, frozenset[str]]:
    """The same by words, of objects."""
    table = shipped_rivals(model)
    if table is None:
        return {}
    rows = zip(model.kinds, model.entries, table.tolist())
    return {word: frozenset(model.entries[n] for n in row if n >= 0) for kind, word, row in rows if kind == OBJECT}


def key(claim: Claim) -> tuple[str, str, str, str]:
    return claim.kind, claim.text, claim.subject, claim.object


def rivals_of(model: VisualWords) -> Ints:
    """(entries, RIVALS): for words of which one excludes the other ("man": "woman") the ones that look most alike."""
    found = np.full((len(model.entries), RIVALS), -1, dtype=np.int64)
    alike = model.alike()
    kinds = [_exclusive(kind, text) for kind, text in zip(model.kinds, model.entries)]
    for row, (kind, word) in enumerate(zip(kinds, model.entries)):
        if kind:
            near = np.argsort(-alike(row)).tolist()
            others = [n for n in near if kinds[n] == kind and n != row and _apart(kind, word, model.entries[n])]
            found[row, : len(others[:RIVALS])] = others[:RIVALS]
    return found


def _exclusive(kind: str, text: str) -> str:
    """The group of words of which only one is true of a thing; "" for words that leave others room."""
    if kind == OBJECT:
        group = noun_kind(text.rpartition(" ")[2])
        return "person" if group in ("male", "female") else group if group in _KINDS_OF_THINGS else ""
    if kind != ATTRIBUTE:
        return ""
    groups = KIND_OF_ATTRIBUTE.get(text, [])
    return "number" if text in NUMBERS else groups[0][0] if groups else ""


def _apart(kind: str, word: str, other: str) -> bool:
    """Whether two words cannot well be said of the same thing."""
    if kind == "person":
        return noun_kind(word) != noun_kind(other)
    if kind in KINDS_OF_ATTRIBUTES:
        mine, theirs = ({place for _, place in KIND_OF_ATTRIBUTE[text]} for text in (word, other))
        return mine.isdisjoint(theirs)
    return not resembles(word, other) and not resembles(other, word)
