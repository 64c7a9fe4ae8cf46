"""List the metrics, or print one metric's card."""

from __future__ import annotations

import argparse
import json

from vericap.core.errors import MissingPart
from vericap.core.metric import Metric
from vericap.core.table import Table
from vericap.metrics.cards import card
from vericap.metrics.registry import metric_class, names, sets
from vericap.run.analyses import known


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="print this metric's card")
    parser.add_argument("--analyses", action="store_true", help="list what metrics read, and what it costs")
    parser.add_argument("--json", action="store_true", help="print the list as JSON")


def run(args: argparse.Namespace) -> int:
    if args.name:
        print(card(args.name))
        return 0
    table = _analyses() if args.analyses else _metrics()
    print(json.dumps(table.records(), indent=2) if args.json else table.text(), end="")
    return 0


def _analyses() -> Table:
    table = Table(["analysis", "of each", "bytes each", "what"], title="what metrics read, each computed once")
    for name, key in known().items():
        table.add(name, key.index, key.cost or "-", (key.__doc__ or "").strip().splitlines()[0])
    return table


def _metrics() -> Table:
    table = Table(["metric", "better", "range", "needs", "reasons", "options", "what"])
    for name in names():
        try:
            found = metric_class(name)
        except MissingPart as error:
            table.add(name, "-", "-", "-", "-", "-", str(error))
            continue
        low, high = (f"{bound:g}" for bound in found.range)
        languages = f" ({', '.join(found.languages)})" if found.languages else ""
        options = " ".join(f"{key}={option.default}" for key, option in found.options.items())
        needs = ", ".join(found.needs) or "candidate only"
        table.add(
            name,
            found.direction,
            f"{low} .. {high}",
            needs,
            "yes" if found.explain is not Metric.explain else "no",
            options or "-",
            f"{found.title}{languages}",
        )
    table.notes = [
        "Sets: " + "; ".join(f"{name} = {', '.join(members)}" for name, members in sets().items()),
        "Options follow the name (rouge-l:beta=1); mean(a,b) averages; `vericap metrics NAME` prints a card.",
    ]
    return table
