"""Analysis `graphs`: the scene graph of every distinct text, parsed once and kept on disk."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from vericap.errors import VericapError
from vericap.graphs.scene_graph import SceneGraph
from vericap.run.batch import Batch, Settings
from vericap.run.cache import Cache, key
from vericap.run.progress import Bar, chunks

_CHUNK = 2048  # texts parsed, stored and reported at once
_WORTH_PROCESSES = 2 * _CHUNK  # fewer texts are parsed before the processes have started

Parser = Callable[[Sequence[str]], list[SceneGraph]]


def analyse(batch: Batch, *, parser: str = "") -> list[SceneGraph]:
    """Scene graphs of the batch's texts, in the run's language.

    English is parsed by the shipped spaCy pipeline unless `parser`, `settings.extra["parser"]` or the environment
    variable VERICAP_PARSER names another one.
    """
    return parse_texts(batch.texts, batch.settings, parser=parser)


def of(batch: Batch, *, parser: str = "") -> list[SceneGraph]:
    """The batch's graphs by the default parser or by a named one, each computed once."""
    name = f"graphs:{parser}" if parser else "graphs"
    if parser and name not in batch._analyses:
        batch.provide(name, analyse(batch, parser=parser))
    graphs: list[SceneGraph] = batch.analysis(name)
    return graphs


def chosen_parser(settings: Settings, parser: str = "") -> str:
    """The spaCy pipeline that English is parsed with."""
    from vericap.graphs.english import SHIPPED

    return parser or settings.extra.get("parser") or os.environ.get("VERICAP_PARSER") or SHIPPED


def parser_name(settings: Settings, parser: str = "") -> str:
    """Parser and version of its rules, for signatures and cache keys."""
    if settings.lang == "en":
        from vericap.graphs import english

        return english.name(chosen_parser(settings, parser))
    from vericap.graphs import japanese

    return f"ja+rules-{japanese.VERSION}"


def parse_texts(texts: Sequence[str], settings: Settings, *, parser: str = "") -> list[SceneGraph]:
    """Scene graphs of texts, read from the cache where they are there."""
    work = _parser_of(settings, parser)
    cache = Cache(f"graphs-{settings.lang}", settings.cache)
    version = parser_name(settings, parser)
    keys = [key(version, text) for text in texts]
    stored = cache.get(keys)
    graphs: list[SceneGraph | None] = [SceneGraph.unpack(stored[k]) if k in stored else None for k in keys]
    missing = [place for place, graph in enumerate(graphs) if graph is None]
    with Bar(what="parsing captions", total=len(missing), show=settings.progress) as bar:
        parts = list(chunks(missing, _CHUNK))
        for part, found in zip(parts, _parse(work, [[texts[i] for i in part] for part in parts], settings)):
            for place, graph in zip(part, found):
                graphs[place] = graph
            cache.put((keys[place], graph.pack()) for place, graph in zip(part, found))
            bar.advance(len(part))
    cache.close()
    return [graph for graph in graphs if graph is not None]


def _parser_of(settings: Settings, parser: str) -> Parser:
    if settings.lang == "en":
        from vericap.graphs import english

        return partial(english.parse_many, parser=chosen_parser(settings, parser))
    if settings.lang == "ja":
        from vericap.graphs import japanese

        return japanese.parse_many
    raise VericapError(
        f"scene graphs are made for English (en) and Japanese (ja), not for '{settings.lang}'; choose with --lang"
    )


def _parse(work: Parser, parts: list[list[str]], settings: Settings) -> Iterator[list[SceneGraph]]:
    """Parse part by part, in several processes where that pays."""
    if settings.workers < 2 or sum(map(len, parts)) < _WORTH_PROCESSES:
        yield from map(work, parts)
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    # Fresh processes: forked copies of threads that ONNX Runtime may have started would hang.
    with ProcessPoolExecutor(settings.workers, mp_context=get_context("spawn")) as pool:
        yield from pool.map(work, parts)
