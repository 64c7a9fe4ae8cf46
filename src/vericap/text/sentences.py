"""Where the sentences of an English text begin and end."""

from __future__ import annotations

import re
from collections.abc import Iterator

_END = re.compile(r"[.!?…。！？]+[\"'”’)\]]*(?=\s|$)|\n+")
_ABBREVIATIONS = "mr mrs ms dr st vs jr sr etc e.g i.e inc co ave u.s a.m p.m"
_DOTTED = frozenset(_ABBREVIATIONS.split())
_INITIAL = re.compile(r"(?:^|\W)[b-hj-z]$")  # "J. Smith", but not "plan a." or "and I."
_NUMBER = re.compile(r"\s+\d")  # behind "no."


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Places of the sentences of a text, marks at their ends included; those without a letter or digit are none.

    >>> text = "Mr. Hill holds a dog. It's big!"
    >>> [text[start:end] for start, end in sentence_spans(text)]
    ['Mr. Hill holds a dog.', "It's big!"]
    """
    found = []
    for start, _, end in sentence_bounds(text):
        inside = text[start:end]
        if any(map(str.isalnum, inside)):
            found.append((start + len(inside) - len(inside.lstrip()), start + len(inside.rstrip())))
    return found


def sentence_bounds(text: str) -> Iterator[tuple[int, int, int]]:
    """Where every stretch of a text begins, where the marks at its end begin, and where they end.

    >>> list(sentence_bounds("Go! Now"))
    [(0, 2, 3), (3, 7, 7)]
    """
    begin = 0
    for match in _END.finditer(text):
        if match.group() == "." and _abbreviated(text[begin : match.start()].lower(), text, match.end()):
            continue
        yield begin, match.start(), match.end()
        begin = match.end()
    yield begin, len(text), len(text)


def _abbreviated(before: str, text: str, end: int) -> bool:
    """Whether a dot belongs to the word before it."""
    word = before.rpartition(" ")[2]
    return word in _DOTTED or bool(_INITIAL.search(before)) or (word == "no" and bool(_NUMBER.match(text, end)))
