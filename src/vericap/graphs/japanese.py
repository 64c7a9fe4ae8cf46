"""Japanese captions -> scene graphs (JaSPICE), with GiNZA or from KNP's output."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from vericap.graphs.ja import rules
from vericap.graphs.ja.pas import Sentence
from vericap.graphs.scene_graph import SceneGraph

VERSION = "1"  # part of cache keys: raise it when the rules change

_JAPANESE = re.compile(r"[\u3041-\u30ff\u3400-\u9fff\uf900-\ufaff\uff66-\uff9f々〆]")


def parse(text: str) -> SceneGraph:
    """The scene graph of one caption."""
    return parse_many([text])[0]


def parse_many(texts: Sequence[str], *, zero_pronouns: bool = True) -> list[SceneGraph]:
    """Scene graphs of many captions; a text that is not Japanese gives an empty graph with the reason."""
    from vericap.graphs.ja import ginza

    usable = [place for place, text in enumerate(texts) if _JAPANESE.search(text)]
    graphs = [SceneGraph(reason=_why_not(text)) for text in texts]
    parsed = ginza.analyse(texts[place] for place in usable)
    for place, sentences in zip(usable, parsed):
        graphs[place] = graph(sentences, zero_pronouns=zero_pronouns)
    return graphs


def graph(sentences: Iterable[Sentence], *, zero_pronouns: bool = True) -> SceneGraph:
    """The scene graph of analysed sentences (from either front end)."""
    found = rules.tuples(sentences, zero_pronouns=zero_pronouns)
    return SceneGraph.of(found, reason="" if found else "no noun, verb or adjective was found in the text")


def structures(texts: Sequence[str]) -> Iterator[list[Sentence]]:
    """Predicate-argument structures of captions, for those who want to look below the graph."""
    from vericap.graphs.ja import ginza

    return ginza.analyse(texts)


def _why_not(text: str) -> str:
    if not text.strip():
        return "the text is empty"
    return "the text has no Japanese characters (kana or kanji)"
