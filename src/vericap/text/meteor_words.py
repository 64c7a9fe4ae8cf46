"""METEOR's own normalisation of a line (its option -norm, English, punctuation kept) and the words it gives.

The COCO tool hands METEOR captions that the PTB tokeniser has cut already; METEOR then cuts and rewrites them
once more. Most tokens pass unchanged, so a caption is rewritten as a whole only where tokens with signs in
them stand side by side or hold a full stop; elsewhere each distinct token is rewritten once.
"""

from __future__ import annotations

import re
from functools import cache

import numpy as np
from numpy.typing import NDArray

from vericap.core import shipped
from vericap.text.tokens import TokenTable

# Letters that METEOR knows, as ranges of code points; its digits and white space are ASCII.
_LETTERS = "AZ az ŠŠ ŽŽ šš žž ŸŸ ÀÖ Øö øž \u0400\u04ff \u0500\u0527 \ua640\ua66e \ua67e\ua697 \u1d00\u1d7f"
_LETTER = "".join(f"{ends[0]}-{ends[1]}" for ends in _LETTERS.split(" "))
_DIGIT = "0-9"
_KEPT_SIGNS = r".'`,\-‘’"  # signs that stay where they are until a rule below moves them
_LONE_SIGN = re.compile(rf"[^{_DIGIT}{_LETTER} \t\n\x0b\f\r{_KEPT_SIGNS}]")
_ELLIPSIS = re.compile(r"\.{2,}")
_DOT_OF_ELLIPSIS = "\U0010ffff"  # stands for a dot that no other rule may touch
_BLANKS = re.compile("[ \u2000-\u200a\u202f\u205f\u3000\u00a0]+")
_SPLIT = re.compile("[ \t\n\r\f]+")
_CONTROL = "".join(map(chr, range(33)))  # what METEOR trims off a line's ends
_WHOLE_LINE = re.compile(r"[.\x00-\x1f]")  # signs whose effect depends on the neighbours
_ANY_LETTER = re.compile(f"[{_LETTER}]")
_PLAIN = re.compile(r"[a-z0-9]+\Z")

# What happens to a sign between two neighbours: (sign, left neighbour, right neighbour, what takes the sign's place).
# Rules apply one after the other. A neighbour that took part in one replacement takes part in no further one of the
# same rule ("rock'n'roll" is cut once).
_RULE = tuple[str, "re.Pattern[str]", "re.Pattern[str]", str]


def _rule(sign: str, left: str, right: str, instead: str) -> _RULE:
    return sign, re.compile(f"[{left}]"), re.compile(f"[{right}]"), instead


_COMMAS = (
    _rule(",", f"^{_DIGIT}", f"^{_DIGIT}", " , "),
    _rule(",", _DIGIT, f"^{_DIGIT}", " , "),
    _rule(",", f"^{_DIGIT}", _DIGIT, " , "),
)
_HYPHENS = (_rule("-", f"{_DIGIT}{_LETTER}.", f"{_DIGIT}{_LETTER}", " "),)
_APOSTROPHES = (
    _rule("'", f"^{_LETTER}", f"^{_LETTER}", " ' "),
    _rule("'", f"^{_LETTER}{_DIGIT}", _LETTER, " ' "),
    _rule("'", _LETTER, f"^{_LETTER}", " ' "),
    _rule("'", _LETTER, _LETTER, " '"),
    _rule("'", _DIGIT, "s", " '"),
)


def _apply(line: str, rules: tuple[_RULE, ...]) -> str:
    """Replace signs by their neighbours, rule after rule, from left to right."""
    for sign, left, right, instead in rules:
        if sign not in line:
            return line
        parts, done, free, place = [], 0, 0, line.find(sign, 1)
        while 0 < place < len(line) - 1:
            if place > free and left.match(line[place - 1]) and right.match(line[place + 1]):
                parts += [line[done:place], instead]
                done, free = place + 1, place + 2  # the right neighbour is used up
            place = line.find(sign, max(place + 1, free + 1))
        line = "".join([*parts, line[done:]])
    return line


@cache
def _abbreviations() -> tuple[frozenset[str], frozenset[str]]:
    """Words after which a full stop stays: always, and only before a number (METEOR's list)."""
    lines = shipped.path("meteor", "abbreviations.txt").read_text("utf-8").split("\n")
    before_numbers = frozenset(line[:-2] for line in lines if line.endswith(" #"))
    return frozenset(line for line in lines if not line.endswith(" #")), before_numbers


