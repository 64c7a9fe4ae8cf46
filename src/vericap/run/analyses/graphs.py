"""Scene graphs of texts, parsed once and kept on disk, and the vectors of their phrases."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from vericap.core.analysis import Analysis, Key
from vericap.core.batch import Batch
from vericap.core.errors import VericapError
from vericap.core.keys import content_key
from vericap.core.settings import Settings
from vericap.core.typing import Floats32
from vericap.graphs.scene_graph import OWN, PackedGraphs, SceneGraph
from vericap.run.progress import chunks

if TYPE_CHECKING:
    from vericap.run.runtime import Runtime

_CHUNK = 1024  # texts parsed, stored and reported at once
_WORTH_PROCESSES = 4 * _CHUNK  # fewer texts are parsed before the processes have started

Parse = Callable[[Sequence[str]], list[bytes]]


@dataclass(frozen=True)
class Graphs(Analysis[Sequence[SceneGraph]]):
    """Scene graphs of all texts, by the language's parser or by a named spaCy pipeline (English).

    With `talk`, English graphs keep talk about the picture ("the image features").
    """

    lang: str = "en"
    parser: str = ""
    talk: bool = False
    cost: ClassVar[int] = 250

    @classmethod
    def of(cls, settings: Settings, parser: str = "", *, talk: bool = False) -> Graphs:
        """The graphs of a run: `parser`, the run's, or the environment's VERICAP_PARSER, else the shipped one."""
        if settings.lang != "en":
            return cls(settings.lang)
        return cls("en", parser or settings.parser or os.environ.get("VERICAP_PARSER", ""), talk)

    def compute(self, batch: Batch, runtime: Runtime) -> PackedGraphs:
        return parse_texts(batch.texts, runtime, lang=self.lang, parser=self.parser, talk=self.talk)

    def signature(self, batch: Batch) -> dict[str, str]:
        return {"graphs": parser_name(self.lang, self.parser, talk=self.talk)}


@dataclass(frozen=True)
class KnpGraphs(Analysis[Sequence[SceneGraph]]):
    """Scene graphs of Japanese texts from a file of KNP's output; `options` are the switches of the rules."""

    file: str
    options: str = ""
    cost: ClassVar[int] = 2000

    def compute(self, batch: Batch, runtime: Runtime) -> list[SceneGraph]:
        from vericap.graphs import japanese
        from vericap.graphs.ja.options import GraphOptions

        return japanese.graphs_from_knp(Path(self.file), batch.texts, options=GraphOptions.read(self.options))

    def signature(self, batch: Batch) -> dict[str, str]:
        from vericap.graphs import japanese

        switches = f"({self.options})" if self.options else ""
        return {"graphs": f"knp+rules-{japanese.VERSION}{switches}"}


@dataclass(frozen=True)
class PhraseTable:
    """Unit vectors of the distinct phrases of many graphs ("horse", "brown horse", "man ride horse")."""

    place: dict[str, int]
    vectors: Floats32

    def __getitem__(self, phrases: Sequence[str]) -> Floats32:
        return self.vectors[[self.place[phrase] for phrase in phrases]]


@dataclass(frozen=True)
class PhraseVectors(Analysis[PhraseTable]):
    """Vectors of all phrases of the texts' scene graphs, after what all phrases share is taken away."""

    graphs: Graphs
    encoder: str = "captions"
    cost: ClassVar[int] = 5000  # about three phrases of a caption are its own

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        return (self.graphs,)

    def compute(self, batch: Batch, runtime: Runtime) -> PhraseTable:
        graphs = batch[self.graphs]
        phrases = dict.fromkeys(phrase for graph in graphs for phrase in graph.phrases(full=True))
        place = {phrase: number for number, phrase in enumerate(phrases)}
        return PhraseTable(place, runtime.encoder(self.encoder).phrases(list(place)))

    def signature(self, batch: Batch) -> dict[str, str]:
        from vericap.text.encoders import encoder_name

        return {"encoder": encoder_name(self.encoder)}


# --- parsing ----------------------------------------------------------------------------------------------------


def parser_name(lang: str = "en", parser: str = "", *, talk: bool = False, convention: str = "") -> str:
    """Parser and version of its rules, for signatures and cache keys."""
    if lang == "en":
        from vericap.graphs import english

        return english.name(parser or english.SHIPPED, talk=talk, convention=convention or OWN)
    from vericap.graphs import japanese

    return japanese.name(parser)


def parse_texts(
    texts: Sequence[str],
    runtime: Runtime,
    *,
    lang: str = "en",
    parser: str = "",
    talk: bool = False,
    convention: str = "",
) -> PackedGraphs:
    """Scene graphs of texts, read from the cache where they are there.

    `talk` and `convention` are of English: see `vericap.graphs.english.parse`.
    """
    work = _parser_of(lang, parser, talk, convention)
    cache = runtime.cache.part(f"graphs-{lang}")
    version = parser_name(lang, parser, talk=talk, convention=convention)
    keys = [content_key(version, text) for text in texts]
    stored = cache.get(keys)
    packed = [stored.get(key, b"") for key in keys]
    missing = [place for place, data in enumerate(packed) if not data]
    with runtime.bar("parsing captions", len(missing)) as bar:
        parts = list(chunks(missing, _CHUNK))
        for part, found in zip(parts, _parse(work, [[texts[i] for i in part] for part in parts], runtime.workers)):
            for place, data in zip(part, found):
                packed[place] = data
            cache.put((keys[place], packed[place]) for place in part)
            bar.advance(len(part))
    return PackedGraphs(packed)


def _packed(parse_many: Callable[[Sequence[str]], list[SceneGraph]], texts: Sequence[str]) -> list[bytes]:
    return [graph.pack() for graph in parse_many(texts)]


def _parser_of(lang: str, parser: str, talk: bool = False, convention: str = "") -> Parse:
    if lang == "en":
        from vericap.graphs import english

        parse = partial(english.parse_many, parser=parser or english.SHIPPED, talk=talk, convention=convention or OWN)
        return partial(_packed, parse)
    if lang == "ja":
        from vericap.graphs import japanese
        from vericap.graphs.ja.options import GraphOptions

        return partial(_packed, partial(japanese.parse_many, options=GraphOptions.read(parser)))
    raise VericapError(f"scene graphs are made for English (en) and Japanese (ja), not for `lang={lang}`")


def _parse(work: Parse, parts: list[list[str]], workers: int) -> Iterator[list[bytes]]:
    """Parse part by part, in several processes where that pays."""
    if workers < 2 or sum(map(len, parts)) < _WORTH_PROCESSES:
        yield from map(work, parts)
        return
    from concurrent.futures import Future, ProcessPoolExecutor
    from multiprocessing import get_context

    # Fresh processes: forked copies of threads that ONNX Runtime may have started would hang. This process takes
    # its share of the parts, so that nobody waits while the others load their pipeline.
    helpers = workers - 1
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
