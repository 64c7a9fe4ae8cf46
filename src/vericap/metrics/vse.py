"""`vse`: the shipped image-sentence encoder."""

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
from vericap.metrics.region_evidence import box_of, heatmap
from vericap.metrics.toolbox import judged, unjudged
from vericap.models.described import NO_MAP, points
from vericap.run.analyses import Regions, RegionVectors, Sentences, VseWeights


class Vse(Metric):
    name, title = "vse", "Image-sentence similarity"
    range = (-1.0, 1.0)
    needs = ("image",)
    reads_references = False
    languages = ("en",)
    options: ClassVar[Mapping[str, Option]] = {
        "model": Option("default", "the shipped encoder (default) or a folder of a trained one")
    }

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        regions = (Regions.of(settings), RegionVectors(self.opt.model))
        return (self._sentences, *regions, VseWeights(self.opt.model))

    @property
    def _sentences(self) -> Sentences:
        return Sentences(encoder=VseWeights(self.opt.model).text_encoder)

    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        regions = batch[Regions.of(batch.settings)]
        problems = unjudged(batch, regions)
        scores = np.full(len(batch), np.nan)
        rows = judged(batch, problems)
        if rows.size:
            texts = batch[self._sentences][batch.candidates[rows]]
            vectors = batch[RegionVectors(self.opt.model)]
            scores[rows] = batch[VseWeights(self.opt.model)].pairs(vectors, regions.mask, batch.images[rows], texts)
        return Statistics(scores, problems)

    def explain(
        self, batch: Batch, rows: Sequence[int], state: Any = None, *, full: bool = False
    ) -> list[Explanation | None]:
        """Cosine of the caption with the whole image and with the region that fits best; in full with every region."""
        problems = unjudged(batch, batch[Regions.of(batch.settings)])
        return [None if row in problems else self._reasons(batch, row, full) for row in rows]

    def _reasons(self, batch: Batch, row: int, full: bool) -> Explanation:
        regions, image = batch[Regions.of(batch.settings)], batch.images[row]
        inside = regions.mask[image]
        text = batch.candidates[row]
        (said,) = batch[VseWeights(self.opt.model)].weighed(batch[self._sentences][[text]])
        cosines = batch[RegionVectors(self.opt.model)][image][inside] @ said
        boxes, best = regions.boxes[image][inside], int(cosines.argmax())
        facts = {
            "whole_image": float(cosines[0]),
            "best_region": float(cosines[best]),
            "best_box": box_of(boxes[best]),
        }
        drawn = heatmap("cosine of the caption with each region", [batch.texts[text]], cosines[:, None], boxes)
        if not full:
            return Explanation(self.label, facts=facts)
        alive = points(batch[VseWeights(self.opt.model)].meta, "caption")
        maps, notes = ((drawn,), ()) if alive else ((), (NO_MAP,))
        return Explanation(self.label, heatmaps=maps, notes=notes, facts=facts)
