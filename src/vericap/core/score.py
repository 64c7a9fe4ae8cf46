"""A corpus score with everything one needs to report it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True)
class Score:
    """A corpus score. `value` is None only with a `reason`; `beside` has numbers without which it is hard to read."""

    name: str
    value: float | None
    signature: str
    count: int
    direction: str = "higher"
    interval: tuple[float, float] | None = None
    reason: str = ""
    beside: Mapping[str, float] = field(default_factory=dict)

    def __float__(self) -> float:
        return float("nan") if self.value is None else self.value

    def remark(self) -> str:
        """The numbers beside the score in words; empty where there are none."""
        shown = ", ".join(f"{what} {number:.4g}" for what, number in self.beside.items())
        return f"{self.name}: {shown}" if shown else ""

    def times100(self) -> Score:
        """The same score x100."""
        value = None if self.value is None else 100 * self.value
        bounds = None if self.interval is None else (100 * self.interval[0], 100 * self.interval[1])
        return replace(self, value=value, interval=bounds)

    def as_dict(self) -> dict[str, Any]:
        found: dict[str, Any] = {"value": self.value, "count": self.count, "direction": self.direction}
        if self.interval is not None:
            found["interval"] = list(self.interval)
        if self.reason:
            found["reason"] = self.reason
        if self.beside:
            found["beside"] = dict(self.beside)
        return {**found, "signature": self.signature}
