"""Score a file of captions.

vericap score captions.json --references captions_val2014.json --metrics coco
vericap score captions.jsonl --metrics bleu-4,cider-d --df coco-val --output scores.csv
cat captions.jsonl | vericap score - --metrics meteor --json
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from vericap.cli import common, flags
from vericap.core.samples import Sample
from vericap.core.table import Table
from vericap.io import load, write_result
from vericap.io.write import check_output
from vericap.metrics.registry import resolve
from vericap.run.engine import Run
from vericap.run.results import Result

if TYPE_CHECKING:
    from vericap.run.diagnosis import Finding


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("candidates", metavar="CANDIDATES", help="captions to judge; - for standard input")
    common.add_input(parser)
    common.add_scoring(parser)
    group = parser.add_argument_group("output")
    group.add_argument("--output", "-o", metavar="FILE", help="one row per caption: .jsonl .csv .parquet .json")
    group.add_argument("--confidence", action="store_true", help="95 %% bootstrap intervals")
    group.add_argument(
        "--explain",
        action="store_true",
        help="reasons for each caption's scores: in --output, or of the worst captions in the terminal",
    )
    group.add_argument("--worst", type=common.positive, default=5, metavar="N", help="captions --explain prints (5)")
    group.add_argument(
        "--page", type=Path, metavar="FILE", help="HTML page of captions with photos, scores and heat maps of words"
    )
    group.add_argument("--json", action="store_true", help="print machine-readable results")
    group.add_argument("--strict", action="store_true", help="exit with 1 where something is suspicious")


def run(args: argparse.Namespace) -> int:
    run = Run(resolve(args.metrics, code=True), common.settings(args))
    if args.output:
        check_output(args.output)
    loaded = load(args.candidates, args.references, format=args.format, reference_format=args.reference_format)
    samples = run.name_images(loaded.samples)
    explain = args.explain and args.output is not None
    result = run.score(samples, confidence=args.confidence, resamples=args.resamples, explain=explain)
    result.warnings = [*loaded.warnings, *result.warnings]
    result.notes = [*loaded.notes, *result.notes]
    if args.output:
        write_result(result, args.output, unread=loaded.problems)
    if args.page:
        _page(args.page, run, result, samples)
    problems = [*loaded.problems, *result.problems]
    findings = [] if args.quiet and not (args.strict or args.json) else _findings(samples, result, args.lang)
    suspicious = [finding for finding in findings if finding.suspicious]
    if args.json:
        beside = {"problems": [str(problem) for problem in problems], "diagnosis": [one.as_dict() for one in findings]}
        print(json.dumps({**result.summary(), **beside}, ensure_ascii=False, indent=2))
    else:
        print(corpus_table(result).text(), end="")
        for text in _lines(suspicious):
            print(flags(f"suspicious: {text}"))
        if args.explain and not args.output:
            _worst(run, result, samples, args.worst)
    if not args.quiet:
        for text in result.warnings:
            common.say(f"warning: {text}")
        for text in [*result.notes, *_lines([one for one in findings if not one.suspicious])]:
            common.say(f"note: {text}")
    common.report_problems(problems)
    return 1 if problems or (args.strict and suspicious) else 0


def _findings(samples: Sequence[Sample], result: Result, lang: str) -> list[Finding]:
    from vericap.run.diagnosis import diagnose  # its patterns are compiled when somebody wants to know

    return diagnose(samples, result, lang=lang, habits=True)


def _lines(findings: list[Finding]) -> list[str]:
    if not findings:
        return []
    from vericap.run.diagnosis import lines

    return lines({"": findings})


def _worst(run: Run, result: Result, samples: Sequence[Sample], count: int) -> None:
    """The captions with the lowest scores of the first metric, with every metric's reasons."""
    from vericap.report import terminal

    rows = result.worst(count)
    found = run.explain([samples[row] for row in rows], states=result.states)
    print(terminal.worst_captions(result, samples, rows, found), end="")


def _page(file: Path, run: Run, result: Result, samples: Sequence[Sample]) -> None:
    from vericap.report import reasons

    shown = samples[: reasons.MOST]
    found = run.explain(shown, states=result.states, full=True)
    file.write_text(reasons.page(result, samples, found, images=run.settings.images), encoding="utf-8")


def corpus_table(result: Result) -> Table:
    """Corpus scores with intervals and signatures."""
    bounds = any(score.interval for score in result.corpus.values())
    columns = ["metric", "score", *(["95 % interval"] if bounds else []), "captions", "signature"]
    table = Table(columns)
    for name, score in result.corpus.items():
        shown = f"{score.value:.4f}" if score.value is not None else f"undefined: {score.reason}"
        interval = [f"{score.interval[0]:.4f} - {score.interval[1]:.4f}" if score.interval else "-"] if bounds else []
        arrow = " (lower is better)" if score.direction == "lower" else ""
        table.add(name + arrow, shown, *interval, score.count, score.signature)
    return table
