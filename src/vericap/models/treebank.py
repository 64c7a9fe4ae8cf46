"""Words as NLTK's `word_tokenize` cuts captions: for models whose vocabulary was made with it (the public SCAN).

Written from its documented conventions (Penn Treebank): marks stand alone, a comma or colon inside a number does not,
contractions are two words, quotes become `` and ''. Abbreviations that end in a dot are few in captions: those below.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

Piece = tuple[str, int, int]  # word, and its letters in the text
_MARK = re.compile(r"\.{2,}|--|[;@#$%&?!*()\[\]{}<>\"]|[,:](?!\d)")
_CLITIC = re.compile(r"(?<=[^'])(?:'ll|'re|'ve|n't|'s|'m|'d|')$")
_SPLIT = {"cannot": 3, "gimme": 3, "gonna": 3, "gotta": 3, "lemme": 3, "wanna": 3, "'tis": 2, "'twas": 2}
_DOTTED = frozenset(("mr.", "mrs.", "ms.", "dr.", "st.", "vs.", "no.", "jr.", "sr."))


def pieces(text: str) -> list[Piece]:
    """Words of a lower-cased text with their letters.

    >>> [word for word, _, _ in pieces("A dog can't jump, it's 3.5 feet high.")]
    ['a', 'dog', 'ca', "n't", 'jump', ',', 'it', "'s", '3.5', 'feet', 'high', '.']
    """
    lowered = text.lower()
    if len(lowered) != len(text):  # a few letters change their length: places would be wrong
        lowered = "".join(letter.lower() if len(letter.lower()) == 1 else letter for letter in text)
    chunks = list(re.finditer(r"\S+", lowered))
    return [piece for chunk in chunks for piece in _chunk(chunk.group(), chunk.start(), chunk is chunks[-1])]


def _chunk(chunk: str, start: int, last: bool) -> Iterator[Piece]:
    """Words of what stands between two blanks."""
    end = 0
    for mark in _MARK.finditer(chunk):
        yield from _word(chunk[end : mark.start()], start + end, False)
        yield _quoted(mark.group(), mark.start() == 0), start + mark.start(), start + mark.end()
        end = mark.end()
    # A dot before closing marks ends the text too.
    yield from _word(chunk[end:], start + end, last)


def _quoted(mark: str, opening: bool) -> str:
    return mark if mark != '"' else "``" if opening else "''"


def _word(word: str, start: int, last: bool) -> Iterator[Piece]:
    """A word without its dot and its clitic; a dot inside or after an abbreviation stays."""
    dot = len(word) > 1 and word.endswith(".") and (last or ("." not in word[:-1] and word not in _DOTTED))
    stem = word[:-1] if dot else word
    clitic = _CLITIC.search(stem)
    cut = clitic.start() if clitic else _SPLIT.get(stem, len(stem))
    for first, end in ((0, cut), (cut, len(stem)), (len(stem), len(word))):
        if end > first:
            yield word[first:end], start + first, start + end
