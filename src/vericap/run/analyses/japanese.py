"""Vectors of what Japanese scene graphs claim."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from vericap.core.analysis import Analysis, Key
from vericap.core.batch import Batch
from vericap.core.settings import Settings
from vericap.graphs.ja.match import phrase, tuple_set
from vericap.run.analyses.graphs import Graphs, KnpGraphs, PhraseTable
from vericap.run.analyses.sentences import japanese_encoder
from vericap.text.japanese import ENCODER

if TYPE_CHECKING:
    from vericap.run.runtime import Runtime


@dataclass(frozen=True)
class TuplePhrases(Analysis[PhraseTable]):
    """Unit vectors of all tuples of the texts' Japanese scene graphs, said as phrases ("男性が馬を乗る").

    `spelling` makes variants of a word one first, as the matching does.
    """

    graphs: Graphs | KnpGraphs
    spelling: bool = True
    cost: ClassVar[int] = 10_000  # about five phrases of a caption are its own

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        return (self.graphs,)

    def compute(self, batch: Batch, runtime: Runtime) -> PhraseTable:
        tuples = (item for graph in batch[self.graphs] for item in tuple_set(graph.tuples(), spelling=self.spelling))
        place = {text: number for number, text in enumerate(dict.fromkeys(map(phrase, tuples)))}
        return PhraseTable(place, japanese_encoder(runtime).encode(list(place)))

    def signature(self, batch: Batch) -> dict[str, str]:
        return {"encoder": ENCODER}
