"""Matching tuples: the set rule of JaSPICE with synonyms, and the graded one of JaSPICE+.

Tuples are (object), (object, attribute) and (subject, relation, object). Both scores work on tuples alone, whatever
parser made them.

>>> score_tuples([("男性",), ("男性", "歩く")], [[("男",), ("犬",)]]).f1
0.5
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial

import numpy as np

from vericap.core.typing import Floats, Floats32
from vericap.graphs.scene_graph import ZERO_PRONOUN as ZERO
from vericap.text import wordnet_ja
from vericap.text.japanese_spelling import compound_head, representative

Tuple = tuple[str, ...]
_HALF = 0.5  # from this grade of words on, tuples are called a match
Vectors = Callable[[Sequence[str]], Floats32]  # of phrases, of length 1


@dataclass(frozen=True)
class TupleScore:
    """Precision, recall and F1, with the pairs that matched (see `_grades`) and their grade.

    Tuples are in the captions' own words, whatever spellings were taken for one.
    """

    precision: float
    recall: float
    f1: float
    pairs: tuple[tuple[Tuple, Tuple, float], ...] = ()
    candidate: tuple[Tuple, ...] = ()
    reference: tuple[Tuple, ...] = ()
    missing: tuple[Tuple, ...] = ()  # tuples of the references that nothing in the candidate matches


@dataclass(frozen=True)
class MatchRules:
    """What counts as the same word. The default is the paper's setting."""

    synonyms: bool = True
    hypernyms: float = 0.0  # grade of a word one step above or below; its power for further steps
    compounds: float = 0.0  # grade of テニスラケット for ラケット
    depth: int = 3
    heads: bool = False  # a compound is what its last noun names: テニスラケット is a ラケット
    spelling: bool = False  # きりん, キリン and 麒麟 are one word
    threshold: float = 0.9  # cosine from which the encoder's likeness is called a match
    encoder: Vectors | None = field(default=None, compare=False)

    @property
    def graded(self) -> bool:
        return self.hypernyms > 0 or self.compounds > 0 or self.encoder is not None


def read(item: str | Iterable[str]) -> Tuple:
    """A tuple as such, or as written "attribute_object", "subject_relation_object"."""
    if isinstance(item, str):
        parts = tuple(item.split("_"))
        return (parts[1], parts[0]) if len(parts) == 2 else parts
    return tuple(item)


def tuple_set(items: Iterable[str | Iterable[str]], *, spelling: bool = False) -> list[Tuple]:
    """Distinct tuples without the bare placeholder, in order; with `spelling` one of those spelled alike.

    It is the least of them, so that nothing depends on the order of references, and still a caption's own word.
    """
    found: dict[Tuple, Tuple] = {}
    for item in items:
        parts = read(item)
        if not 1 <= len(parts) <= 3:
            raise ValueError(f"a tuple has one, two or three parts, not {len(parts)}: {parts!r}")
        if parts != (ZERO,):
            key = tuple(map(spelled, parts)) if spelling else parts
            found[key] = min(parts, found.get(key, parts))
    return list(found.values())


def spelled(word: str) -> str:
    """A word of a tuple in its representative spelling; prefixes and marks stay: カラ動かす, 箱（みぎ）.

    >>> spelled("キリン") == spelled("麒麟"), spelled("箱（赤い）")
    (True, '箱（赤）')
    """
    prefix, base, mark = _parts(word)
    return prefix + representative(base) + (f"（{representative(mark)}）" if mark else "")


def _parts(word: str) -> tuple[str, str, str]:
    """Prefix (カラ, ヨリ), word and mark: "箱（右上）" is 箱 marked by 右上."""
    prefix = next((name for name in ("カラ", "ヨリ") if word.startswith(name) and len(word) > len(name)), "")
    base, _, mark = word[len(prefix) :].partition("（")
    return (prefix, base, mark.rstrip("）")) if base else ("", word, "")


def score_tuples(
    candidate: Iterable[str | Iterable[str]],
    references: Iterable[Iterable[str | Iterable[str]]],
    *,
    synonyms: bool = True,
    rules: MatchRules | None = None,
) -> TupleScore:
    """F1 of a candidate's tuples against the union of the references' tuples (no union made of nothing: 0)."""
    rules = rules or MatchRules(synonyms=synonyms)
    mine = tuple_set(candidate, spelling=rules.spelling)
    theirs = tuple_set((item for reference in references for item in reference), spelling=rules.spelling)
    if not mine or not theirs:
        return TupleScore(0.0, 0.0, 0.0, (), tuple(mine), tuple(theirs), tuple(theirs))
    grades, called = _grades(mine, theirs, rules)
    if rules.graded:
        # graded rule: the mean grade of each tuple's best partner
        precision, recall = float(grades.max(axis=1).mean()), float(grades.max(axis=0).mean())
    else:
        # set rule: m tuples of the smaller set have a partner; P = m / |c|, R = m / |r|
        side = 1 if len(mine) <= len(theirs) else 0
        matched = int((grades >= 1.0).any(axis=side).sum())
        precision, recall = matched / len(mine), matched / len(theirs)
    return _explained(precision, recall, mine, theirs, grades, called)


