"""Which of the 80 COCO classes a caption mentions, by a table of words and phrases (English)."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from vericap.core import shipped
from vericap.vision.objects import canonical, tidy

_TOKEN = re.compile(r"[a-z0-9]+(?:'[a-z]+)?|[^\sa-z0-9]")
_HYPHEN = "-"  # between words, not a word
_ARTICLES = {"a", "an", "the", "any", "some", "two", "three", "several"}
_ABSENT = {"no", "without"}
# "orange" is a colour far more often than a fruit: it counts where it can only be a noun.
_BEFORE_FRUIT = {
    "an",
    "one",
    "the",
    "peeled",
    "sliced",
    "cut",
    "ripe",
    "whole",
    "half",
    "fresh",
    "single",
    "and",
    ",",
}
_AFTER_FRUIT = {"", ".", ",", "on", "in", "sitting", "sits", "that", "next", "beside", "near", "is", "slice", "slices",
                "cut", "with", "to", "half", "halves"}  # fmt: skip


@dataclass(frozen=True)
class Mention:
    """A word or phrase of a caption and the classes any of which it may name."""

    text: str
    classes: tuple[str, ...]
    start: int  # in words: `spans` tells where they stand


@dataclass(frozen=True)
class ClassWords:
    """The table: phrase -> classes; an empty list is a phrase to pass over."""

    classes: tuple[str, ...]
    phrases: dict[str, tuple[str, ...]]
    evidence: dict[str, tuple[str, ...]]  # words too wide to be judged: classes they may stand for in a reference
    longest: dict[str, int]  # first word -> words in the longest phrase that starts with it
    likeness_before: frozenset[str]
    likeness_after: frozenset[str]
    likeness_of: frozenset[str]


@lru_cache(maxsize=1)
def class_words() -> ClassWords:
    data: dict[str, Any] = json.loads(shipped.path("chair", "words.json").read_text("utf-8"))
    longest: dict[str, int] = {}
    for phrase in (*data["words"], *data["evidence"]):
        first, *rest = phrase.split(" ")
        longest[first] = max(longest.get(first, 0), 1 + len(rest))
    return ClassWords(
        tuple(data["classes"]),
        {phrase: tuple(classes) for phrase, classes in data["words"].items()},
        {phrase: tuple(classes) for phrase, classes in data["evidence"].items()},
        longest,
        frozenset(data["likeness_before"]),
        frozenset(data["likeness_after"]),
        frozenset(data["likeness_of"]),
    )


def class_of(label: str) -> tuple[str, ...]:
    """The COCO classes an object's label may mean; none for a label outside them."""
    table = class_words()
    name = canonical(tidy(label))
    return (name,) if name in table.classes else table.phrases.get(name, ())


@lru_cache(maxsize=1 << 16)
def mentions(caption: str, *, evidence: bool = False) -> tuple[Mention, ...]:
    """The objects a caption mentions, in order, each time it does.

    The longest phrase wins ("hot dog" is no dog); a likeness ("toy car", "statue of a horse") and what is said
    to be absent ("no people") are passed over. With `evidence` the reading is the generous one for references:
    likenesses count, and so do words too wide to be judged ("desk", "glass", "fruit").
    """
    tokens = [_bare(token) for token in _TOKEN.findall(caption.lower()) if token != _HYPHEN]
    table, found, place = class_words(), [], 0
    while place < len(tokens):
        length, classes = _longest(tokens, place, table, evidence)
        if classes and not _passed_over(tokens, place, length, table, evidence):
            found.append(Mention(" ".join(tokens[place : place + length]), classes, place))
        place += max(1, length)
    return tuple(found)


def spans(caption: str) -> list[tuple[int, int]]:
    """Letters of the words that a mention's `start` counts: the first, and the one after the last."""
    letters = [place for place, letter in enumerate(caption) for _ in letter.lower()]  # some are two in lower case
    found = [match.span() for match in _TOKEN.finditer(caption.lower()) if match.group() != _HYPHEN]
    return [(letters[start], letters[end - 1] + 1) for start, end in found]


def _bare(token: str) -> str:
    return token[:-2] if token.endswith("'s") else token


def _longest(tokens: list[str], place: int, table: ClassWords, evidence: bool) -> tuple[int, tuple[str, ...]]:
    """Length and classes of the longest phrase of the table that starts here; 0 for none."""
    limit = table.longest.get(tokens[place], 0)
    for length in range(min(limit, len(tokens) - place), 0, -1):
        phrase = " ".join(tokens[place : place + length])
        classes = table.phrases.get(phrase)
        if evidence and not classes:
            classes = table.evidence.get(phrase, classes)
        if classes is not None:
            return length, classes
    if tokens[place] == "orange" and _is_fruit(tokens, place):
        return 1, ("orange",)
    return 0, ()


def _is_fruit(tokens: list[str], place: int) -> bool:
    before = tokens[place - 1] if place else ""
    after = tokens[place + 1] if place + 1 < len(tokens) else ""
    return before in _BEFORE_FRUIT and after in _AFTER_FRUIT


def _passed_over(tokens: list[str], place: int, length: int, table: ClassWords, evidence: bool) -> bool:
    """Whether the phrase is a likeness of the object, or said to be absent."""
    before = place - 1
    after = tokens[place + length] if place + length < len(tokens) else ""
    alike = after in table.likeness_after or (before >= 0 and tokens[before] in table.likeness_before)
    if alike and not evidence:
        return True
    while before >= 0 and tokens[before] in _ARTICLES:
        before -= 1
    if before >= 0 and tokens[before] in _ABSENT:
        return True
    return not evidence and before >= 1 and tokens[before] == "of" and tokens[before - 1] in table.likeness_of
