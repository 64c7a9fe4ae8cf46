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

from vericap.models import store
from vericap.text.tokens import Tokens

# Letters as METEOR's rules list them; digits are ASCII, so is white space (all but the vertical tab splits).
_LETTER = "A-Za-zŠŽšžŸÀ-ÖØ-öø-žЀ-ӿԀ-ԧꙀ-ꙮ꙾-ꚗᴀ-ᵿ"
_OTHER_SIGN = re.compile(rf"([^0-9{_LETTER} \t\n\x0b\f\r.'`,\-‘’])")
_DOTS = re.compile(r"\.(\.+)")
_DOT_GOES_ON = re.compile(r"DOTMULTI\.([^.])")
_COMMAS = [re.compile(p) for p in (r"([^0-9]),([^0-9])", r"([0-9]),([^0-9])", r"([^0-9]),([0-9])")]
_SINGLE_QUOTE = re.compile("[`‘’]")
_DOUBLE_QUOTE = re.compile("[“”]|''")
_HYPHEN = re.compile(rf"([0-9{_LETTER}.])-([0-9{_LETTER}])")
_APOSTROPHES = [
    (re.compile(rf"([^{_LETTER}])'([^{_LETTER}])"), r"\1 ' \2"),
    (re.compile(rf"([^{_LETTER}0-9])'([{_LETTER}])"), r"\1 ' \2"),
    (re.compile(rf"([{_LETTER}])'([^{_LETTER}])"), r"\1 ' \2"),
    (re.compile(rf"([{_LETTER}])'([{_LETTER}])"), r"\1 '\2"),
    (re.compile(r"([0-9])'(s)"), r"\1 '\2"),
]
_BLANKS = re.compile("[ \u2000-\u200a\u202f\u205f\u3000\u00a0]+")
_SPLIT = re.compile("[ \t\n\r\f]+")
_CONTROL = "".join(map(chr, range(33)))  # what METEOR trims off a line's ends
_WHOLE_LINE = re.compile(r"[.\x00-\x1f]")  # signs whose effect depends on the neighbours
_ANY_LETTER = re.compile(f"[{_LETTER}]")
_PLAIN = re.compile(r"[a-z0-9]+\Z")


@cache
def _abbreviations() -> tuple[frozenset[str], frozenset[str]]:
    """Words after which a full stop stays: always, and only before a number (METEOR's list)."""
    lines = store.path("meteor", "abbreviations.txt").read_text("utf-8").split("\n")
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
    line = _OTHER_SIGN.sub(r" \1 ", f" {line.strip(_CONTROL)} ")
    line = _DOTS.sub(r" DOTMULTI\1", line)
    while "DOTMULTI." in line:
        line = _DOT_GOES_ON.sub(r"DOTDOTMULTI \1", line).replace("DOTMULTI.", "DOTDOTMULTI")
    for comma in _COMMAS:
        line = comma.sub(r"\1 , \2", line)
    line = _DOUBLE_QUOTE.sub(' " ', _SINGLE_QUOTE.sub("'", line))
    line = _HYPHEN.sub(r"\1 \2", line.replace("–", "-").replace("--", "-"))
    for apostrophe, instead in _APOSTROPHES:
        line = apostrophe.sub(instead, line)
    pieces = _pieces(line)
    for place, (piece, following) in enumerate(zip(pieces, [*pieces[1:], ""])):
        if len(piece) > 1 and piece.endswith("."):
            pieces[place] = _full_stop(piece, following)
    line = "".join(f"{piece} " for piece in pieces)
    while "DOTDOTMULTI" in line:
        line = line.replace("DOTDOTMULTI", "DOTMULTI.")
    return _BLANKS.sub(" ", line.replace("DOTMULTI", ".")).strip(_CONTROL).lower()


def words(line: str) -> list[str]:
    """The words METEOR finds in a line."""
    return _pieces(normalize(line))


def _expand(tokens: Tokens, pieces: list[list[int]], vocabulary: list[str]) -> Tokens:
    """Put every token's words in its place."""
    counts = np.array([len(piece) for piece in pieces], dtype=np.int64)
    flat = np.array([number for piece in pieces for number in piece], dtype=np.int32)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    if not len(tokens.ids):
        return Tokens(vocabulary, tokens.offsets, tokens.ids)
    lengths = counts[tokens.ids]
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    within = np.arange(ends[-1]) - np.repeat(ends[:-1], lengths)
    return Tokens(vocabulary, ends[tokens.offsets], flat[np.repeat(starts[tokens.ids], lengths) + within])


def _needs_whole_line(tokens: Tokens, kind: NDArray[np.int8]) -> NDArray[np.int64]:
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


def meteor_words(tokens: Tokens) -> Tokens:
    """The words METEOR sees in texts that were tokenised already (tokens joined by blanks)."""
    vocabulary = tokens.vocabulary
    kind = np.zeros(len(vocabulary), dtype=np.int8)
    pieces: list[list[int]] = []
    seen = {token: number for number, token in enumerate(vocabulary)}
    for number, token in enumerate(vocabulary):
        if _PLAIN.match(token):
            pieces.append([number])
        else:
            kind[number] = 2 if _WHOLE_LINE.search(token) else 1
            pieces.append([seen.setdefault(word, len(seen)) for word in words(token)])
    if not kind.any():
        return tokens
    whole = _needs_whole_line(tokens, kind)
    rewritten = {
        int(text): [seen.setdefault(word, len(seen)) for word in words(" ".join(tokens[int(text)]))]
        for text in whole
    }
    expanded = _expand(tokens, pieces, list(seen))
    return _replace(expanded, rewritten) if rewritten else expanded


def _replace(tokens: Tokens, rewritten: dict[int, list[int]]) -> Tokens:
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
    return Tokens(tokens.vocabulary, offsets, ids)
