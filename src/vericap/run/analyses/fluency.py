"""How fluent texts are, and what lowers it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from vericap.core.analysis import Analysis, Key
from vericap.core.batch import Batch
from vericap.core.settings import Settings
from vericap.run.analyses.models import Weights

if TYPE_CHECKING:
    from vericap.models.fluency import FluencyModel, TextFluency
    from vericap.run.runtime import Runtime


@dataclass(frozen=True)
class FluencyWeights(Weights["FluencyModel"]):
    part: ClassVar[str] = "fluency"

    def compute(self, batch: Batch, runtime: Runtime) -> FluencyModel:
        from vericap.models.fluency import load

        return runtime.model(self.part, self.name, load)


@dataclass(frozen=True)
class Fluency(Analysis[Mapping[int, "TextFluency"]]):
    """Value and marks of every candidate's text, each distinct text once; references are not read."""

    model: str = "default"
    cost: ClassVar[int] = 1500

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        return (FluencyWeights(self.model),)

    def compute(self, batch: Batch, runtime: Runtime) -> dict[int, TextFluency]:
        texts = np.unique(batch.candidates).tolist()
        return dict(zip(texts, batch[FluencyWeights(self.model)].texts([batch.texts[text] for text in texts])))
