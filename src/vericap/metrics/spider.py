"""SPIDEr (Liu et al. 2017): the mean of SPICE and CIDEr-D."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from vericap.core.batch import Batch
from vericap.core.metric import Metric, Option
from vericap.core.version import __version__
from vericap.metrics.cider import CiderD
from vericap.metrics.mean import Mean
from vericap.metrics.spice import Spice


class Spider(Mean):
    """CIDEr-D, from 0 to 10, and SPICE, from 0 to 1, added up and halved as they are."""

    name, title = "spider", "SPIDEr"
    range = (0.0, 5.5)
    needs = ("references",)
    languages = ("en",)
    options: ClassVar[Mapping[str, Option]] = {**CiderD.options, **Spice.options}

    def __init__(self, *, label: str | None = None, **options: Any) -> None:
        Metric.__init__(self, label=label, **options)
        chosen, label = self.opt, self.label
        parts = [kind(**{name: getattr(chosen, name) for name in kind.options}) for kind in (CiderD, Spice)]
        super().__init__(parts, label=label)
        self.opt = chosen  # a mean has no options of its own

    @property
    def spec(self) -> str:
        return str(Metric.spec.__get__(self))

    def signature(self, batch: Batch) -> str:
        inner = " + ".join(f"({part.signature(batch)})" for part in self.parts)
        return f"metric:{self.name}|{inner}|version:{__version__}/{self.version}"
