"""GiNZA front end: text -> predicate-argument structure, without the parts of the pipeline nobody reads."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from vericap.core.errors import MissingPart, install, require
from vericap.graphs.ja import chunks, heads, roles
from vericap.graphs.ja.pas import Morpheme, ParsedSentence

UNUSED = ("ner", "attribute_ruler", "compound_splitter", "bunsetu_recognizer")
BATCH = 64
LONGEST = 600  # characters analysed in one piece; the dictionary refuses texts beyond some 16,000

_ENDS = re.compile(r"(?<=[。！？!?\n])")


@lru_cache(maxsize=1)
def pipeline() -> Any:
    """The ja_ginza pipeline with tokeniser, parser and morphology only."""
    spacy = require("spacy", "ja", "Japanese parsing")
    require("ginza", "ja", "Japanese parsing")
    require("ja_ginza", "ja", "Japanese parsing")
    try:
        return spacy.load("ja_ginza", exclude=list(UNUSED))
    except OSError as error:
        raise MissingPart(
            f"the Japanese model ja_ginza cannot be loaded ({error}); install it with: {install('ja')}"
        ) from error


def normalize(text: str) -> str:
    """Full-width kana, half-width letters and digits; no blanks between Japanese words."""
    text = unicodedata.normalize("NFKC", text).strip()
    return re.sub(r"(?<=[^\x00-\x7f])[ \t\u3000]+(?=[^\x00-\x7f])", "", text)


def pieces(text: str) -> list[str]:
    """Sentences of a caption, none longer than the analyser takes."""
    found = []
    for part in _ENDS.split(normalize(text)):
        part = part.strip()
        found += [part[i : i + LONGEST] for i in range(0, len(part), LONGEST)]
    return [part for part in found if part]


def analyse(texts: Iterable[str], *, structure: str = "pas") -> Iterator[list[ParsedSentence]]:
    """The sentences of every text, in order; memory does not grow with the number of texts.

    `structure` "dependencies" keeps the parser's heads and overt cases, without the rules that repair and fill them.
    """
    read = _structures if structure == "pas" else _dependencies
    cut = [pieces(text) for text in texts]
    docs = pipeline().pipe((part for parts in cut for part in parts), batch_size=BATCH)
    for parts in cut:
        yield [sentence for _ in parts for sentence in read(next(docs))]


def _structures(doc: Any) -> list[ParsedSentence]:
    """Predicate-argument structure of a parsed text."""
    return [roles.assign(found, heads.resolve(found, hints)) for found, hints in phrases(doc)]


def _dependencies(doc: Any) -> list[ParsedSentence]:
    return [roles.overt(found, hints) for found, hints in phrases(doc)]


def phrases(doc: Any) -> list[tuple[list[chunks.Phrase], list[int]]]:
    """The bunsetsu of each sentence and the heads the parser gives them (-1: none to the right)."""
    words = [
        # English words keep the blank between them; Japanese has none
        Morpheme(
            token.text_with_ws if token.text.isalpha() else token.text,
            token.lemma_,
            token.tag_,
            _inflection(token),
            token.norm_,
        )
        for token in doc
    ]
    parents = [token.head.i for token in doc]
    return [_with_hints(chunks.chunk(words[low:high], offset=low), parents) for low, high in chunks.sentences(words)]


def _inflection(token: Any) -> str:
    found: list[str] = token.morph.get("Inflection")
    return found[0] if found else ""


def _with_hints(found: list[chunks.Phrase], parents: Sequence[int]) -> tuple[list[chunks.Phrase], list[int]]:
    place_of: dict[int, int] = {}
    for place, phrase in enumerate(found):
        place_of.update(dict.fromkeys(range(phrase.start, phrase.start + len(phrase.words)), place))
    hints = [-1] * len(found)
    for word, place in place_of.items():
        target = place_of.get(parents[word], place)
        if target > place:
            hints[place] = target
    return found, hints
