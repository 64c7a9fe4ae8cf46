"""Keys of analyses: what several metrics read of texts, images or samples, computed once per batch.

A key is a frozen dataclass: two metrics that ask for equal keys share one value. It says what it needs, what it costs,
what it adds to a signature, and how it is computed; the concrete keys are in `vericap.run.analyses`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar

if TYPE_CHECKING:
    from vericap.core.batch import Batch
    from vericap.core.settings import Settings

Value = TypeVar("Value")
Index = Literal["text", "image", "sample", "run"]


@dataclass(frozen=True)
class Analysis(ABC, Generic[Value]):
    """Base of all keys.

    `index` says what the value is indexed by: texts and images are shared by all samples of a batch, values by sample
    belong to its rows, a value of the run (a model) depends on neither.
    """

    index: ClassVar[Index] = "text"
    pixels: ClassVar[bool] = False  # whether photos are looked at: all such analyses share one pass over them
    cost: ClassVar[int] = 0  # bytes held per text, image or sample; decides how many samples are analysed together

    def requires(self, settings: Settings) -> tuple[Analysis[Any], ...]:
        """Analyses this one is computed from."""
        return ()

    @abstractmethod
    def compute(self, batch: Batch, runtime: Any) -> Value:
        """The value for a batch; `runtime` is the `vericap.run.runtime.Runtime` of the run."""

    def wanted(self, batch: Batch) -> bool:
        """Whether the batch needs it at all: records may carry what an image would have to be looked at for."""
        return True

    def signature(self, batch: Batch) -> dict[str, str]:
        """What this analysis adds to a score's signature; keys are those of `vericap.core.metric.SIGNATURE`."""
        return {}


Key = Analysis[Any]


def closure(keys: Iterable[Key], settings: Settings) -> tuple[Key, ...]:
    """Keys with everything they need, each once, what is needed first."""
    found: dict[Key, None] = {}

    def visit(key: Key) -> None:
        if key in found:
            return
        for other in key.requires(settings):
            visit(other)
        found[key] = None

    for key in keys:
        visit(key)
    return tuple(found)
