"""List the metrics, or print one metric's card."""

from __future__ import annotations

import argparse
import json

from vericap.errors import MissingPart
from vericap.metrics.cards import card
from vericap.metrics.registry import METRICS, SETS, metric_class
from vericap.report.tables import Table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="print this metric's card")
    parser.add_argument("--json", action="store_true", help="print the list as JSON")


def run(args: argparse.Namespace) -> int:
    if args.name:
        print(card(args.name))
        return 0
    table = Table(["metric", "better", "range", "needs", "options", "what"])
    for name in METRICS:
        try:
            found = metric_class(name)
        except MissingPart as error:
            table.add(name, "-", "-", "-", "-", str(error))
            continue
        low, high = (f"{bound:g}" for bound in found.range)
        languages = f" ({', '.join(found.languages)})" if found.languages else ""
        options = " ".join(f"{key}={option.default}" for key, option in found.options.items())
        needs = ", ".join(found.needs) or "candidate only"
        table.add(
            name, found.direction, f"{low} .. {high}", needs, options or "-", f"{found.title}{languages}"
        )
    table.notes = [
        "Sets: " + "; ".join(f"{name} = {', '.join(members)}" for name, members in SETS.items()),
        "Options follow the name (rouge-l:beta=1); mean(a,b) averages; `vericap metrics NAME` prints a card.",
    ]
    print(json.dumps(table.records(), indent=2) if args.json else table.text(), end="")
    return 0
