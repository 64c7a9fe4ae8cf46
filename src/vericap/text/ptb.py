"""The Penn Treebank tokeniser as the COCO evaluation tool runs it, without Java.

One deterministic automaton (`data/ptb/table.npz`, built from the rules in `tools/ptb`) cuts a caption into tokens:
the longest match wins. Tokens are lower-cased and the tool's list of punctuation is dropped. Brackets survive the
list as `-lrb-`, `-rrb-`, because the tool compares it after lower-casing; so they do here.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vericap.native import load
from vericap.text.tokens import TokenTable

# What the COCO tool drops after tokenising.
DROPPED = ["''", "'", "``", "`", "-LRB-", "-RRB-", "-LCB-", "-RCB-", ".", "?", "!", ",", ":", "-", "--", "...", ";"]

# The tool reads all captions as one text, so a caption ends before a line that starts like this one.
NEXT_LINE = "A "

DROP, WORD, ASIS, JOINED, ESCAPED, QUOTES, LESS, MORE, AMP, MONEY, POUND, CENTS, HALVES, AMPED = range(14)

_SOFT_HYPHEN = "\u00ad"
_BLANKS = str.maketrans(" ", "\u00a0")
_BRACKETS = str.maketrans({"(": "-lrb-", ")": "-rrb-", "[": "-lsb-", "]": "-rsb-", "{": "-lcb-", "}": "-rcb-"})
_ROUND = str.maketrans({"(": "-lrb-", ")": "-rrb-"})
_ASCII_QUOTES = str.maketrans(
    {
        **dict.fromkeys("\u0091\u2018\u201b\u2039", "`"),
        **dict.fromkeys("\u0092\u2019\u203a", "'"),
        **dict.fromkeys("\u0093\u201c\u00ab", "``"),
        **dict.fromkeys("\u0094\u201d\u00bb", "''"),
    }
)
_CONSTANTS = {LESS: "<", MORE: ">", AMP: "&", MONEY: "$", POUND: "#", CENTS: "cents"}
_HALVES = {"\u00bc": "1/4", "\u00bd": "1/2", "\u00be": "3/4", "\u2153": "1/3", "\u2154": "2/3"}


def shape(action: int, text: str) -> str:
    """The final form of a matched token; empty: no token."""
    if action in _CONSTANTS:
        return _CONSTANTS[action]
    if action == HALVES:
        return _HALVES.get(text, text)
    if action == WORD:
        text = text.replace(_SOFT_HYPHEN, "").replace("&apos;", "'")
    elif action == JOINED:
        text = text.translate(_ROUND).translate(_BLANKS)
    elif action == ESCAPED:
        text = text.translate(_BRACKETS)
    elif action == AMPED:
        text = text.lower().replace("&amp;", "&")
    elif action == QUOTES:
        text = text.replace("&apos;", "'").translate(_ASCII_QUOTES)
    text = text.lower()
    return "" if text in DROPPED else text


@lru_cache(maxsize=1)
def _table() -> dict[str, NDArray[Any]]:
    from vericap.core import shipped

    with np.load(shipped.path("ptb", "table.npz"), allow_pickle=False) as data:
        return {name: np.ascontiguousarray(data[name]) for name in data.files}


def tokens(texts: Sequence[str], *, following: NDArray[np.int64] | None = None) -> TokenTable:
    """Tokens of captions.

    `following` gives, for each text, the number of the text on the next line of the tool's input (-1: unknown). It
    matters to captions that end in a single letter and a full stop ("the letter K."): before a word that often
    starts a sentence ("A", "The") the stop is a token of its own, before others it stays with the letter.
    """
    table = _table()
    kernel = load("ptb")
    if following is None:
        following = np.full(len(texts), -1, dtype=np.int64)
    if kernel is None:
        from vericap.text.ptb_python import run

        return TokenTable.of(run(texts, following.tolist(), table))
    names = ("classes", "moves", "accepts", "mains", "aheads", "actions")
    arrays = [table[name] for name in names]
    width, start = table["moves"].shape[1], int(table["start"][0])
    vocabulary, offsets, ids = kernel.tokenize(
        list(texts), np.ascontiguousarray(following, dtype=np.int64), NEXT_LINE, shape, DROPPED, *arrays, width, start
    )
    return TokenTable(vocabulary, np.frombuffer(offsets, dtype=np.int64), np.frombuffer(ids, dtype=np.int32))
