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
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from vericap.cli import common, flags
from vericap.core.errors import VericapError
from vericap.core.samples import Sample
from vericap.core.score import Score
from vericap.io.load import read_all
from vericap.io.scoring import FileRun, Finished, Output, Request, shared_look
from vericap.io.stream import Input, open_input
from vericap.io.units import RECORDS
from vericap.io.write import named_files, write_problems, write_result
from vericap.metrics.registry import resolve
from vericap.run.engine import Reasons, Run
from vericap.run.results import Result, corpus_table

if TYPE_CHECKING:
    from vericap.run.diagnosis import Finding
    from vericap.run.stream import Outcome

FIGURES = "draw the distribution of every score, and heat maps of the --worst captions where a metric has any"
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
        "--engine", choices=("local", "ray"), default="local", help="who works: processes here, or a Ray cluster"
    )
    group.add_argument(
        "--address", default="", metavar="HOST:PORT|auto", help="of the Ray cluster (default: one is started here)"
    )
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
    group.add_argument("--figures", type=Path, metavar="DIR", help=FIGURES)
    common.add_figure_format(group)
    common.add_printing(group, x100=False)
    group.add_argument("--json", action="store_true", help="print machine-readable results")
    group.add_argument("--strict", action="store_true", help="exit with 1 where something is suspicious")


def shard(text: str) -> tuple[int, int]:
    """The share of a process: 3/8."""
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        raise argparse.ArgumentTypeError(f"'{text}' is not like 3/8: the third of eight")
    return int(found[1]), int(found[2])


def run(args: argparse.Namespace) -> int:
    run = Run(resolve(args.metrics, code=True, lang=args.lang), common.settings(args))
    if args.json and args.output == "-":
        raise VericapError("--json and --output - both want standard output; choose one")
    beside = named_files(run.settings, run.metrics)
    output = Output.of(args.output, [args.candidates, *args.references, *beside])
    common.check_figures(args)
    with _opened(args, output) as source:
        if args.output:
            Output.of(args.output, source.paths)
        apart = args.resume is not None or args.shard or output.parts or args.output == "-" or args.engine == "ray"
        if apart or len(source.units) > WHOLE:
            return _in_shards(args, run, source, output)
        return _whole(args, run, source)


def _opened(args: argparse.Namespace, output: Output) -> Input:
    """The input; of the shares of a run one looks through it, and tells the others what it found."""
    how = {**common.reading(args), "records": args.shard_records, "workers": args.workers}
    shared = shared_look(output, args.resume) if args.shard else nullcontext(None)
    with common.working(args, "looking at the input"), shared as known:
        return open_input(args.candidates, args.references, **how, known=known)


# --- all at once ------------------------------------------------------------------------------------------------


def _whole(args: argparse.Namespace, run: Run, source: Input) -> int:
    with common.working(args, "reading"):
        loaded = read_all(source)
    run, left = run.fitted(loaded.samples)
    samples = run.name_images(loaded.samples)
    explain = args.explain and args.output is not None
    with common.working(args, "scoring"):
        result = run.score(samples, confidence=args.confidence, resamples=args.resamples, explain=explain)
    result.warnings = [*loaded.warnings, *result.warnings]
    result.notes = [*left, *loaded.notes, *result.notes]
    problems = [*loaded.problems, *result.problems]
    if args.output:
        beside = loaded.columns(_columns(args), list(result.table))
        write_result(result, args.output, unread=loaded.problems, beside=beside)
        side = Output.of(args.output, []).side
        if side is not None:
            write_problems(problems, side)
    if args.figures:
        _figures(args, run, result, samples)
    findings = [] if args.quiet and not (args.strict or args.json) else _findings(samples, result, args.lang)
    worst = None
    if args.explain and not args.output:
        with common.working(args, "reasons"):
            worst = Worst.of(run, result, samples, args.worst)
    _tell(args, result.corpus, {**result.summary()}, findings, [str(problem) for problem in problems], worst)
    _say(args, result.warnings, result.notes, findings)
    common.report_problems(problems)
    return 1 if problems or (args.strict and any(finding.suspicious for finding in findings)) else 0


def _columns(args: argparse.Namespace) -> tuple[str, ...]:
    return tuple(name.strip() for name in args.columns.split(",") if name.strip())


# --- shard by shard -----------------------------------------------------------------------------------------------