def _explained(
    precision: float, recall: float, mine: list[Tuple], theirs: list[Tuple], grades: Floats, called: Floats
) -> TupleScore:
    """`called` has the grades of pairs that are called a match, 0 for the others."""
    pairs = tuple(
        (one, theirs[place], float(called[row, place]))
        for row, (one, place) in enumerate(zip(mine, called.argmax(axis=1)))
        if called[row, place]
    )
    missing = tuple(item for item, grade in zip(theirs, called.max(axis=0)) if not grade)
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return TupleScore(precision, recall, f1, pairs, tuple(mine), tuple(theirs), missing)


def _grades(mine: list[Tuple], theirs: list[Tuple], rules: MatchRules) -> tuple[Floats, Floats]:
    """Grade of every tuple of the candidate with every tuple of the references; those of pairs called a match.

    A likeness the encoder sees counts in the score by its cosine. It is called a match only from the threshold on
    and between tuples of one length: "a red sign" is not confirmed by "a sign".
    """
    words = replace(rules, encoder=None)  # the memory of words must not hold on to vectors
    grades = np.array([[similarity(one, other, words) for other in theirs] for one in mine])
    called = np.where(grades >= (_HALF if rules.graded else 1.0), grades, 0.0)
    if rules.encoder is not None:
        cosines = _cosines(mine, theirs, rules.encoder)
        alike = np.array([[len(one) == len(other) for other in theirs] for one in mine])
        grades = np.maximum(grades, cosines)
        called = np.maximum(called, np.where(alike & (cosines >= rules.threshold), cosines, 0.0))
    return grades, called


def _cosines(mine: list[Tuple], theirs: list[Tuple], encoder: Vectors) -> Floats:
    """Cosines of the tuples said as phrases, of any length ("走る犬" may meet "犬が道を走る"); negative ones are 0."""
    vectors = encoder([phrase(item) for item in mine + theirs])
    return np.clip(vectors[: len(mine)] @ vectors[len(mine) :].T, 0.0, 1.0).astype(np.float64)


def phrase(item: Tuple) -> str:
    """A tuple in words: 犬, 白い犬, 男性が馬に乗る."""
    if len(item) < 3:
        return "".join(map(_said, reversed(item)))
    subject, relation, target = map(_said, item)
    if relation == "の":
        return f"{subject}の{target}"
    case = "から" if relation.startswith("から") and item[1].startswith("カラ") else "を"
    deed = f"{target}{case}{relation.removeprefix('から') if case == 'から' else relation}"
    return deed if subject == ZERO else f"{subject}が{deed}"


def _said(word: str) -> str:
    """A marked word in plain Japanese: 箱（右上） -> 右上の箱, 皿（白い） -> 白い皿."""
    prefix, base, mark = _parts(word)
    return prefix.replace("カラ", "から") + mark + ("の" if mark and not mark.endswith("い") else "") + base


def similarity(one: Sequence[str], other: Sequence[str], rules: MatchRules) -> float:
    """Grade of two tuples: the product over their parts; 0 for tuples of different length."""
    if len(one) != len(other):
        return 0.0
    grade = 1.0
    for a, b in zip(one, other):
        grade *= 1.0 if a == b else word_similarity(a, b, rules)
        if not grade:
            return 0.0
    return grade


@lru_cache(maxsize=1 << 18)
def word_similarity(one: str, other: str, rules: MatchRules) -> float:
    """Grade of two words: 1 for the same word or a synonym, less for hypernyms and parts of compounds, else 0."""
    if one == other:
        return 1.0
    if ZERO in (one, other):
        return 0.0
    (prefix, one, mark), (its_prefix, other, its_mark) = _parts(one), _parts(other)
    # 箱 may be 箱（右上）, but 箱（右上） is not 箱（左下）; from the box is not into the box
    if prefix != its_prefix or (mark and its_mark and not word_similarity(mark, its_mark, rules)):
        return 0.0
    if one == other or (rules.spelling and representative(one) == representative(other)):
        return 1.0
    senses = partial(_senses, spelling=rules.spelling)
    if rules.synonyms and senses(one) & senses(other):
        return 1.0
    if rules.heads and _is_head(one, other):
        return 1.0
    grade = 0.0
    if rules.hypernyms:
        steps = wordnet_ja.hypernym_steps(one, other, rules.depth)
        grade = rules.hypernyms**steps if steps else 0.0
    if rules.compounds and _is_part(*sorted((one, other), key=len)):
        grade = max(grade, rules.compounds)
    return grade


def _is_head(one: str, other: str) -> bool:
    """Whether one word is the last noun of the other; two compounds of one noun (赤ワイン, 白ワイン) differ."""
    return any(
        head and (head == word or representative(head) == representative(word))
        for head, word in ((compound_head(one), other), (compound_head(other), one))
    )


@lru_cache(maxsize=1 << 16)
def _senses(word: str, *, spelling: bool) -> frozenset[int]:
    """Synsets of a word as it is written and, with `spelling`, of its representative form."""
    return wordnet_ja.numbers(word) | (wordnet_ja.numbers(representative(word)) if spelling else frozenset())


def _is_part(short: str, long: str) -> bool:
    """A word that begins or ends a compound: ラケット in テニスラケット; one kana alone is no word."""
    whole = len(short) > 1 or "\u4e00" <= short <= "\u9fff"
    return whole and len(short) < len(long) and (long.endswith(short) or long.startswith(short))
