"""Small closed word lists the Japanese rules need, from `data/japanese/words.txt`; open classes come from JumanDIC."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

_FILE = Path(__file__).resolve().parents[2] / "data" / "japanese" / "words.txt"


@lru_cache(maxsize=1)
def _sections() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    words: list[str] = []
    for line in _FILE.read_text("utf-8").splitlines():
        if line.startswith("["):
            words = found.setdefault(line.strip("[]"), [])
        elif not line.startswith("#"):
            words += line.split()
    return found


def _words(name: str) -> frozenset[str]:
    return frozenset(_sections()[name])


def _pairs(name: str) -> dict[str, str]:
    return {word: other for word, _, other in (pair.partition("=") for pair in _sections()[name])}


PLACE_WORDS = _words("PLACE_WORDS")
MORE_PLACE_WORDS = _words("MORE_PLACE_WORDS")
HELPERS = _words("HELPERS")
SECOND_VERBS = _words("SECOND_VERBS")
DO_VERBS = _words("DO_VERBS")
HOLDING = _words("HOLDING")
TAKES_NI = _words("TAKES_NI")
EXISTENCE = _words("EXISTENCE")
MOTION = _words("MOTION")
SAYING = _words("SAYING")
TRANSITIVE = _words("TRANSITIVE")
OUTER_NOUNS = _words("OUTER_NOUNS")
PLURALS = _words("PLURALS")
HONORIFICS = _words("HONORIFICS")
MANNERS = _words("MANNERS")
QUANTITIES = _words("QUANTITIES")
JOINING = _words("JOINING")
COLOURS = _words("COLOURS")
PATTERNS = _words("PATTERNS")
SILENT_ADNOMINALS = _words("SILENT_ADNOMINALS")
PLACE_SPELLINGS = _pairs("PLACE_SPELLINGS")
CASE_OF = _pairs("CASE_OF")
SPELLINGS = _pairs("SPELLINGS")
