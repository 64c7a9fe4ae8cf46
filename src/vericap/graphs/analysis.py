"""Analysis `graphs`: the scene graph of every distinct text, parsed once and kept on disk."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import overload

from vericap.errors import VericapError
from vericap.graphs.scene_graph import SceneGraph
from vericap.run.batch import Batch, Settings
from vericap.run.cache import Cache, key
from vericap.run.progress import Bar, chunks

_CHUNK = 1024  # texts parsed, stored and reported at once
_WORTH_PROCESSES = 4 * _CHUNK  # fewer texts are parsed before the processes have started

Parser = Callable[[Sequence[str]], list[bytes]]


class Graphs(Sequence[SceneGraph]):
    """Scene graphs of many texts in packed form (some 150 bytes each), unpacked when asked for."""

    def __init__(self, packed: list[bytes]) -> None:
        self._packed = packed

    def __len__(self) -> int:
        return len(self._packed)

    @overload
    def __getitem__(self, place: int) -> SceneGraph: ...
    @overload
    def __getitem__(self, place: slice) -> Graphs: ...
    def __getitem__(self, place: int | slice) -> SceneGraph | Graphs:
        if isinstance(place, slice):
            return Graphs(self._packed[place])
        return SceneGraph.unpack(self._packed[place])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]


def analyse(batch: Batch, *, parser: str = "") -> Graphs:
    """Scene graphs of the batch's texts, in the run's language.

    English is parsed by the shipped spaCy pipeline unless `parser`, `settings.extra["parser"]` or the environment
    variable VERICAP_PARSER names another one.
    """
    return parse_texts(batch.texts, batch.settings, parser=parser)


def of(batch: Batch, *, parser: str = "") -> Sequence[SceneGraph]:
    """The batch's graphs by the default parser or by a named one, each computed once."""
    name = f"graphs:{parser}" if parser else "graphs"
    if parser and name not in batch._analyses:
        batch.provide(name, analyse(batch, parser=parser))
    graphs: Sequence[SceneGraph] = batch.analysis(name)
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

    return japanese.name()


def parse_texts(texts: Sequence[str], settings: Settings, *, parser: str = "") -> Graphs:
    """Scene graphs of texts, read from the cache where they are there."""
    work = _parser_of(settings, parser)
    cache = Cache(f"graphs-{settings.lang}", settings.cache)
    version = parser_name(settings, parser)
    keys = [key(version, text) for text in texts]
    stored = cache.get(keys)
    packed = [stored.get(k, b"") for k in keys]
    missing = [place for place, data in enumerate(packed) if not data]
    with Bar(what="parsing captions", total=len(missing), show=settings.progress) as bar:
        parts = list(chunks(missing, _CHUNK))
        for part, found in zip(parts, _parse(work, [[texts[i] for i in part] for part in parts], settings)):
            for place, data in zip(part, found):
                packed[place] = data
            cache.put((keys[place], packed[place]) for place in part)
            bar.advance(len(part))
    cache.close()
    return Graphs(packed)


def _packed(parse_many: Callable[[Sequence[str]], list[SceneGraph]], texts: Sequence[str]) -> list[bytes]:
    return [graph.pack() for graph in parse_many(texts)]


def _parser_of(settings: Settings, parser: str) -> Parser:
    if settings.lang == "en":
        from vericap.graphs import english

        return partial(_packed, partial(english.parse_many, parser=chosen_parser(settings, parser)))
    if settings.lang == "ja":
        from vericap.graphs import japanese

        return partial(_packed, japanese.parse_many)
    raise VericapError(
        f"scene graphs are made for English (en) and Japanese (ja), not for '{settings.lang}'; choose with --lang"
    )


def _parse(work: Parser, parts: list[list[str]], settings: Settings) -> Iterator[list[bytes]]:
    """Parse part by part, in several processes where that pays."""
    if settings.workers < 2 or sum(map(len, parts)) < _WORTH_PROCESSES:
        yield from map(work, parts)
        return
    from concurrent.futures import Future, ProcessPoolExecutor
    from multiprocessing import get_context

    # Fresh processes: forked copies of threads that ONNX Runtime may have started would hang. This process takes
    # its share of the parts, so that nobody waits while the others load their pipeline.
    helpers = settings.workers - 1
    with ProcessPoolExecutor(helpers, mp_context=get_context("spawn")) as pool:
        given: dict[int, Future[list[bytes]]] = {}
        own: dict[int, list[bytes]] = {}
        untouched = iter(range(len(parts)))
        for number in range(len(parts)):
            while number not in own and not (number in given and given[number].done()):
                for place in islice(untouched, max(0, 2 * helpers - sum(not f.done() for f in given.values()))):
                    given[place] = pool.submit(work, parts[place])
                mine = next(untouched, None)
                if mine is None:
                    break
                own[mine] = work(parts[mine])
            yield own.pop(number) if number in own else given.pop(number).result()
