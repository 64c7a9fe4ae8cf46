"""Join what several `vericap score ... --shard I/N` processes have done.

vericap merge scores.jsonl
vericap merge scores/
"""

from __future__ import annotations

import argparse
from pathlib import Path

from vericap.cli import common
from vericap.cli.score import tell
from vericap.core.errors import InputError
from vericap.io.scoring import Output, merge_shards
from vericap.run.manifest import NAME, Manifest, locked


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("output", metavar="OUTPUT", help="the --output of the shards: a file or a folder")
    parser.add_argument("--resume", metavar="DIR", help="the --resume of the shards, where they had one")
    common.add_printing(parser, x100=False)
    parser.add_argument("--json", action="store_true", help="print machine-readable results")
    parser.add_argument("--quiet", "-q", action="store_true", help="no notes")


def run(args: argparse.Namespace) -> int:
    path = Path(args.output)
    folder = Path(args.resume) if args.resume else path if path.is_dir() else path.with_name(f"{path.name}.state")
    stored = Manifest(folder, {}).stored() if folder.is_dir() else None
    if stored is None or "plan" not in stored:
        raise InputError(f"{path}: no run is kept for it ({folder / NAME}); name what `vericap score --shard` wrote")
    plan = stored["plan"]
    name = str(folder / f"*{plan['output']}") if plan["folder"] else args.output
    with locked(folder):
        outcome = merge_shards(folder, Output.of(name, []))
    tell(args, outcome, [])
    if not args.quiet:
        common.say(f"{outcome.captions} captions are in {path}")
    return 1 if outcome.problems else 0
