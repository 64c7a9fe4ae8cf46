"""In which order conditions are judged: cheap ones first, so that dear metrics see only what is left.

The order follows from what the metrics declare, never from a clock: a record is rejected by the same condition in every
run, with the cascade and without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from vericap.core.analysis import Key, closure
from vericap.core.metric import Metric
from vericap.core.settings import Settings
from vericap.run.filter.columns import Sources
from vericap.run.filter.tree import Node, Share, columns, conjuncts, shares

# Processor milliseconds of one text or photo by analysis, rounded from what benchmarks/speed/filter_costs.py prints
# (those of CLIP and of Japanese graphs are estimates). Only their order matters: they may be those of another machine.
MILLISECONDS = {
    "ClipImages": 100.0,
    "Detections": 90.0,
    "VisualWords": 10.0,
    "PhotoRegions": 9.0,
    "TuplePhrases": 10.0,
    "KnpGraphs": 10.0,
    "ClipTexts": 10.0,
    "PhotoFaults": 5.0,
    "TokenStates": 3.0,
    "Sentences": 1.0,
    "PhraseVectors": 1.0,
    "Graphs": 1.0,
    "RegionVectors": 0.7,
    "ScanRegions": 0.1,
    "ScanWords": 0.1,
    "MeteorTexts": 0.05,
    "WordSpace": 0.03,
}
Cost = tuple[float, int]  # milliseconds; then, of what costs the same, the bytes that analyses hold
OTHERS, OTHER_PIXELS = 0.01, 20.0  # of an analysis that is not in the table, from another package perhaps


@dataclass(frozen=True)
class Step:
    """Conditions that are judged one after the other once some metrics are known."""

    metrics: tuple[str, ...]
    conditions: tuple[Node, ...]


@dataclass(frozen=True)
class Stage:
    """Steps on single records, then conditions with a share, which need all records that entered the stage."""

    steps: tuple[Step, ...]
    whole: Step

    @property
    def shares(self) -> tuple[Share, ...]:
        return tuple(dict.fromkeys(share for condition in self.whole.conditions for share in shares(condition)))

    @property
    def conditions(self) -> tuple[Node, ...]:
        return (*(condition for step in self.steps for condition in step.conditions), *self.whole.conditions)


def cost(metrics: Iterable[Metric], settings: Settings) -> Cost:
    """What metrics cost for one caption, by the analyses they declare; one without any is dearer than a text rule."""
    metrics = list(metrics)
    keys = closure((key for metric in metrics for key in metric.requires(settings)), settings)
    return OTHERS * len(metrics) + sum(milliseconds(key) for key in keys), sum(key.cost for key in keys)


def milliseconds(key: Key) -> float:
    """What an analysis costs for one text or photo."""
    return MILLISECONDS.get(type(key).__name__, OTHER_PIXELS if key.pixels else OTHERS)


def stages(sources: Sources, settings: Settings) -> tuple[Stage, ...]:
    """The stages of an expression, their conditions in the order they are judged."""
    return tuple(_stage(node, sources, settings) for node in sources.expression.stages)


def _stage(node: Node, sources: Sources, settings: Settings) -> Stage:
    parts = conjuncts(node)
    single = sorted((part for part in parts if not shares(part)), key=lambda part: _cost_of(part, sources, settings))
    steps = [Step(labels(together, sources), together) for together in _together(single, sources, settings)]
    whole = tuple(part for part in parts if shares(part))
    return Stage(tuple(steps), Step(labels(whole, sources), whole))


def labels(nodes: Iterable[Node], sources: Sources) -> tuple[str, ...]:
    """Metrics that conditions read, each once."""
    found = (sources.of[column.name] for node in nodes for column in columns(node))
    return tuple(dict.fromkeys(source.key for source in found if source.kind == "metric"))


def _metrics(node: Node, sources: Sources) -> list[Metric]:
    return [sources.metrics[label] for label in labels([node], sources)]


def _cost_of(node: Node, sources: Sources, settings: Settings) -> Cost:
    return cost(_metrics(node, sources), settings)


def _together(parts: Sequence[Node], sources: Sources, settings: Settings) -> Iterator[tuple[Node, ...]]:
    """Conditions that are one step: those that read the same metrics, and those whose metrics share what they see of a
    photo, so that it is read once (the words that `verdict` sees come from the regions of `vse`)."""
    group: list[Node] = []
    last: frozenset[object] = frozenset()
    for part in parts:
        own = _looks(part, sources, settings)
        if group and not (own & last or own == last):
            yield tuple(group)
            group, last = [], frozenset()
        group.append(part)
        last |= own
    if group:
        yield tuple(group)


def _looks(node: Node, sources: Sources, settings: Settings) -> frozenset[object]:
    """What metrics of a condition see of photos; of those that see none, the metrics themselves."""
    metrics = _metrics(node, sources)
    keys: tuple[Key, ...] = closure((key for metric in metrics for key in metric.requires(settings)), settings)
    return frozenset(key for key in keys if key.pixels) or frozenset(metric.label for metric in metrics)
