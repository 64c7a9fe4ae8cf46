"""Recompute published agreement numbers and say which agree.

vericap verify
vericap verify --datasets flickr8k-expert --metrics bleu-4,cider-d
"""

from __future__ import annotations

import argparse
from pathlib import Path

from vericap.cli import flags
from vericap.meta.scoring import KeptScores
from vericap.meta.verification import DIFFERS, verdict_table, verify
from vericap.metrics.registry import resolve


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--datasets", metavar="NAMES", help="comma-separated (default: all with known numbers)")
    parser.add_argument("--metrics", "-m", metavar="NAMES", help="comma-separated (default: all)")
    parser.add_argument(
        "--data", "--data-folder", type=Path, metavar="DIR", help="where data sets lie (default: $VERICAP_DATA)"
    )
    parser.add_argument("--resume", type=Path, metavar="DIR", help="keep scores there and take them up again")
    parser.add_argument("--table", choices=("text", "markdown", "latex", "csv", "json"), default="text")


def run(args: argparse.Namespace) -> int:
    verdicts = verify(
        datasets=args.datasets.split(",") if args.datasets else None,
        metrics=[metric.name for metric in resolve(args.metrics)] if args.metrics else None,
        data_folder=args.data,
        store=KeptScores(args.resume) if args.resume else None,
    )
    print(flags(verdict_table(verdicts).render(args.table)), end="")
    return 1 if any(verdict.status == DIFFERS for verdict in verdicts) else 0