def _full_stop(word: str, following: str) -> str:
    """A word that ends in a full stop, with the stop kept, dropped or cut off."""
    body = word[:-1]
    if "." in body and _ANY_LETTER.search(body):
        return word.replace(".", "")
    always, before_numbers = _abbreviations()
    if body in always or ("a" <= following[:1] <= "z"):
        return word
    if body in before_numbers and "0" <= following[:1] <= "9":
        return word
    return body + " ."


def _pieces(line: str) -> list[str]:
    return [piece for piece in _SPLIT.split(line) if piece]


def normalize(line: str) -> str:
    """A line as METEOR 1.5 rewrites it before it looks for words, in lower case."""
    line = _LONE_SIGN.sub(lambda sign: f" {sign[0]} ", f" {line.strip(_CONTROL)} ")
    line = _ELLIPSIS.sub(lambda dots: f" {_DOT_OF_ELLIPSIS * len(dots[0])} ", line)
    line = _apply(line, _COMMAS)
    for quote in "`‘’":
        line = line.replace(quote, "'")
    for quote in ("“", "”", "''"):
        line = line.replace(quote, ' " ')
    line = _apply(line.replace("–", "-").replace("--", "-"), _HYPHENS)
    pieces = _pieces(_apply(line, _APOSTROPHES))
    for place, (piece, following) in enumerate(zip(pieces, [*pieces[1:], ""])):
        if len(piece) > 1 and piece.endswith("."):
            pieces[place] = _full_stop(piece, following)
    line = " ".join(pieces).replace(_DOT_OF_ELLIPSIS, ".")
    return _BLANKS.sub(" ", line).strip(_CONTROL).lower()


def words(line: str) -> list[str]:
    """The words METEOR finds in a line."""
    return _pieces(normalize(line))


def _needs_whole_line(tokens: TokenTable, kind: NDArray[np.int8]) -> NDArray[np.int64]:
    """Texts with a full stop in a token, or with two unplain tokens side by side."""
    if not len(tokens.ids):
        return np.empty(0, dtype=np.int64)
    kinds = kind[tokens.ids]
    bad = kinds == 2
    pair = (kinds[1:] > 0) & (kinds[:-1] > 0)
    border = np.zeros(len(kinds) + 1, dtype=bool)
    border[tokens.offsets] = True
    bad[1:] |= pair & ~border[1:-1]
    places = np.flatnonzero(bad)
    return np.unique(np.searchsorted(tokens.offsets, places, side="right") - 1)


def meteor_words(tokens: TokenTable) -> TokenTable:
    """The words METEOR sees in texts that were tokenised already (tokens joined by blanks)."""
    vocabulary = tokens.vocabulary
    kind = np.zeros(len(vocabulary), dtype=np.int8)
    pieces: dict[int, list[int]] = {}
    seen = {token: number for number, token in enumerate(vocabulary)}
    for number, token in enumerate(vocabulary):
        if not _PLAIN.match(token):
            kind[number] = 2 if _WHOLE_LINE.search(token) else 1
            own = [seen.setdefault(word, len(seen)) for word in words(token)]
            if own != [number]:
                pieces[number] = own
    if not kind.any():
        return tokens
    whole = _needs_whole_line(tokens, kind)
    rewritten = {
        int(text): [seen.setdefault(word, len(seen)) for word in words(" ".join(tokens[int(text)]))] for text in whole
    }
    expanded = tokens.replaced(pieces, list(seen))
    return _replace(expanded, rewritten) if rewritten else expanded


def _replace(tokens: TokenTable, rewritten: dict[int, list[int]]) -> TokenTable:
    """The same texts with some of them given anew."""
    lengths = tokens.lengths()
    keep = np.ones(len(tokens), dtype=bool)
    keep[list(rewritten)] = False
    kept = tokens.ids[np.repeat(keep, lengths)]
    for text, new in rewritten.items():
        lengths[text] = len(new)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    ids = np.empty(int(offsets[-1]), dtype=np.int32)
    ids[np.repeat(keep, lengths)] = kept
    for text, new in rewritten.items():
        ids[offsets[text] : offsets[text + 1]] = new
    return TokenTable(tokens.vocabulary, offsets, ids)
