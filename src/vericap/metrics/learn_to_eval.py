"""LearnToEval (Cui et al. 2018): how human a caption looks, beside the image and the references."""

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
from vericap.core.typing import Bools, Floats, Floats32, Ints
from vericap.metrics.toolbox import judged, unjudged
from vericap.run.analyses import LearnToEvalWeights, Regions, RegionVectors, Sentences


class LearnToEval(Metric):
    name, title = "learn-to-eval", "LearnToEval"
    range = (0.0, 1.0)
    needs = ("image",)
    languages = ("en",)
    options: ClassVar[Mapping[str, Option]] = {
        "model": Option("default", "the shipped discriminator (default) or a folder of a trained one")
    }

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        return (Regions.of(settings), self._vectors, self._sentences, self._weights)

    @property
    def _weights(self) -> LearnToEvalWeights:
        return LearnToEvalWeights(self.opt.model)

    @property
    def _vectors(self) -> RegionVectors:
        return RegionVectors(self._weights.encoder.name)

    @property
    def _sentences(self) -> Sentences:
        return Sentences(encoder=self._weights.text_encoder)

    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        problems = unjudged(batch, batch[Regions.of(batch.settings)])
        rows, scores = judged(batch, problems), np.full(len(batch), np.nan)
        if rows.size:
            scores[rows] = self._score(batch, rows, *self._references(batch, rows))
        return Statistics(scores, problems)

    def _score(self, batch: Batch, rows: Ints, references: Floats32, known: Bools) -> Floats:
        model, texts = batch[self._weights], batch.candidates[rows]
        which, place = np.unique(texts, return_inverse=True)
        pairs = model.pairs([batch.texts[text] for text in which.tolist()])[place.reshape(-1)]
        captions, images = batch[self._sentences][texts], batch[self._vectors][batch.images[rows], 0]
        return model.score(captions, images, references, known, pairs)

    def _references(self, batch: Batch, rows: Ints) -> tuple[Floats32, Bools]:
        """Mean vectors of the references that hold a word, and whether there are any."""
        vectors, worded = batch[self._sentences], batch.worded()
        found = np.zeros((len(rows), vectors.shape[1]), dtype=np.float32)
        known = np.zeros(len(rows), dtype=bool)
        for place, row in enumerate(rows.tolist()):
            own = batch.references(row)
            own = own[worded[own]]
            if len(own):
                found[place], known[place] = vectors[own].mean(axis=0), True
        return found, known

    def explain(
        self, batch: Batch, rows: Sequence[int], state: Any = None, *, full: bool = False
    ) -> list[Explanation | None]:
        """What the discriminator sees: cosines with image and references, and its score without references."""
        problems = unjudged(batch, batch[Regions.of(batch.settings)])
        asked = np.array([row for row in rows if row not in problems], dtype=np.int64)
        if not asked.size:
            return [None] * len(rows)
        references, known = self._references(batch, asked)
        alone = self._score(batch, asked, np.zeros_like(references), np.zeros_like(known))
        captions = batch[self._sentences][batch.candidates[asked]]
        images = batch[self._vectors][batch.images[asked], 0]
        found = {}
        for place, row in enumerate(asked.tolist()):
            facts = {"without_references": float(alone[place]), "image_cosine": float(captions[place] @ images[place])}
            if known[place]:
                facts["reference_cosine"] = float(captions[place] @ references[place])
            found[row] = Explanation(self.label, facts=facts)
        return [found.get(row) for row in rows]
