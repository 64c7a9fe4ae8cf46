"""Recompute published agreement numbers and say which agree.

vericap verify
vericap verify --datasets flickr8k-expert --metrics bleu-4,cider-d
vericap verify --resume verified/ --output verified.tex
"""

from __future__ import annotations

import argparse
from pathlib import Path

from vericap.cli import common
from vericap.core.settings import Settings
from vericap.core.table import Table
from vericap.meta.resume import kept_run
from vericap.meta.verification import DIFFERS, judge, sources_below, verdict_table, wanted
from vericap.metrics.registry import resolve


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--datasets", metavar="NAMES", help="comma-separated (default: all with known numbers)")
    parser.add_argument("--metrics", "-m", metavar="NAMES", help="comma-separated (default: all)")
    parser.add_argument(
        "--data", "--data-folder", type=Path, metavar="DIR", help="where data sets lie (default: $VERICAP_DATA)"
    )
    parser.add_argument("--resume", type=Path, metavar="DIR", help=common.RESUME)
    common.add_table(parser, x100=True)
    parser.add_argument("--output", "-o", type=Path, metavar="FILE", help=common.TABLE_OUTPUT)
    parser.add_argument("--quiet", "-q", action="store_true", help="no progress bars, no notes")


def run(args: argparse.Namespace) -> int:
    common.check_table(args.output)
    named = [metric.name for metric in resolve(args.metrics)] if args.metrics else None
    datasets = args.datasets.split(",") if args.datasets else None
    with common.working(args, "reading"):
        work = wanted(datasets=datasets, metrics=named, data_folder=args.data)
    metrics, settings = resolve(work.metrics()) if work.metrics() else [], Settings(progress=not args.quiet)
    with kept_run(args.resume, work, {"command": "verify"}, metrics, settings) as kept:
        if kept.tables is not None:
            common.say("the run was done before; nothing is left to do")
            emit(args, kept.tables[0])
            return 0
        with common.working(args, "recomputing"):
            verdicts = judge(work, settings=settings, store=kept.store)
        table = verdict_table(verdicts)
        table.notes += [] if not args.signatures else [metric.spec for metric in metrics]
        kept.finish([table])
    emit(args, table)
    return 1 if any(verdict.status == DIFFERS for verdict in verdicts) else 0


def emit(args: argparse.Namespace, table: Table) -> None:
    """Print the table and write it where that is asked for."""
    table.x100 = args.x100
    common.show(_for(args.table, table), args.table)
    if args.output:
        kind = common.TABLE_FILES[args.output.suffix.lower()]
        common.write_table(args.output, _for(kind, table).render(kind))


def _for(kind: str, table: Table) -> Table:
    return table if kind in ("csv", "json") else sources_below(table)
