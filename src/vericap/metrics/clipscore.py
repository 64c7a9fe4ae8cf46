"""`clipscore` and `refclipscore`: any CLIP-like pair a user brings.

Hessel et al. 2021: CLIPScore = w max(cos(image, caption), 0), w = 2.5;
RefCLIPScore = harmonic mean of CLIPScore and max(max_r cos(caption, reference r), 0).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from vericap.core.analysis import Key
from vericap.core.batch import Batch
from vericap.core.metric import Metric, Option
from vericap.core.settings import Settings
from vericap.core.statistics import Statistics
from vericap.metrics.batching import references_of
from vericap.metrics.toolbox import NO_REFERENCE, imageless, judged, wordless
from vericap.run.analyses import ClipImages, ClipTexts


class ClipScore(Metric):
    name, title = "clipscore", "CLIPScore"
    range = (0.0, 2.5)
    needs: ClassVar[tuple[str, ...]] = ("image",)
    reads_references: ClassVar[bool] = False
    options: ClassVar[Mapping[str, Option]] = {
        "model": Option("", "folder of a CLIP-like pair: image.onnx + text.onnx + tokenizer.json, or transformers"),
        "w": Option(2.5, "factor of the cosine"),
        "prompt": Option("A photo depicts", "words put before every caption"),
    }

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        return (self._images, self._texts)

    @property
    def _images(self) -> ClipImages:
        return ClipImages(self.opt.model)

    @property
    def _texts(self) -> ClipTexts:
        return ClipTexts(self.opt.model, self.opt.prompt)

    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        images, texts = batch[self._images], batch[self._texts]
        problems = {**wordless(batch), **imageless(batch, images.problems)}
        scores = np.full(len(batch), np.nan)
        rows = judged(batch, problems)
        cosines = np.einsum("nd,nd->n", images.vectors[batch.images[rows]], texts[batch.candidates[rows]])
        scores[rows] = self.opt.w * np.maximum(cosines, 0.0)
        return Statistics(scores, problems)


class RefClipScore(ClipScore):
    name, title = "refclipscore", "RefCLIPScore"
    needs = ("image", "references")
    reads_references = True

    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        found = super().statistics(batch)
        texts, said = batch[self._texts], references_of(batch)
        for row in judged(batch, found.problems).tolist():
            references = said(row)
            if not len(references):
                found.problems[row], found.values[row] = NO_REFERENCE, np.nan
                continue
            nearest = float((texts[references] @ texts[batch.candidates[row]]).max())
            found.values[row] = harmonic(found.values[row, 0], nearest)
        return found


def harmonic(first: float, second: float) -> float:
    """Harmonic mean; 0 where either is 0."""
    return 0.0 if first <= 0 or second <= 0 else 2.0 * first * second / (first + second)
