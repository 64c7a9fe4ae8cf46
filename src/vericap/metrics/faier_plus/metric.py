"""FAIEr-plus: is the caption true to the image, and does it say what the references say? (models.faier_plus)"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from vericap.core.analysis import Key
from vericap.core.batch import Batch
from vericap.core.explanation import Explanation
from vericap.core.metric import Metric, Option
from vericap.core.settings import Settings
from vericap.core.statistics import Statistics
from vericap.core.typing import Array, Ints
from vericap.metrics.batching import Case, cases, grouped, no_references, references_of
from vericap.metrics.toolbox import judged, unjudged
from vericap.models.faier_plus.scorer import (
    COLUMNS,
    CaseGroup,
    FaierPlusScorer,
    ImageCase,
    PlacedCase,
    ReadTexts,
)
from vericap.run.analyses import FaierPlusWeights, Graphs, PhraseVectors, Regions, RegionVectors, Sentences, TokenStates

# Held at once: word pieces of captions (few enough that memory is used again), images with their references, candidates
# of one of these.
_PIECES, _CASES, _TOGETHER = 8_000, 256, 1024


class FaierPlus(Metric):
    name, title = "faier-plus", "FAIEr-plus"
    range = (-1.0, 1.0)
    needs = ("image",)
    languages = ("en",)
    options: ClassVar[Mapping[str, Option]] = {
        "references": Option("auto", "auto: used where they are there; none: the image alone", ("auto", "none")),
        "model": Option("default", "the shipped model (default) or a folder of a trained one"),
    }

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        weights, graphs = FaierPlusWeights(self.opt.model), Graphs.of(settings)
        regions = (Regions.of(settings), RegionVectors(weights.encoder.name))
        reader = weights.text_encoder
        texts = (TokenStates(reader), Sentences(encoder=reader), graphs, PhraseVectors(graphs, reader))
        return (weights, *texts, *regions)

    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        scorer = self._scorer(batch)
        problems = unjudged(batch, scorer.table)
        table = {name: np.full(len(batch), np.nan) for name in COLUMNS}
        for alike, group in self._groups(batch, scorer, judged(batch, problems)):
            rows = np.concatenate([case.rows for case in alike])
            for name, values in scorer.scores(group).items():
                table[name][rows] = values
        return Statistics(table.pop("score"), problems, table)

    def _scorer(self, batch: Batch) -> FaierPlusScorer:
        model, *read, regions, embedded = (batch[key] for key in self.requires(batch.settings))
        return FaierPlusScorer(model, ReadTexts(batch.texts, *read), regions, embedded)

    def _groups(self, batch: Batch, scorer: FaierPlusScorer, rows: Ints) -> Iterator[tuple[list[Case], CaseGroup]]:
        """Rows of the batch in groups; memory does not grow with their number."""
        pieces = np.diff(scorer.texts.states.offsets).tolist()
        references = references_of(batch) if self.opt.references == "auto" else no_references
        held: set[int] = set()  # texts of the group that is being filled: each is read once, whichever cases share it

        def cost(case: Case) -> int:
            new = {*batch.candidates[case.rows].tolist(), *case.references.tolist()} - held
            held.update(new)
            return sum(pieces[text] for text in new)

        alike = cases(batch, rows, references, together=_TOGETHER)
        for some in grouped(alike, cost, _PIECES, _CASES):
            held.clear()
            placed = [ImageCase(batch.candidates[case.rows], case.image, case.references) for case in some]
            yield some, scorer.group(placed)

    def explain(
        self, batch: Batch, rows: Sequence[int], state: Any = None, *, full: bool = False
    ) -> list[Explanation | None]:
        from vericap.metrics.faier_plus.explanation import explained

        found = {row: explained(self.label, *given, full=full) for row, given in self.matched(batch, rows)}
        return [found.get(row) for row in rows]

    def matched(
        self, batch: Batch, rows: Sequence[int]
    ) -> Iterator[tuple[int, tuple[FaierPlusScorer, CaseGroup, PlacedCase, int, Array]]]:
        """Rows that can be judged, each with what reasons are made from (`FaierPlusReasons`)."""
        scorer = self._scorer(batch)
        problems = unjudged(batch, scorer.table)
        chosen = np.array(sorted({row for row in rows if row not in problems}), dtype=np.int64)
        for alike, group in self._groups(batch, scorer, chosen):
            for case, placed in zip(alike, group.cases):
                texts = group.candidates[placed.samples].tolist()
                boxes = scorer.table.boxes[case.image][group.inside[placed.image]]
                for row, text in zip(case.rows.tolist(), texts):
                    yield row, (scorer, group, placed, text, boxes)
