"""The mean of several metrics by name: mean(vifidel,cider-d).

Plain scores are averaged, unless a metric without bounds is among them (`lm`): then each score first becomes the share
of human captions below it (`vericap.metrics.scales`), so that no part drowns the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from vericap.core.analysis import Key
from vericap.core.batch import Batch
from vericap.core.errors import VericapError
from vericap.core.explanation import PARTS, Explanation
from vericap.core.metric import Metric
from vericap.core.settings import Settings
from vericap.core.statistics import Statistics
from vericap.core.typing import Floats
from vericap.metrics import scales
from vericap.metrics.evidence import shortened


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
        self.scales = scales.scales_of(self.label, self.parts)
        bounds = [(0.0, 1.0) if self.scales else part.range for part in self.parts]
        self.range = tuple(float(np.mean([bound[end] for bound in bounds])) for end in (0, 1))  # type: ignore
        self.needs = tuple(dict.fromkeys(need for p in self.parts for need in p.needs))  # type: ignore[misc]
        widths = [1 if self.scales else part.width for part in self.parts]
        self.width = sum(widths)  # type: ignore[misc]
        sources = {part.prepares_from for part in self.parts if part.prepares}
        self.prepares_from = "references" if sources == {"references"} else "samples"  # type: ignore[misc]
        self.ordered_references = any(part.ordered_references for part in self.parts)  # type: ignore[misc]
        languages = [set(p.languages) for p in self.parts if p.languages]
        if languages and not set.intersection(*languages):
            raise VericapError(f"'{self.label}': its metrics have no language in common")
        self.languages = tuple(sorted(set.intersection(*languages))) if languages else ()  # type: ignore[misc]

    @property
    def spec(self) -> str:
        return f"mean({','.join(part.spec for part in self.parts)})"

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        return tuple(key for part in self.parts for key in part.requires(settings))

    def explain_requires(self, settings: Settings) -> tuple[Key, ...]:
        return tuple(key for part in self.parts for key in part.explain_requires(settings))

    @property
    def prepares(self) -> bool:
        return any(part.prepares for part in self.parts)

    @property
    def explains(self) -> bool:
        return any(part.explains for part in self.parts)

    def prepare(self, batch: Batch) -> list[Any]:
        return [part.prepare(batch) for part in self.parts]

    def merge(self, states: Sequence[Any]) -> list[Any]:
        return [part.merge([state[k] for state in states]) for k, part in enumerate(self.parts)]

    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        states = state or [part.prepare(batch) for part in self.parts]
        found = [part.statistics(batch, own) for part, own in zip(self.parts, states)]
        values = np.concatenate(self._columns([scored.values for scored in found]), axis=1)
        values[np.isnan(values).any(axis=1)] = np.nan
        problems: dict[int, str] = {}
        for part, scored in zip(self.parts, found):
            for row, reason in scored.problems.items():
                said = f"{part.label}: {reason}"
                problems[row] = f"{problems[row]}; {said}" if row in problems else said
        columns = {part.label: part.captions(scored.values) for part, scored in zip(self.parts, found)}
        warnings = list(dict.fromkeys(text for scored in found for text in scored.warnings))
        return Statistics(values, problems, columns, warnings)

    def explain(
        self, batch: Batch, rows: Sequence[int], state: Any = None, *, full: bool = False
    ) -> list[Explanation | None]:
        """The parts' reasons together; facts of a part stand under its name."""
        states = state or [None] * len(self.parts)
        explained = [(part, own) for part, own in zip(self.parts, states) if part.explains]
        each = [(part, part.explain(batch, rows, own, full=full)) for part, own in explained]
        joined = (_together(self.label, {part.label: own[place] for part, own in each}) for place in range(len(rows)))
        return [None if found is None else shortened(found, full=full) for found in joined]

    def _columns(self, found: Sequence[Floats]) -> Sequence[Floats]:
        """The parts' statistics or, on one scale, the standing of each caption by each of them."""
        if not self.scales:
            return found
        each = zip(self.scales, self.parts, found)
        return [scale.standing(part, values)[:, None] for scale, part, values in each]

    def _split(self, values: Floats) -> list[Floats]:
        """The parts' own columns."""
        return np.split(values, np.cumsum([part.width for part in self.parts])[:-1], axis=-1)

    def captions(self, values: Floats) -> Floats:
        if self.scales:
            return np.asarray(values.mean(axis=1))
        scores = [part.captions(own) for part, own in zip(self.parts, self._split(values))]
        return np.asarray(np.mean(scores, axis=0))

    def corpus(self, sums: Floats, count: Floats) -> Floats:
        if self.scales:
            with np.errstate(invalid="ignore", divide="ignore"):
                return np.asarray(sums.mean(axis=-1) / count)
        scores = [part.corpus(own, count) for part, own in zip(self.parts, self._split(sums))]
        return np.asarray(np.mean(scores, axis=0))

    def signature(self, batch: Batch) -> str:
        inner = " + ".join(f"({part.signature(batch)})" for part in self.parts)
        scale = f"scale:{scales.version()}|" if self.scales else ""
        return f"metric:mean|{scale}{inner}"


def _together(label: str, parts: dict[str, Explanation | None]) -> Explanation | None:
    found = {name: part for name, part in parts.items() if part is not None}
    if not found:
        return None

    def joined(name: str) -> tuple[Any, ...]:
        return tuple(item for part in found.values() for item in getattr(part, name))

    words = next((part.words for part in found.values() if part.words), ())
    rest: dict[str, Any] = {name: joined(name) for name in PARTS if name != "words"}
    facts = {name: dict(part.facts) for name, part in found.items() if part.facts}
    return Explanation(label, words=words, **rest, notes=joined("notes"), facts=facts)
