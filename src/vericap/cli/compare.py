"""Compare systems on the same references, with p-values against the first one.

vericap compare base.json new.json --references captions_val2014.json --metrics coco
"""

from __future__ import annotations

import argparse
from pathlib import Path

from vericap.cli import common
from vericap.core.errors import Problem
from vericap.core.samples import Sample
from vericap.io import load_systems
from vericap.metrics.registry import resolve
from vericap.run.compare import TESTS, compare_samples
from vericap.run.engine import Run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "systems", nargs="+", metavar="SYSTEM", help="captions of one system each; NAME=FILE names it"
    )
    common.add_input(parser)
    common.add_scoring(parser)
    parser.add_argument("--test", choices=TESTS, default="bootstrap", help="paired test (default: bootstrap)")
    parser.add_argument(
        "--details", action="store_true", help="intervals, differences and p-values, a line each"
    )
    parser.add_argument(
        "--table", choices=("text", "markdown", "latex", "csv", "json"), default="text", help="how to print"
    )
    parser.add_argument(
        "--json", dest="table", action="store_const", const="json", help="same as --table json --details"
    )
    parser.add_argument(
        "--output", "-o", type=Path, metavar="FILE", help="write the detailed table as .csv or .json"
    )


def run(args: argparse.Namespace) -> int:
    run = Run(resolve(args.metrics, code=True), common.settings(args))
    systems: dict[str, list[Sample]] = {}
    problems: list[Problem] = []
    notes: list[str] = []
    paths, names = label(args.systems)
    found_files = load_systems(paths, args.references, format=args.format, reference_format=args.reference_format)
    for name, loaded in zip(names, found_files):
        systems[name] = run.name_images(loaded.samples)
        problems += loaded.problems
        notes += [f"{name}: {text}" for text in [*loaded.warnings, *loaded.notes]]
    found = compare_samples(systems, run, test=args.test, resamples=args.resamples)
    detailed = args.details or args.table == "json"
    print((found.details() if detailed else found.table()).render(args.table), end="")
    if args.output:
        kind = "json" if args.output.suffix == ".json" else "csv"
        args.output.write_text(found.details().render(kind), encoding="utf-8")
    for name, result in found.results.items():
        problems += [Problem(f"{name}: {problem.record}", problem.reason) for problem in result.problems]
    if not args.quiet:
        for text in dict.fromkeys([*notes, *(w for r in found.results.values() for w in r.warnings)]):
            common.say(f"note: {text}")
    common.report_problems(problems)
    return 1 if problems else 0


def label(systems: list[str]) -> tuple[list[str], list[str]]:
    """Paths and names: NAME=FILE, else the file's stem, made distinct where stems repeat."""
    paths, names = [], []
    for text in systems:
        name, sign, path = text.partition("=")
        if not sign or not name or Path(text).exists():
            name, path = Path(text).name.split(".")[0], text
        while name in names:
            name += "'"
        paths.append(path)
        names.append(name)
    return paths, names