def _in_shards(args: argparse.Namespace, run: Run, source: Input, output: Output) -> int:
    printed = args.explain and args.output is None
    if args.figures:
        raise VericapError(f"--figures draws what is in memory: at most {WHOLE} pieces; raise --shard-records")
    request = Request(
        output=output,
        resume=args.resume,
        shard=args.shard,
        engine=args.engine,
        address=args.address,
        columns=_columns(args),
        explain=args.explain and args.output is not None,
        worst=args.worst if printed else 0,
        intervals=args.resamples if args.confidence else 0,
    )
    with FileRun(source, run, request) as work:
        try:
            with common.working(args, "scoring"):
                work.execute()
        except Finished as finished:
            common.say("the run was done before; nothing is left to do")
            tell(args, finished.outcome, [])
            return 0
        if work.outcome is None:
            return _share_done(args, work)
        work.outcome.notes += [str(problem) for problem in source.problems]
        findings = _findings(work.outcome.examples, None, args.lang)
        captions = work.worst(args.worst) if printed else []
        worst = None
        if captions:
            judged, states = work.judged(captions)
            worst = Worst(judged, captions, range(len(captions)), work.run.explain(captions, states=states))
        work.finish()
        tell(args, work.outcome, findings, worst)
        suspicious = any(finding.suspicious for finding in findings)
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


def tell(args: argparse.Namespace, outcome: Outcome, findings: list[Finding], worst: Worst | None = None) -> None:
    """Print what came of a run over shards."""
    _tell(args, outcome.corpus, outcome.summary(), findings, outcome.first_problems, worst)
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
    worst: Worst | None,
) -> None:
    """The corpus scores and the worst captions, on standard output unless rows are there."""
    stream = sys.stderr if args.output == "-" else sys.stdout
    if args.json:
        if args.x100:
            summary["scores"] = {name: score.times100().as_dict() for name, score in corpus.items()}
            summary["x100"] = True
        beside = {"problems": problems, "diagnosis": [finding.as_dict() for finding in findings]}
        named = {"worst": worst.records()} if worst is not None else {}
        print(json.dumps({**summary, **beside, **named}, ensure_ascii=False, indent=2))
        return
    common.show(corpus_table(corpus, x100=args.x100, signatures=args.signatures), stream=stream)
    for text in _lines([finding for finding in findings if finding.suspicious]):
        print(flags(f"suspicious: {text}"), file=stream)
    if worst is not None:
        stream.write(common.printable(worst.text(stream, x100=args.x100), stream))


def _say(args: argparse.Namespace, warnings: list[str], notes: list[str], findings: list[Finding]) -> None:
    if args.quiet:
        return
    for text in warnings:
        common.say(f"warning: {text}")
    for text in [*notes, *_lines([finding for finding in findings if not finding.suspicious])]:
        common.say(f"note: {text}")


def _findings(samples: Sequence[Sample], result: Result | None, lang: str) -> list[Finding]:
    from vericap.run.diagnosis import diagnose  # its patterns are compiled when somebody wants to know

    return diagnose(samples, result, lang=lang, habits=True)


def _lines(findings: list[Finding]) -> list[str]:
    if not findings:
        return []
    from vericap.run.diagnosis import lines

    return lines({"": findings})


@dataclass
class Worst:
    """The captions with the worst scores of the first metric, with every metric's reasons."""

    result: Result
    samples: Sequence[Sample]
    rows: Sequence[int]
    reasons: Reasons

    @classmethod
    def of(cls, run: Run, result: Result, samples: Sequence[Sample], count: int) -> Worst:
        rows = result.worst(count)
        return cls(result, samples, rows, run.explain([samples[row] for row in rows], states=result.states))

    def text(self, stream: TextIO, *, x100: bool) -> str:
        from vericap.report.terminal import worst_captions

        width, colour = common.columns(stream), common.coloured(stream)
        return worst_captions(
            self.result, self.samples, self.rows, self.reasons, width=width, colour=colour, x100=x100
        )  # fmt: skip

    def records(self) -> list[dict[str, Any]]:
        """For programs: as a row of --output."""
        named = list(self.result.records())
        told = {name: [None if own is None else own.as_dict() for own in found] for name, found in self.reasons.items()}
        return [
            {**named[row], **{f"{name}.explanation": own[place] for name, own in told.items()}}
            for place, row in enumerate(self.rows)
        ]


def _figures(args: argparse.Namespace, run: Run, result: Result, samples: Sequence[Sample]) -> None:
    """Distributions of all scores; heat maps of the worst captions."""
    from vericap.report.score_figures import draw

    rows = result.worst(args.worst)
    chosen = [samples[row] for row in rows]
    for path in draw(result, chosen, run.explain(chosen, states=result.states, full=True), args.figures, args.format_):
        common.say(f"wrote {path}")
