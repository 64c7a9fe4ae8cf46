"""FAIEr (Wang et al. 2021): does the caption hold true of the image, and does it say what people would say?

The image's regions, guided by the references, become union nodes; the candidate's words (object level) and scene-graph
triplets (relation level) are each matched with their best union node. Score = object level + relation level.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from vericap.core.analysis import Key
from vericap.core.batch import Batch
from vericap.core.explanation import Explanation
from vericap.core.metric import Metric, Option
from vericap.core.settings import Settings
from vericap.core.statistics import Statistics
from vericap.metrics.batching import no_references, references_of
from vericap.metrics.faier.judge import Judge
from vericap.metrics.toolbox import judged, unjudged
from vericap.run.analyses import FaierWeights, Graphs, Regions


class Faier(Metric):
    name, title = "faier", "FAIEr"
    range = (-float("inf"), float("inf"))
    needs = ("image",)
    ordered_references = True  # a GRU reads them one after the other
    languages = ("en",)
    options: ClassVar[Mapping[str, Option]] = {
        "model": Option("default", "the shipped model (default) or a folder made by `vericap train faier`"),
        "references": Option("auto", "auto: read them where they are at hand; none: the image alone", ("auto", "none")),
    }

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        return (FaierWeights(self.opt.model), Graphs.of(settings), Regions.of(settings))

    def _judge(self, batch: Batch) -> Judge:
        weights, graphs, regions = self.requires(batch.settings)
        model = batch[weights]
        guided = self.opt.references == "auto" and model.config.listens
        return Judge(batch, model, batch[graphs], batch[regions], references_of(batch) if guided else no_references)

    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        judge = self._judge(batch)
        model, problems = judge.model, unjudged(batch, judge.regions)
        levels = {level: np.full(len(batch), np.nan) for level in model.levels}
        fidelity = np.full(len(batch), np.nan)
        for block in judge.blocks(judged(batch, problems)):
            fidelity[block.rows] = 0.0
            for level in model.levels:
                levels[level][block.rows], alone = judge.scores(block, level)
                fidelity[block.rows] += alone
        total = np.sum(list(levels.values()), axis=0)
        columns: dict[str, Any] = dict(levels)
        if judge.references is not no_references and model.config.looks:
            columns.update(fidelity=fidelity, gain=total - fidelity)
        return Statistics(total, problems, columns)

    def explain(
        self, batch: Batch, rows: Sequence[int], state: Any = None, *, full: bool = False
    ) -> list[Explanation | None]:
        from vericap.metrics.faier.explanation import explained

        judge = self._judge(batch)
        problems = unjudged(batch, judge.regions)
        chosen = np.array(sorted({row for row in rows if row not in problems}), dtype=np.int64)
        found = {
            row: explained(self.label, judge, block, case, row, full=full)
            for block in judge.blocks(chosen)
            for case in range(len(block.cases))
            for row in block.cases[case].rows.tolist()
        }
        return [found.get(row) for row in rows]
