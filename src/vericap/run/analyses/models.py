"""Trained models as keys: opened once per process, named by their meta file without opening anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from vericap.core import shipped
from vericap.core.analysis import Analysis, Index, Key
from vericap.core.batch import Batch
from vericap.core.settings import Settings

if TYPE_CHECKING:
    from vericap.models.faier import FaierModel
    from vericap.models.faier_plus import FaierPlusModel
    from vericap.models.learn_to_eval import LearnToEvalModel
    from vericap.models.scan import ScanModel
    from vericap.models.vse import VseModel
    from vericap.run.runtime import Runtime

Kind = TypeVar("Kind")


@dataclass(frozen=True)
class Weights(Analysis[Kind]):
    """A model in a folder of weights: "default" is the one that ships."""

    name: str = "default"
    index: ClassVar[Index] = "run"
    part: ClassVar[str]

    @property
    def meta(self) -> dict[str, Any]:
        return shipped.describe(self.name, self.part)

    @property
    def text_encoder(self) -> str:
        """The sentence encoder whose vectors or states the model reads."""
        return str(self.meta.get("text_encoder", "gte-small"))

    def signature(self, batch: Batch) -> dict[str, str]:
        return {"model": shipped.version(self.meta)}


@dataclass(frozen=True)
class VseWeights(Weights["VseModel"]):
    part: ClassVar[str] = "vse"

    def compute(self, batch: Batch, runtime: Runtime) -> VseModel:
        from vericap.models.vse import load

        return runtime.model(self.part, self.name, load)


@dataclass(frozen=True)
class ScanWeights(Weights["ScanModel"]):
    part: ClassVar[str] = "scan"

    @property
    def meta(self) -> dict[str, Any]:
        from vericap.models.scan import describe, halves

        return describe(halves(self.name)[0][1])  # of two in one folder the first, where none is named

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        return (VseWeights(self.encoder),) if self.encoder else ()

    @property
    def encoder(self) -> str:
        """The image encoder it was trained over, if any."""
        return str(self.meta.get("encoder", ""))

    def compute(self, batch: Batch, runtime: Runtime) -> ScanModel:
        from vericap.models.scan import load

        return runtime.model(self.part, self.name, load)


@dataclass(frozen=True)
class FaierWeights(Weights["FaierModel"]):
    part: ClassVar[str] = "faier"

    def compute(self, batch: Batch, runtime: Runtime) -> FaierModel:
        from vericap.models.faier import load

        return runtime.model(self.part, self.name, load)


@dataclass(frozen=True)
class FaierPlusWeights(Weights["FaierPlusModel"]):
    part: ClassVar[str] = "faier_plus"

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        return (self.encoder,)

    @property
    def encoder(self) -> VseWeights:
        """The image encoder it was trained over."""
        return VseWeights(self.meta.get("encoder", "default"))

    def compute(self, batch: Batch, runtime: Runtime) -> FaierPlusModel:
        from vericap.models.faier_plus import load

        return runtime.model(self.part, self.name, load)


@dataclass(frozen=True)
class LearnToEvalWeights(Weights["LearnToEvalModel"]):
    part: ClassVar[str] = "learn_to_eval"

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        return (self.encoder,)

    @property
    def encoder(self) -> VseWeights:
        """The image encoder it was trained over."""
        return VseWeights(self.meta.get("encoder", "default"))

    def compute(self, batch: Batch, runtime: Runtime) -> LearnToEvalModel:
        from vericap.models.learn_to_eval import load

        return runtime.model(self.part, self.name, load)
