"""The plain mean of several metrics by name: mean(vifidel,cider-d)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from vericap.errors import VericapError
from vericap.metrics.base import Floats, Metric, Statistics
from vericap.run.batch import Batch


class Mean(Metric):
    name, title = "mean", "Mean of metrics"

    def __init__(self, parts: Sequence[str | Metric], *, label: str | None = None) -> None:
        from vericap.metrics.registry import resolve

        self.parts = resolve(list(parts))
        names = ",".join(part.label for part in self.parts)
        super().__init__(label=label or f"mean({names})")
        directions = {part.direction for part in self.parts}
        if len(directions) > 1:
            lower = [part.label for part in self.parts if part.direction == "lower"]
            raise VericapError(
                f"'{self.label}': for {', '.join(lower)} lower is better, for the others higher; "
                "a mean of both says nothing"
            )
        # What a single metric declares on its class depends on the parts here.
        self.direction = directions.pop()  # type: ignore[misc]
        self.range = tuple(float(np.mean([p.range[end] for p in self.parts])) for end in (0, 1))  # type: ignore
        self.needs = tuple(dict.fromkeys(need for p in self.parts for need in p.needs))  # type: ignore[misc]
        self.analyses = tuple(dict.fromkeys(a for p in self.parts for a in p.analyses))  # type: ignore[misc]
        languages = [set(p.languages) for p in self.parts if p.languages]
        self.languages = tuple(sorted(set.intersection(*languages))) if languages else ()  # type: ignore[misc]
        self._widths: list[int] | None = None

    def prepare(self, batch: Batch) -> list[Any]:
        return [part.prepare(batch) for part in self.parts]

    def merge(self, states: Sequence[Any]) -> list[Any]:
        return [part.merge([state[k] for state in states]) for k, part in enumerate(self.parts)]

    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        states = state or [part.prepare(batch) for part in self.parts]
        found = [part.statistics(batch, own) for part, own in zip(self.parts, states)]
        self._widths = [one.values.shape[1] for one in found]
        values = np.concatenate([one.values for one in found], axis=1)
        values[np.isnan(values).any(axis=1)] = np.nan
        problems: dict[int, str] = {}
        for part, one in zip(self.parts, found):
            for row, reason in one.problems.items():
                said = f"{part.label}: {reason}"
                problems[row] = f"{problems[row]}; {said}" if row in problems else said
        columns = {part.label: part.captions(one.values) for part, one in zip(self.parts, found)}
        explanations = None
        if any(one.explanations is not None for one in found):
            explanations = [
                {p.label: one.explanations[row] for p, one in zip(self.parts, found) if one.explanations}
                for row in range(len(batch))
            ]
        warnings = list(dict.fromkeys(text for one in found for text in one.warnings))
        return Statistics(values, problems, columns, explanations, warnings)  # type: ignore[arg-type]

    def _split(self, values: Floats) -> list[Floats]:
        """The parts' own columns."""
        if self._widths is None:
            raise RuntimeError("the statistics of the parts come first")
        return np.split(values, np.cumsum(self._widths)[:-1], axis=-1)

    def captions(self, values: Floats) -> Floats:
        scores = [part.captions(own) for part, own in zip(self.parts, self._split(values))]
        return np.asarray(np.mean(scores, axis=0))

    def corpus(self, sums: Floats, count: Floats) -> Floats:
        scores = [part.corpus(own, count) for part, own in zip(self.parts, self._split(sums))]
        return np.asarray(np.mean(scores, axis=0))

    def signature(self, batch: Batch) -> str:
        inner = " + ".join(f"({part.signature(batch)})" for part in self.parts)
        return f"metric:mean|{inner}"
