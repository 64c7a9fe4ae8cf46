"""Score captions: a file, a folder of photos with captions, tar shards, a table.

vericap score captions.json --references captions_val2014.json --metrics coco
vericap score captions.jsonl --metrics bleu-4,cider-d --df coco-val --output scores.csv --columns all
vericap score 'shards/{000..099}.tar' --metrics vse,chair --output scores/ --workers 2 --resume
cat captions.jsonl | vericap score - --metrics meteor --json

Large inputs are read, scored and written in pieces, so that memory stays flat. A run that was cut short goes on with
--resume; several machines share one with --shard 1/8 ... 8/8, and `vericap merge` puts their work together.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vericap.cli import common, flags
from vericap.core.errors import VericapError
from vericap.core.samples import Sample
from vericap.core.score import Score
from vericap.core.table import Table
from vericap.io.load import read_all
from vericap.io.scoring import FileRun, Finished, Output, Request
from vericap.io.stream import Input, open_input
from vericap.io.units import RECORDS
from vericap.io.write import check_output, write_problems, write_result
from vericap.metrics.registry import resolve
from vericap.run.engine import Run
from vericap.run.results import Result

if TYPE_CHECKING:
    from vericap.run.diagnosis import Finding
    from vericap.run.stream import Outcome

WHOLE = 3  # units that are scored at once, in memory; more are scored one by one


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "candidates",
        metavar="CANDIDATES",
        help="captions to judge: a file, a folder, a pattern ('{000..099}.tar', '*.parquet'), - for standard input",
    )
    common.add_input(parser)
    common.add_scoring(parser)
    group = parser.add_argument_group("output")
    group.add_argument(
        "--output",
        "-o",
        metavar="FILE",
        help="one row per caption: .jsonl .csv .parquet .json, a folder of parts (DIR/ or 'DIR/*.csv'), - for rows as "
        "JSONL on standard output",
    )
    group.add_argument("--columns", default="", metavar="NAMES|all", help="columns of the input to pass on to --output")
    group.add_argument(
        "--resume",
        nargs="?",
        const="",
        metavar="DIR",
        help="go on where an earlier run stopped; its state is beside the output, or in DIR",
    )
    group.add_argument("--shard", type=shard, metavar="I/N", help="do the I-th of N shares; `vericap merge` joins them")
    group.add_argument(
        "--shard-records", type=common.positive, default=RECORDS, metavar="N", help=f"records in a piece ({RECORDS})"
    )
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


def shard(text: str) -> tuple[int, int]:
    """The share of a process: 3/8."""
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        raise argparse.ArgumentTypeError(f"'{text}' is not like 3/8: the third of eight")
    return int(found[1]), int(found[2])


def run(args: argparse.Namespace) -> int:
    run = Run(resolve(args.metrics, code=True), common.settings(args))
    if args.json and args.output == "-":
        raise VericapError("--json and --output - both want standard output; choose one")
    output = Output.of(args.output, [args.candidates, *args.references])
    if args.page:
        check_output(args.page, [args.candidates, *args.references, args.output or ""], kinds=(), what="pages")
    with open_input(args.candidates, args.references, **common.reading(args), records=args.shard_records) as source:
        if args.output:
            Output.of(args.output, source.paths)
        apart = args.resume is not None or args.shard or output.parts or args.output == "-"
        if apart or len(source.units) > WHOLE:
            return _in_shards(args, run, source, output)
        return _whole(args, run, source)


# --- all at once ------------------------------------------------------------------------------------------------


def _whole(args: argparse.Namespace, run: Run, source: Input) -> int:
    loaded = read_all(source)
    samples = run.name_images(loaded.samples)
    explain = args.explain and args.output is not None
    result = run.score(samples, confidence=args.confidence, resamples=args.resamples, explain=explain)
    result.warnings = [*loaded.warnings, *result.warnings]
    result.notes = [*loaded.notes, *result.notes]
    problems = [*loaded.problems, *result.problems]
    if args.output:
        beside = loaded.columns(_columns(args), list(result.table))
        write_result(result, args.output, unread=loaded.problems, beside=beside)
        side = Output.of(args.output, []).side
        if side is not None:
            write_problems(problems, side)
    if args.page:
        _page(args.page, run, result, samples, run.explain(samples[:100], states=result.states, full=True))
    findings = [] if args.quiet and not (args.strict or args.json) else _findings(samples, result, args.lang)
    _tell(args, result.corpus, {**result.summary()}, findings, [str(problem) for problem in problems])
    if args.explain and not args.output and not args.json:
        rows = result.worst(args.worst)
        _worst(result, samples, rows, run.explain([samples[row] for row in rows], states=result.states))
    _say(args, result.warnings, result.notes, findings)
    common.report_problems(problems)
    return 1 if problems or (args.strict and any(one.suspicious for one in findings)) else 0


def _columns(args: argparse.Namespace) -> tuple[str, ...]:
    return tuple(name.strip() for name in args.columns.split(",") if name.strip())


# --- shard by shard -----------------------------------------------------------------------------------------------


def _in_shards(args: argparse.Namespace, run: Run, source: Input, output: Output) -> int:
    printed = args.explain and args.output is None and not args.json
    request = Request(
        output=output,
        resume=args.resume,
        shard=args.shard,
        columns=_columns(args),
        explain=args.explain and args.output is not None,
        worst=args.worst if printed else 0,
        intervals=args.resamples if args.confidence else 0,
    )
    with FileRun(source, run, request) as work:
        try:
            work.execute()
        except Finished as finished:
            common.say("the run was done before; nothing is left to do")
            tell(args, finished.outcome, [])
            return 0
        if work.outcome is None:
            return _share_done(args, work)
        work.outcome.notes += [str(problem) for problem in source.problems]
        findings = _findings(work.outcome.examples, None, args.lang)
        if args.page:
            first = work.first(100)
            result, states = work.judged(first)
            _page(args.page, run, result, first, run.explain(first, states=states, full=True))
        worst = work.worst(args.worst) if printed else []
        judged, states = work.judged(worst) if worst else (None, {})
        reasons = run.explain(worst, states=states) if worst else {}
        work.finish()
        tell(args, work.outcome, findings)
        if judged is not None:
            _worst(judged, worst, range(len(worst)), reasons)
        suspicious = any(one.suspicious for one in findings)
        return 1 if work.outcome.problems or source.problems or (args.strict and suspicious) else 0


def _share_done(args: argparse.Namespace, work: FileRun) -> int:
    share, shares = args.shard
    if len(list(work.folder.glob("survey-*.json"))) < len(work.source.units):
        names = ", ".join(metric.label for metric in work.job.later)
        common.say(
            f"share {share} of {shares}: the first look is done. {names} must see the whole corpus: run the same "
            "command again when all shares have come so far"
        )
        return 0
    common.say(f"share {share} of {shares} is done; `vericap merge {args.output or work.folder}` joins all of them")
    return 0


def tell(args: argparse.Namespace, outcome: Outcome, findings: list[Finding]) -> None:
    """Print what came of a run over shards."""
    _tell(args, outcome.corpus, outcome.summary(), findings, outcome.first_problems)
    _say(args, outcome.warnings, outcome.notes, findings)
    if outcome.problems:
        common.report_lines(outcome.first_problems, outcome.problems)


# --- what is told ---------------------------------------------------------------------------------------------------


def _tell(
    args: argparse.Namespace,
    corpus: dict[str, Score],
    summary: dict[str, Any],
    findings: list[Finding],
    problems: list[str],
) -> None:
    """The corpus scores, on standard output unless rows are there."""
    stream = sys.stderr if args.output == "-" else sys.stdout
    if args.json:
        beside = {"problems": problems, "diagnosis": [one.as_dict() for one in findings]}
        print(json.dumps({**summary, **beside}, ensure_ascii=False, indent=2))
        return
    print(corpus_table(corpus).text(), end="", file=stream)
    for text in _lines([finding for finding in findings if finding.suspicious]):
        print(flags(f"suspicious: {text}"), file=stream)


def _say(args: argparse.Namespace, warnings: list[str], notes: list[str], findings: list[Finding]) -> None:
    if args.quiet:
        return
    for text in warnings:
        common.say(f"warning: {text}")
    for text in [*notes, *_lines([one for one in findings if not one.suspicious])]:
        common.say(f"note: {text}")


def _findings(samples: Sequence[Sample], result: Result | None, lang: str) -> list[Finding]:
    from vericap.run.diagnosis import diagnose  # its patterns are compiled when somebody wants to know

    return diagnose(samples, result, lang=lang, habits=True)


def _lines(findings: list[Finding]) -> list[str]:
    if not findings:
        return []
    from vericap.run.diagnosis import lines

    return lines({"": findings})


def _worst(result: Result, samples: Sequence[Sample], rows: Sequence[int], reasons: Any) -> None:
    """The captions with the lowest scores of the first metric, with every metric's reasons."""
    from vericap.report import terminal

    print(terminal.worst_captions(result, samples, rows, reasons), end="")


def _page(file: Path, run: Run, result: Result, samples: Sequence[Sample], found: Any) -> None:
    from vericap.report import reasons

    file.write_text(reasons.page(result, samples, found, images=run.settings.images), encoding="utf-8")


def corpus_table(corpus: dict[str, Score]) -> Table:
    """Corpus scores with intervals and signatures."""
    bounds = any(score.interval for score in corpus.values())
    columns = ["metric", "score", *(["95 % interval"] if bounds else []), "captions", "signature"]
    table = Table(columns)
    for name, score in corpus.items():
        shown = f"{score.value:.4f}" if score.value is not None else f"undefined: {score.reason}"
        interval = [f"{score.interval[0]:.4f} - {score.interval[1]:.4f}" if score.interval else "-"] if bounds else []
        arrow = " (lower is better)" if score.direction == "lower" else ""
        table.add(name + arrow, shown, *interval, score.count, score.signature)
    return table
