"""REO (Jiang et al. 2019): relevance, extraness and omission over context vectors.

For ground truth g_i (region v_i of the image, or a reference's context a_i^R) and the candidate's context a_i:
    relevance = mean_i cos(a_i, g_i)
    extraness = mean_i d(a_i, a_i - p),  p the projection of a_i on g_i: what is not extra
    omission  = mean_i d(g_i, g_i - q),  q the projection of g_i on a_i: what is not missing
with the Mahalanobis distance d of a covariance estimated when the model was trained. Larger is better for all three.
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
from vericap.core.typing import Floats
from vericap.metrics.reo.measures import ReoImage, ReoReferences, weighted
from vericap.metrics.toolbox import NO_REFERENCE
from vericap.models.scan import halves
from vericap.run.analyses import Grounding, WordMeanings

IMAGE = 0.3  # of `both`; references tell more (benchmarks.studies.attention)


class Reo(Metric):
    """One of the three; the ground truth is an option."""

    needs = ("image",)
    languages = ("en",)
    range = (0.0, float("inf"))
    options: ClassVar[Mapping[str, Option]] = {
        "truth": Option(
            "auto",
            "ground truth; auto, the paper's reading: reference where there are references, else image",
            ("auto", "image", "reference", "both"),
        ),
        "model": Option("default", "the shipped model (default) or a folder of a trained one"),
    }

    def __init__(self, *, label: str | None = None, **options: Any) -> None:
        super().__init__(label=label, **options)
        self.reads_references = self.opt.truth != "image"  # type: ignore[misc]

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        said = [ReoReferences(model) for _, model in halves(self.opt.model)] if self.reads_references else []
        return (ReoImage(self._first), *said)

    @property
    def _first(self) -> str:
        """The first of two models: it agrees better with people against the image, and its words name errors better."""
        return halves(self.opt.model)[0][1]

    def explain_requires(self, settings: Settings) -> tuple[Key, ...]:
        return (Grounding(self._first), WordMeanings(self._first))

    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        seen = batch[ReoImage(self._first)]
        image, problems = seen.columns[self.name], dict(seen.problems)
        if not self.reads_references:
            return Statistics(image, problems)
        said = ((share, batch[ReoReferences(model)][self.name]) for share, model in halves(self.opt.model))
        reference = weighted(said)
        columns = {"image": image, "reference": reference} if self.opt.truth != "reference" else {}
        return Statistics(self._score(image, reference, problems), problems, columns)

    def _score(self, image: Floats, reference: Floats, problems: dict[int, str]) -> Floats:
        if self.opt.truth == "auto":
            return np.where(np.isnan(reference), image, reference)
        for row in np.flatnonzero(np.isnan(reference)).tolist():
            problems.setdefault(row, NO_REFERENCE)
        return reference if self.opt.truth == "reference" else IMAGE * image + (1 - IMAGE) * reference

    def explain(
        self, batch: Batch, rows: Sequence[int], state: Any = None, *, full: bool = False
    ) -> list[Explanation | None]:
        from vericap.metrics.reo.explanation import explanations

        problems = self.statistics(batch).problems
        scored = [row for row in rows if row not in problems]
        given = (batch, scored, batch[Grounding(self._first)], batch[WordMeanings(self._first)])
        found = explanations(self.label, *given, truth=self.opt.truth, full=full)
        return [found.get(row) for row in rows]


class Relevance(Reo):
    name, title = "reo-relevance", "REO relevance"
    range = (-1.0, 1.0)


class Extraness(Reo):
    name, title = "reo-extraness", "REO extraness"


class Omission(Reo):
    name, title = "reo-omission", "REO omission"
