"""Compare systems on the same references, with tests against the first one.

vericap compare base.json new.json --references captions_val2014.json --metrics coco
vericap compare base.json new.json --references captions_val2014.json --fail-if 'cider-d drops 0.02' --strict
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from vericap.cli import common, flags
from vericap.core.errors import Problem
from vericap.core.samples import Sample
from vericap.core.table import Table
from vericap.io import check_output, load_systems
from vericap.io.write import named_files, write_rows
from vericap.metrics.registry import resolve
from vericap.run import gate
from vericap.run.compare import LEVEL, MORE, TESTS, Comparison, compare_samples
from vericap.run.engine import Run
from vericap.run.significance import RESAMPLES

if TYPE_CHECKING:
    from vericap.run.diagnosis import Finding


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("systems", nargs="+", metavar="SYSTEM", help="captions of one system each; NAME=FILE names it")
    common.add_input(parser)
    common.add_scoring(parser)
    # How many draws a test needs is not how many an interval needs.
    parser.set_defaults(resamples=None)
    group = parser.add_argument_group(
        "tests", f"{RESAMPLES} resamples, {MORE} where a star would hang on the seed; --resamples fixes their number"
    )
    group.add_argument("--test", choices=TESTS, default="bootstrap", help="paired test (default: bootstrap)")
    group.add_argument(
        "--level", type=float, default=LEVEL, metavar="P", help=f"adjusted p of a star and of --fail-if ({LEVEL})"
    )
    group.add_argument(
        "--fail-if",
        action="append",
        default=[],
        metavar="CONDITION",
        help="'METRIC drops' or 'METRIC drops NUMBER': exit with 1 where a later system is significantly worse than "
        "the first (by more than NUMBER); repeatable",
    )
    group = parser.add_argument_group("output")
    group.add_argument("--strict", action="store_true", help="exit with 1 where something is suspicious")
    group.add_argument("--details", action="store_true", help="intervals, differences and p-values, a line each")
    common.add_table(group, x100=False)
    group.add_argument(
        "--json", dest="table", action="store_const", const="json", help="same as --table json --details"
    )
    group.add_argument(
        "--output",
        "-o",
        type=Path,
        metavar="FILE",
        help="write the table as .tex .md .txt .html (with --details the detailed one), the detailed one as .csv .json",
    )
    group.add_argument(
        "--captions",
        type=Path,
        metavar="FILE",
        help="write a row per caption with every system's caption and scores: .jsonl .csv .parquet .json",
    )


def run(args: argparse.Namespace) -> int:
    run = Run(resolve(args.metrics, code=True, lang=args.lang), common.settings(args))
    conditions = [gate.parse(text, [metric.label for metric in run.metrics]) for text in args.fail_if]
    systems: dict[str, list[Sample]] = {}
    problems: list[Problem] = []
    notes: list[str] = []
    paths, names = label(args.systems)
    inputs = [*paths, *args.references, *named_files(run.settings, run.metrics)]
    common.check_table(args.output, inputs)
    if args.captions:
        check_output(args.captions, [*inputs, *([args.output] if args.output else [])], what="captions")
    with common.working(args, "reading"):
        found_files = load_systems(paths, args.references, **common.reading(args))
    for name, loaded in zip(names, found_files):
        systems[name] = run.name_images(loaded.samples)
        problems += loaded.problems
        notes += [f"{name}: {text}" for text in [*loaded.warnings, *loaded.notes]]
    run, left = run.fitted([sample for own in systems.values() for sample in own])
    notes[:0] = left
    with common.working(args, "scoring and testing"):
        found = compare_samples(systems, run, test=args.test, resamples=args.resamples, level=args.level)
    if args.details or args.output or args.table == "json":
        from vericap.meta import gaps

        found.meaning, found.caveat = gaps.meaning, gaps.CAVEAT
    verdicts = gate.judge(found, conditions)
    printed(args, found, verdicts)
    if args.output:
        kind = common.TABLE_FILES[args.output.suffix.lower()]
        details = args.details or kind in ("csv", "json")
        common.write_table(args.output, rendered(args, found, verdicts, kind, details=details))
    if args.captions:
        write_rows(found.captions_table(), args.captions, found.signatures)
    diagnosis = found.diagnosis if args.strict or not args.quiet else {}
    suspicious = {name: [finding for finding in own if finding.suspicious] for name, own in diagnosis.items()}
    habits = {name: [finding for finding in own if not finding.suspicious] for name, own in diagnosis.items()}
    told = [*(f"suspicious: {text}" for text in _lines(suspicious)), *map(str, verdicts)]
    for text in told:
        # Under a table that people read; beside one that a program reads.
        print(flags(text)) if args.table == "text" else common.say(text)
    for name, result in found.results.items():
        problems += [Problem(f"{name}: {problem.record}", problem.reason) for problem in result.problems]
    if not args.quiet:
        warnings = (text for result in found.results.values() for text in result.warnings)
        for text in dict.fromkeys([*notes, *warnings, *_lines(habits)]):
            common.say(f"note: {text}")
    common.report_problems(problems)
    failed = any(verdict.failed for verdict in verdicts) or (args.strict and any(suspicious.values()))
    return 1 if problems or failed else 0


def _lines(findings: dict[str, list[Finding]]) -> list[str]:
    if not any(findings.values()):
        return []
    from vericap.run.diagnosis import lines  # its patterns are compiled when there is something to say

    return lines(findings)


def printed(args: argparse.Namespace, found: Comparison, verdicts: list[gate.GateOutcome]) -> None:
    """The comparison on standard output."""
    if args.table == "json":
        print(rendered(args, found, verdicts, "json", details=True), end="")
        return
    common.show(_form(args, found, args.table, args.details), args.table)


def _form(args: argparse.Namespace, found: Comparison, kind: str, details: bool) -> Table:
    return found.form(kind, details=details, x100=args.x100, signatures=args.signatures)


def rendered(
    args: argparse.Namespace, found: Comparison, verdicts: list[gate.GateOutcome], kind: str, *, details: bool
) -> str:
    """The comparison in one form; JSON tells of the gate too."""
    if kind != "json":
        return flags(_form(args, found, kind, details).render(kind))
    gated = {"gate": [verdict.as_dict() for verdict in verdicts]} if verdicts else {}
    return json.dumps({**found.as_dict(x100=args.x100), **gated}, ensure_ascii=False, indent=2) + "\n"


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
