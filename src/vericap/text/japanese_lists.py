"""Small closed lists of Japanese words, from `data/japanese/words.txt`."""

from __future__ import annotations

from functools import cache

from vericap.core.shipped import ROOT


@cache
def _sections() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    words: list[str] = []
    for line in (ROOT / "japanese" / "words.txt").read_text("utf-8").splitlines():
        if line.startswith("["):
            words = found.setdefault(line.strip("[]"), [])
        elif not line.startswith("#"):
            words += line.split()
    return found


def words(name: str) -> frozenset[str]:
    """The words of one list."""
    return frozenset(_sections()[name])


@cache
def pairs(name: str) -> dict[str, str]:
    """A list of `word=other` as a mapping."""
    return {word: other for word, _, other in (pair.partition("=") for pair in _sections()[name])}
