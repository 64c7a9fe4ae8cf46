"""A gate for pipelines: sentences such as "cider-d drops 0.02", judged on a comparison.

    CONDITION := METRIC drops [[by] NUMBER]

`drops` means worse than the first system: lower, or higher where lower is better. A condition holds where a later
system is worse by more than the number (0 without one) and the difference is significant. Nothing is evaluated as code.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from vericap.core.errors import VericapError
from vericap.run.compare import Comparison
from vericap.run.significance import PValue, holm

_CONDITION = re.compile(r"(?P<metric>\S.*?)\s+drops(?:\s+(?:by\s+)?(?P<amount>\d+(?:\.\d*)?|\.\d+))?")


@dataclass(frozen=True)
class Condition:
    """A metric that must not get worse by more than an amount."""

    metric: str
    amount: float = 0.0

    def __str__(self) -> str:
        return f"{self.metric} drops" + (f" by more than {self.amount:g}" if self.amount else "")


@dataclass(frozen=True)
class Measured:
    """One later system under a condition; `worse_by` is below 0 where it is better, None where a score is undefined."""

    system: str
    worse_by: float | None
    p: float
    adjusted: float
    failed: bool

    def __str__(self) -> str:
        if self.worse_by is None:
            return f"{self.system} has no score to compare"
        side = "worse" if self.worse_by > 0 else "better"
        return f"{self.system} is {side} by {abs(self.worse_by):.4f}, adjusted p {PValue(self.adjusted):.4f}"


@dataclass(frozen=True)
class GateOutcome:
    """Whether a condition holds for any later system."""

    condition: Condition
    measured: tuple[Measured, ...]

    @property
    def failed(self) -> bool:
        return any(one.failed for one in self.measured)

    def __str__(self) -> str:
        return f"{'failed' if self.failed else 'passed'}: {self.condition}: {'; '.join(map(str, self.measured))}"

    def as_dict(self) -> dict[str, Any]:
        """The verdict as plain data."""
        systems = {
            one.system: {"worse by": one.worse_by, "p": _plain(one.p), "adjusted p": _plain(one.adjusted)}
            for one in self.measured
        }
        return {"condition": str(self.condition), "failed": self.failed, "systems": systems}


def parse(text: str, metrics: Sequence[str]) -> Condition:
    """A condition from its sentence; one that cannot be meant is refused with what is possible.

    Examples
    --------
    >>> parse("cider-d drops 0.02", ["cider-d"])
    Condition(metric='cider-d', amount=0.02)
    """
    found = _CONDITION.fullmatch(text.strip())
    if found is None:
        raise VericapError(
            f"`fail_if={text}`: say 'METRIC drops' or 'METRIC drops 0.02', with one of {', '.join(metrics)}"
        )
    if found["metric"] not in metrics:
        raise VericapError(
            f"`fail_if={text}`: '{found['metric']}' is not compared here; there are: {', '.join(metrics)}"
        )
    return Condition(found["metric"], float(found["amount"] or 0.0))


def judge(comparison: Comparison, conditions: Sequence[Condition]) -> list[GateOutcome]:
    """A verdict for each condition.

    Holm's adjustment counts the tests that the conditions name, not all that the table shows: a gate does not become
    blind because more metrics are printed. A score that is undefined fails.
    """
    names = dict.fromkeys(condition.metric for condition in conditions)
    systems = [name for name in comparison.results if name != comparison.baseline]
    pairs = [(system, metric) for system in systems for metric in names]
    p_values = [comparison.p_values.get(pair, float("nan")) for pair in pairs]
    tests = dict(zip(pairs, zip(p_values, holm(p_values))))
    return [
        GateOutcome(
            condition,
            tuple(_measured(comparison, condition, system, *tests[system, condition.metric]) for system in systems),
        )
        for condition in conditions
    ]


def _measured(comparison: Comparison, condition: Condition, system: str, p: float, adjusted: float) -> Measured:
    gap = comparison.difference(system, condition.metric)
    if gap is None or p != p:
        return Measured(system, None, p, adjusted, failed=True)
    lower = comparison.results[system].metrics[condition.metric].direction == "lower"
    worse_by = gap if lower else -gap
    failed = worse_by > condition.amount and adjusted < comparison.level
    return Measured(system, worse_by, p, adjusted, failed)


def _plain(p: float) -> float | None:
    return None if p != p else p
