"""Japanese captions -> scene graphs (JaSPICE), with GiNZA or from KNP's output."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from vericap.core.errors import InputError
from vericap.graphs.ja import rules
from vericap.graphs.ja.options import DEFAULT, GraphOptions
from vericap.graphs.ja.pas import ParsedSentence
from vericap.graphs.scene_graph import SceneGraph

VERSION = "5"  # part of cache keys: raise it when the rules change

_JAPANESE = re.compile(r"[\u3041-\u30ff\u3400-\u9fff\uf900-\ufaff\uff66-\uff9f々〆]")


def name(options: str = "") -> str:
    """Model, version of the rules and switches, for signatures and cache keys: "ja_ginza-5.3.0+rules-5"."""
    from importlib import metadata

    switches = f"({options})" if options else ""
    try:
        return f"ja_ginza-{metadata.version('ja_ginza')}+rules-{VERSION}{switches}"
    except metadata.PackageNotFoundError:
        return f"ja_ginza+rules-{VERSION}{switches}"


def parse(text: str, *, options: GraphOptions = DEFAULT) -> SceneGraph:
    """The scene graph of one caption.

    >>> parse("机の上に赤いカップがある").tuples()  # doctest: +SKIP
    [('机',), ('カップ',), ('カップ', '赤い'), ('カップ', 'ある', '机'), ('机', '上', 'カップ')]
    """
    return parse_many([text], options=options)[0]


def parse_many(texts: Sequence[str], *, options: GraphOptions = DEFAULT) -> list[SceneGraph]:
    """Scene graphs of many captions; a text that is not Japanese gives an empty graph with the reason."""
    from vericap.graphs.ja import ginza

    usable = [place for place, text in enumerate(texts) if _JAPANESE.search(text)]
    graphs = [SceneGraph(reason=_why_not(text)) for text in texts]
    parsed = ginza.analyse((texts[place] for place in usable), structure=options.structure)
    for place, sentences in zip(usable, parsed):
        graphs[place] = graph(sentences, options=options)
    return graphs


def graph(sentences: Iterable[ParsedSentence], *, options: GraphOptions = DEFAULT) -> SceneGraph:
    """The scene graph of analysed sentences (from either front end)."""
    found = rules.tuples(sentences, options=options)
    return SceneGraph.of(found, reason="" if found else "the text names no object: no noun was found")


def parse_knp(output: Any, *, options: GraphOptions = DEFAULT) -> list[SceneGraph]:
    """Scene graphs from what `knp -tab` printed (text, or a rhoknp Document or Sentence), one per sentence."""
    from vericap.graphs.ja import knp

    return [graph([sentence], options=options) for sentence in knp.read(output)]


def graphs_from_knp(file: Path, texts: Sequence[str], *, options: GraphOptions = DEFAULT) -> list[SceneGraph]:
    """The scene graphs of captions, each looked up by its sentences in a file of KNP's output."""
    from vericap.graphs.ja import ginza, knp

    try:
        output = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: KNP's output cannot be read ({error}); it must be UTF-8 text") from error
    known = {_plain(surface): sentence for surface, sentence in knp.read_with_text(output)}
    graphs = []
    for text in texts:
        parts = [_plain(part) for part in ginza.pieces(text)]
        missing = next((part for part in parts if part not in known), None)
        if missing is not None:
            raise InputError(f"{file}: no KNP analysis of {missing!r}; run jumanpp and knp over every caption")
        found = [known[part] for part in parts]
        graphs.append(graph(found, options=options) if parts else SceneGraph(reason=_why_not(text)))
    return graphs


def _plain(text: str) -> str:
    """A sentence without width, blanks and its full stop: KNP is often fed without them."""
    return re.sub(r"[\s。]", "", unicodedata.normalize("NFKC", text))


def structures(texts: Sequence[str]) -> Iterator[list[ParsedSentence]]:
    """Predicate-argument structures of captions, for those who want to look below the graph."""
    from vericap.graphs.ja import ginza

    return ginza.analyse(texts)


def _why_not(text: str) -> str:
    if not text.strip():
        return "the text is empty"
    return "the text has no Japanese characters (kana or kanji)"
