"""Which of the 80 COCO classes a caption mentions, by a table of words and phrases."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from vericap.core import shipped
from vericap.vision.caption_words import (
    CaptionWords,
    bare,
    is_fruit,
    listed_with,
    negated,
    other_sense,
    word_set,
)
from vericap.vision.objects import canonical, tidy

_ARTICLES = word_set("a an the any some two three several")


@dataclass(frozen=True)
class Mention:
    """A word or phrase of a caption, the classes any of which it may name, and the letters where it stands."""

    text: str
    classes: tuple[str, ...]
    start: int
    end: int


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
    phrases, evidence = (
        {" ".join(map(bare, phrase.split())): tuple(classes) for phrase, classes in data[name].items()}
        for name in ("words", "evidence")
    )
    longest: dict[str, int] = {}
    for phrase in (*phrases, *evidence):
        first, *rest = phrase.split(" ")
        longest[first] = max(longest.get(first, 0), 1 + len(rest))
    return ClassWords(
        tuple(data["classes"]),
        phrases,
        evidence,
        longest,
        frozenset(data["likeness_before"]),
        frozenset(data["likeness_after"]),
        frozenset(data["likeness_of"]),
    )


def table_version() -> str:
    """The version of the table of words, for signatures."""
    return str(shipped.meta("chair")["version"])


def class_of(label: str) -> tuple[str, ...]:
    """The COCO classes an object's label may mean; none for a label outside them.

    >>> class_of("sofa"), class_of("dining-table"), class_of("unicorn")
    (('couch',), ('dining table',), ())
    """
    table = class_words()
    name = canonical(tidy(label))
    return (name,) if name in table.classes else table.phrases.get(name, ())


@lru_cache(maxsize=1 << 16)
def mentions(caption: str, *, evidence: bool = False) -> tuple[Mention, ...]:
    """The objects an English caption mentions, in order, each time it does.

    The longest phrase wins ("hot dog" is no dog). Passed over are likenesses ("toy car", "statue of a horse"), what is
    said to be absent ("isn't a dog", "no cars or people"), other senses ("they tie a knot", "a remote island"), parts
    of compounds ("a giraffe-patterned sofa") and owners ("the dog's bowl"; "a man's hand" shows the man). With
    `evidence` the reading is the generous one for references: all but what is absent and other senses counts, and so
    do words too wide to be judged ("desk", "glass", "fruit").

    >>> [mention.text for mention in mentions("A man eats a hot dog; there isn't a dog.")]
    ['man', 'hot dog']
    """
    words = CaptionWords.of(caption)
    found: list[Mention] = []
    for mention in _read(words, class_words(), evidence):
        if found and found[-1].classes == mention.classes and caption[found[-1].end : mention.start].isspace():
            # Two names side by side are one object's: "a tabby cat", "a husky dog".
            mention = Mention(f"{found[-1].text} {mention.text}", mention.classes, found.pop().start, mention.end)
        found.append(mention)
    return tuple(found)


def _read(words: CaptionWords, table: ClassWords, evidence: bool) -> Iterator[Mention]:
    place, absent = 0, -1  # where the last name ends that is said to be absent
    while place < len(words.tokens):
        if words.tokens[place] not in table.longest:
            place += 1
            continue
        length, classes = _longest(words, place, table, evidence)
        if classes:
            end = place + length
            if negated(words, place, length, table.phrases) or (absent >= 0 and listed_with(words, absent, place)):
                absent = end
            else:
                absent = -1
                if not _passed_over(words, place, length, table, evidence):
                    yield Mention(" ".join(words.tokens[place:end]), classes, *words.span(place, length))
        place += max(1, length)


def _longest(words: CaptionWords, place: int, table: ClassWords, evidence: bool) -> tuple[int, tuple[str, ...]]:
    """Length and classes of the longest phrase of the table that starts here; 0 for none."""
    tokens = words.tokens
    limit = table.longest[tokens[place]]
    for length in range(min(limit, len(tokens) - place), 0, -1):
        phrase = " ".join(tokens[place : place + length])
        classes = table.phrases.get(phrase)
        if evidence and not classes:
            classes = table.evidence.get(phrase, classes)
        if classes is not None:
            return length, classes
    if tokens[place] == "orange" and is_fruit(words, place, table.phrases):
        return 1, ("orange",)
    return 0, ()


def _passed_over(words: CaptionWords, place: int, length: int, table: ClassWords, evidence: bool) -> bool:
    """Whether the phrase is no object that the caption says is there."""
    if other_sense(words, place, length):
        return not (evidence and words.owning[place + length - 1])
    return not evidence and _is_likeness(words, place, length, table)


def _is_likeness(words: CaptionWords, place: int, length: int, table: ClassWords) -> bool:
    if words.at(place + length) in table.likeness_after or words.at(place - 1) in table.likeness_before:
        return True
    before = place - 1
    while words.at(before) in _ARTICLES:
        before -= 1
    return words.at(before) == "of" and words.at(before - 1) in table.likeness_of
