"""The metric base: per-sample statistics first, aggregation second, significance for free."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from vericap.errors import UnknownName, VericapError
from vericap.run.batch import Batch

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Option:
    """One option of a metric: its default fixes the type; `choices` limits the values."""

    default: Any
    help: str
    choices: tuple[Any, ...] = ()

    def parse(self, text: str, *, metric: str, name: str) -> Any:
        kind = type(self.default)
        try:
            if kind is bool:
                value: Any = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}[
                    text.lower()
                ]
            elif self.default is None:
                value = text
            else:
                value = kind(text)
        except (ValueError, KeyError):
            raise VericapError(
                f"metric '{metric}': option {name}={text} is not a valid {kind.__name__} ({self.help})"
            ) from None
        return self.check(value, metric=metric, name=name)

    def check(self, value: Any, *, metric: str, name: str) -> Any:
        if self.choices and value not in self.choices:
            allowed = ", ".join(map(str, self.choices))
            raise VericapError(f"metric '{metric}': option {name}={value} is not one of {allowed}")
        return value


@dataclass
class Statistics:
    """Per-sample rows that add up, with what else there is to say about each sample."""

    values: Floats
    problems: dict[int, str] = field(default_factory=dict)
    columns: dict[str, Any] = field(default_factory=dict)
    explanations: list[dict[str, Any] | None] | None = None
    warnings: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        values = np.asarray(self.values, dtype=np.float64)
        self.values = values[:, None] if values.ndim == 1 else values

    def undefined(self, row: int) -> bool:
        """A row without a score; a reason in `problems` for any other row only explains its score."""
        return bool(np.isnan(self.values[row, 0]))

    @staticmethod
    def concatenate(parts: Sequence[Statistics]) -> Statistics:
        """Join the statistics of consecutive shards."""
        problems: dict[int, str] = {}
        start = 0
        for part in parts:
            problems.update({start + row: reason for row, reason in part.problems.items()})
            start += len(part.values)
        columns = {
            name: np.concatenate([np.asarray(part.columns[name]) for part in parts]) for name in parts[0].columns
        }
        explanations = None
        if all(part.explanations is not None for part in parts):
            explanations = [item for part in parts for item in part.explanations or ()]
        warnings = list(dict.fromkeys(text for part in parts for text in part.warnings))
        return Statistics(np.concatenate([p.values for p in parts]), problems, columns, explanations, warnings)


class Metric(ABC):
    """A pure function from analyses to per-sample statistics, and from their sums to a corpus score."""

    name: ClassVar[str]
    title: ClassVar[str] = ""
    direction: ClassVar[str] = "higher"
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    needs: ClassVar[tuple[str, ...]] = ("references",)
    analyses: ClassVar[tuple[str, ...]] = ()
    options: ClassVar[Mapping[str, Option]] = {}
    reads_references: ClassVar[bool] = True  # where they are at hand; names their number in the signature
    languages: ClassVar[tuple[str, ...]] = ()  # empty: any
    version: ClassVar[str] = "1"

    def __init__(self, *, label: str | None = None, **options: Any) -> None:
        for name in options:
            if name not in self.options:
                allowed = ", ".join(self.options) or "none"
                raise UnknownName(f"metric '{self.name}' has no option '{name}'; its options: {allowed}")
        values = {name: options.get(name, option.default) for name, option in self.options.items()}
        for name, value in values.items():
            self.options[name].check(value, metric=self.name, name=name)
        self.opt = SimpleNamespace(**values)
        self.label = label or self.name  # the text as written is the column's name

    @abstractmethod
    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        """One row per sample; rows must add up."""

    def prepare(self, batch: Batch) -> Any:
        """What must be known of the whole corpus before scoring (document frequencies); None if nothing."""
        return None

    def merge(self, states: Sequence[Any]) -> Any:
        """Join the states of several shards."""
        return states[0]

    def captions(self, values: Floats) -> Floats:
        """Rows of statistics -> score per caption."""
        return values[:, 0]

    def corpus(self, sums: Floats, count: Floats) -> Floats:
        """Sums of rows (..., k) and numbers of rows (...) -> corpus scores (...)."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(sums[..., 0] / count)

    def signature_parts(self, batch: Batch) -> dict[str, str]:
        """Model or table names that move the number; extended by metrics that use one."""
        return {}

    def signature(self, batch: Batch) -> str:
        """Every choice that moves the number, in one line."""
        from vericap import __version__

        parts: dict[str, str] = {"metric": self.name}
        values = {name: str(getattr(self.opt, name)) for name in self.options}
        parts.update({name: value for name, value in values.items() if value})
        if "tokens" in self.analyses:
            parts["tok"] = batch.settings.tokenizer
        if self.reads_references:
            parts["refs"] = batch.reference_summary()
        parts.update(self.signature_parts(batch))
        parts["version"] = f"{__version__}/{self.version}"
        return "|".join(f"{key}:{value}" for key, value in parts.items())
