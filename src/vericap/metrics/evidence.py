"""Reasons that metrics over texts share: words with support, scene graphs to draw, lists kept short."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from vericap.core.batch import Batch
from vericap.core.explanation import Explanation, Graph, MissingContent, WordEvidence
from vericap.core.languages import UNSPACED
from vericap.metrics.toolbox import content_words, words_of
from vericap.text.tokens import TokenTable

if TYPE_CHECKING:
    from vericap.graphs.scene_graph import SceneGraph

REFERENCES = "references"  # what support comes from
LIMIT = 3000  # letters of JSON of one row
_NOTE = 60  # letters that tell what was left out
_LEAST = 2  # entries of a list that stay whatever the size
_LISTS = ("matches", "missing", "transport")
_SHORT = 4  # letters of words that are no plural of an unknown one: "this", "wii"

Span = tuple[int, int]


# --- words ------------------------------------------------------------------------------------------------------


def places(text: str, tokens: Sequence[str]) -> list[Span | None]:
    """Where tokens stand in a text, from left to right; None for one that is not written so ("-lrb-").

    A token must follow the one before with nothing but marks and blanks between them, unless that was not found.
    """
    letters, index = _folded(text)
    found: list[Span | None] = []
    here, lost = 0, False
    for token in tokens:
        wanted = token.lower()
        at = letters.find(wanted, here) if wanted else -1
        lost_here = at < 0 or (not lost and any(map(str.isalnum, letters[here:at])))
        found.append(None if lost_here else (index[at], index[at + len(wanted) - 1] + 1))
        here = here if lost_here else at + len(wanted)
        lost = lost_here
    return found


def _folded(text: str) -> tuple[str, Sequence[int]]:
    """Small letters in one width, and the letter of the text that each comes from."""
    if text.isascii():
        return text.lower(), range(len(text))
    pairs = [(letter, i) for i, c in enumerate(text) for letter in unicodedata.normalize("NFKC", c).lower()]
    return "".join(letter for letter, _ in pairs), [i for _, i in pairs]


def token_evidence(
    text: str, tokens: Sequence[str], support: Sequence[float], *, source: str = REFERENCES, lang: str = "en"
) -> tuple[WordEvidence, ...]:
    """The words of a caption with the least support among each one's tokens; None where no token is found."""
    spans = [(*span, value) for span, value in zip(places(text, tokens), support) if span is not None]
    if lang in UNSPACED:  # the words are the tokeniser's
        return tuple(WordEvidence(text[start:end], start, end, value, source) for start, end, value in spans)
    return tuple(
        WordEvidence(word, start, end, min((v for s, e, v in spans if s < end and e > start), default=None), source)
        for word, start, end in words_of(text)
    )


def overlap(batch: Batch, tokens: TokenTable, rows: Sequence[int]) -> list[tuple[WordEvidence, ...]]:
    """The words of some captions, with support 1 where a reference has the word and 0 where none has."""
    found = []
    for row in rows:
        candidate = int(batch.candidates[row])
        theirs = {word for reference in batch.references(row) for word in tokens[int(reference)]}
        own = tokens[candidate]
        support = [float(word in theirs) for word in own]
        found.append(token_evidence(batch.texts[candidate], own, support, lang=batch.settings.lang))
    return found


def claim_evidence(text: str, claims: Iterable[tuple[str, float]]) -> tuple[WordEvidence, ...]:
    """The words of an English caption with the mean grade of the claims that say them; nothing where none is found.

    A claim is what a tuple adds (an object, an attribute, a relation) with its grade; words are found by base form.
    """
    grades: dict[str, list[float]] = {}
    for said, grade in claims:
        for word in said.split():
            grades.setdefault(word, []).append(grade)
    judged = {start: _mean_grade(word, grades) for word, start, _ in content_words(text)}
    if all(support is None for support in judged.values()):
        return ()
    return tuple(WordEvidence(w, start, end, judged.get(start), REFERENCES) for w, start, end in words_of(text))


def _mean_grade(word: str, grades: Mapping[str, list[float]]) -> float | None:
    own = [grade for form in base_forms(word.lower()) for grade in grades.get(form, ())]
    return min(max(sum(own) / len(own), 0.0), 1.0) if own else None


@lru_cache(maxsize=1 << 14)
def base_forms(word: str) -> frozenset[str]:
    """A word and what it may be a form of; a word that WordNet lacks may be a plural ("hoodies")."""
    from vericap.text import wordnet

    known = [form for part in "nva" for form in wordnet.base_forms(word, part)]
    return frozenset([word, *(known or (wordnet.detached(word, "n")[:1] if len(word) > _SHORT else ()))])


# --- tuples -----------------------------------------------------------------------------------------------------


def phrase(parts: Sequence[str]) -> str:
    """A tuple in words: "dog", "dog (brown)", "man (ride)", "man ride horse"."""
    return f"{parts[0]} ({parts[1]})" if len(parts) == 2 else " ".join(parts)


def added(parts: Sequence[str]) -> str:
    """What a tuple says beyond the objects it names: the object, the attribute, the relation."""
    return parts[0] if len(parts) == 1 else parts[1]


def missing_from(phrases: Iterable[str]) -> tuple[MissingContent, ...]:
    """What the references say and the caption does not."""
    return tuple(MissingContent(said, source=REFERENCES) for said in phrases)


def drawn(batch: Batch, graphs: Sequence[SceneGraph], row: int) -> tuple[Graph, ...]:
    """The scene graphs of a caption and of its references, to be drawn under their texts."""
    texts = [int(batch.candidates[row]), *map(int, batch.references(row))]
    return tuple(_graph(batch.texts[text], graphs[text]) for text in texts)


def _graph(title: str, graph: SceneGraph) -> Graph:
    return Graph(title, tuple(graph.objects), tuple(graph.attributes), tuple(graph.relations))


# --- size -------------------------------------------------------------------------------------------------------


def shortened(found: Explanation, *, spare: Collection[str] = (), full: bool = False) -> Explanation:
    """The same reasons in about 3 kB of JSON, unless `full`: first the facts `spare` go, then the ends of long lists.

    Words stay, each of them, and so do parts that the metric promises. How much of a list was left out stands in the
    facts.
    """
    if full or len(json.dumps(found.as_dict())) <= LIMIT:
        return found
    found = replace(found, facts={name: value for name, value in found.facts.items() if name not in spare})
    record = found.as_dict()
    lists = [name for name in _LISTS if name not in found.promised]
    sizes = {name: [len(json.dumps(item)) + 2 for item in record.get(name, ())] for name in lists}
    surplus = len(json.dumps(record)) + _NOTE - LIMIT
    while surplus > 0 and (longest := max(sizes.values(), key=len))[_LEAST:]:
        surplus -= longest.pop()
    left = {name: len(getattr(found, name)) - len(kept) for name, kept in sizes.items()}
    if not any(left.values()):
        return found
    cut = {name: getattr(found, name)[: len(kept)] for name, kept in sizes.items()}
    facts = {**found.facts, "left_out": {name: count for name, count in left.items() if count}}
    return replace(found, **cut, facts=facts)
