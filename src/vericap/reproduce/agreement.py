"""Metrics against judgements under several protocols at once, as the experiments' tables need them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from vericap.core.errors import VericapError
from vericap.core.settings import Settings
from vericap.meta.evaluation import Agreements, Line, evaluate_each
from vericap.meta.judgements import Pairs, Ratings
from vericap.meta.protocols import Protocol, protocol_of
from vericap.metrics.registry import make
from vericap.reproduce.experiment import Choices


@dataclass
class Found:
    """Lines by metric, protocol and number of references (None: as the protocol says)."""

    tables: dict[tuple[str, int | None], Agreements] = field(default_factory=dict)

    def line(self, metric: str, protocol: str, references: int | None = None) -> Line | None:
        table = self.tables.get((protocol, references))
        return next((line for line in table.lines if line.metric == metric), None) if table else None

    def value(self, metric: str, protocol: str, references: int | None = None) -> float | None:
        line = self.line(metric, protocol, references)
        return None if line is None else line.value

    def notes(self) -> list[str]:
        """Why metrics have no value, each reason once."""
        found = [
            f"{line.metric}: {line.reason}" for table in self.tables.values() for line in table.lines if line.reason
        ]
        return list(dict.fromkeys(found))


def without_references(name: str) -> bool:
    """Whether a metric can do without references; one that cannot be made fails where it is scored."""
    try:
        return "references" not in make(name).needs
    except VericapError:
        return False


def agreements(
    data: Ratings | Pairs,
    metrics: Iterable[str],
    protocols: Sequence[str],
    choices: Choices,
    *,
    references: Sequence[int | None] = (None,),
    settings: Settings | None = None,
) -> Found:
    """Every metric under every protocol with every number of references; all draws are scored in one run.

    Metrics that need references are not asked where there are none. A metric that fails has a reason and no value.
    """
    settings = settings or choices.settings
    found, names = Found(), list(dict.fromkeys(metrics))
    for free in (True, False):
        counts = [count for count in references if (count == 0) is free]
        asked = [name for name in names if not free or without_references(name)]
        if not counts or not asked:
            continue
        plan = [(name, count) for name in protocols for count in counts]
        chosen = [_protocol(data, name, count, choices) for name, count in plan]
        tables = evaluate_each(
            data, asked, chosen, settings=settings, resamples=0, store=choices.store, keep_going=True
        )
        found.tables.update(zip(plan, tables))
    return found


def _protocol(data: Ratings | Pairs, name: str, count: int | None, choices: Choices) -> Protocol:
    protocol = protocol_of(data.name, name, pairs=isinstance(data, Pairs))
    wanted = protocol.references if count is None else count
    return protocol.changed(references=count, runs=choices.draws_of(wanted) if wanted is not None else None)
