"""List the metrics, or print one metric's card."""

from __future__ import annotations

import argparse
import json
from math import isfinite

from vericap.cli import common
from vericap.core.errors import MissingPart
from vericap.core.metric import Metric
from vericap.core.table import Table
from vericap.metrics.cards import card, needed, tells
from vericap.metrics.registry import metric_class, names, sets
from vericap.run.analyses import known


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="a metric or a set, whose card is printed")
    parser.add_argument("--analyses", action="store_true", help="list what metrics read, and what it costs")
    parser.add_argument("--json", action="store_true", help="print the list as JSON")


def run(args: argparse.Namespace) -> int:
    if args.name:
        print(card(args.name))
        return 0
    if args.json:
        print(json.dumps(_analyses().records() if args.analyses else _records(), indent=2))
        return 0
    common.show(_analyses() if args.analyses else _metrics())
    return 0


def _analyses() -> Table:
    table = Table(["analysis", "of each", "bytes each", "what"], title="what metrics read, each computed once")
    for name, key in known().items():
        said = (key.__doc__ or "").strip().splitlines()[0]
        undocumented = said.startswith(f"{name}(")  # what a dataclass says of itself
        table.add(name, key.index, key.cost or "-", "weights of a model, opened once" if undocumented else said)
    return table


def _metrics() -> Table:
    """The list for people: what each metric tells and needs."""
    table = Table(["metric", "what it tells", "better", "needs"])
    for name in names():
        try:
            table.add(name, tells(name), metric_class(name).direction, needed(name))
        except MissingPart as error:
            table.add(name, str(error), "-", "-")
    table.notes = [
        *(f"Set {name}: {', '.join(members)}" for name, members in sets().items()),
        "`vericap metrics NAME` prints a card: how it is computed, range, options, limits, whom to cite.",
        "Options follow the name (rouge-l:beta=1); mean(a,b) averages.",
    ]
    return table


def _records() -> list[dict[str, object]]:
    """The list for programs: everything that a metric says of itself."""
    found: list[dict[str, object]] = []
    for name in names():
        try:
            metric = metric_class(name)
        except MissingPart as error:
            found.append({"metric": name, "missing": str(error)})
            continue
        found.append(
            {
                "metric": name,
                "title": metric.title,
                "tells": tells(name),
                "better": metric.direction,
                "range": [bound if isfinite(bound) else None for bound in metric.range],
                "needs": list(metric.needs),
                "languages": list(metric.languages),
                "options": {key: option.default for key, option in metric.options.items()},
                "explains": metric.explain is not Metric.explain,
            }
        )
    return found
