"""Which words a metric calls unsupported: one rule for the terminal, the report and the served page."""

from __future__ import annotations

from vericap.core.explanation import Explanation, WordEvidence
from vericap.text.stopwords import ENGLISH

UNSUPPORTED = 0.3  # support below which a word is unsupported where a metric has no threshold of its own
DOUBTED = "doubted"  # the fact of a metric with a threshold of its own: where the words begin that lie below it
LANGUAGE = "language"  # the source of support that says how a text reads, not whether it is true


def judged(found: Explanation) -> dict[tuple[int, int], bool]:
    """Words that a metric judged by image or references, by start and end: whether it calls them unsupported.

    >>> words = (WordEvidence("a", 0, 1, 0.1), WordEvidence("dog", 2, 5, 0.4), WordEvidence("runs", 6, 10))
    >>> judged(Explanation("chair", words=words)), judged(Explanation("verdict", words=words, facts={"doubted": [2]}))
    ({(2, 5): False}, {(0, 1): False, (2, 5): True})
    """
    doubted = found.facts.get(DOUBTED)
    return {
        (word.start, word.end): _below(word) if doubted is None else word.start in doubted
        for word in found.words
        if word.support is not None
        and word.source != LANGUAGE
        and (doubted is not None or word.text.lower() not in ENGLISH)
    }


def _below(word: WordEvidence) -> bool:
    return word.support is not None and word.support < UNSUPPORTED


def unsupported(found: Explanation) -> list[str]:
    """The words that a metric calls unsupported, as they are written."""
    verdicts = judged(found)
    return [word.text for word in found.words if verdicts.get((word.start, word.end))]


def unlikely(found: Explanation) -> list[str]:
    """The words that do not read well by a metric that reads the text alone."""
    return [word.text for word in found.words if word.source == LANGUAGE and _below(word)]
