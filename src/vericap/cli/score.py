"""Score a file of captions.

vericap score captions.json --references captions_val2014.json --metrics coco
vericap score captions.jsonl --metrics bleu-4,cider-d --df coco-val --output scores.csv
cat captions.jsonl | vericap score - --metrics meteor --json
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path

from vericap.cli import common
from vericap.io import Loaded, load, write_result
from vericap.io.write import check_output
from vericap.metrics.base import Metric
from vericap.metrics.registry import resolve
from vericap.report.reasons import page
from vericap.report.tables import Table
from vericap.results import Result
from vericap.run.engine import score_batch


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("candidates", metavar="CANDIDATES", help="captions to judge; - for standard input")
    common.add_input(parser)
    common.add_scoring(parser)
    group = parser.add_argument_group("output")
    group.add_argument(
        "--output", "-o", metavar="FILE", help="one row per caption: .jsonl .csv .parquet .json"
    )
    group.add_argument("--confidence", action="store_true", help="95 %% bootstrap intervals")
    group.add_argument(
        "--explain", action="store_true", help="reasons for each caption's scores, in --output"
    )
    group.add_argument(
        "--page", type=Path, metavar="FILE", help="HTML page of captions with photos, scores and heat maps of words"
    )
    group.add_argument("--json", action="store_true", help="print machine-readable results")


def run(args: argparse.Namespace) -> int:
    metrics = resolve(args.metrics)
    settings = common.settings(args, explain=args.explain or args.page is not None)
    if args.output:
        check_output(args.output)
    loaded = load(
        args.candidates, args.references, format=args.format, reference_format=args.reference_format
    )
    name_images(loaded, metrics, settings.images is not None or settings.features is not None)
    result = score_batch(
        loaded.samples, metrics, settings, confidence=args.confidence, resamples=args.resamples
    )
    result.warnings = [*loaded.warnings, *result.warnings]
    result.notes = [*loaded.notes, *result.notes]
    if args.output:
        write_result(result, args.output, unread=loaded.problems)
    if args.page:
        args.page.write_text(page(result, loaded.samples, images=settings.images), encoding="utf-8")
    problems = [*loaded.problems, *result.problems]
    if args.json:
        summary = {**result.summary(), "problems": [str(problem) for problem in problems]}
        print(json.dumps(summary, ensure_ascii=False, indent=2))
    else:
        print(corpus_table(result).text(), end="")
    if not args.quiet:
        for text in result.warnings:
            common.say(f"warning: {text}")
        for text in result.notes:
            common.say(f"note: {text}")
    common.report_problems(problems)
    return 1 if problems else 0


def name_images(loaded: Loaded, metrics: list[Metric], at_hand: bool) -> None:
    """Where a record names no image but images are at hand, its id is the image's key (COCO ids)."""
    if at_hand and common.looks_at_images(metrics):
        loaded.samples = [
            sample if sample.image is not None else replace(sample, image=sample.id)
            for sample in loaded.samples
        ]


def corpus_table(result: Result) -> Table:
    """Corpus scores with intervals and signatures."""
    bounds = any(score.interval for score in result.corpus.values())
    columns = ["metric", "score", *(["95 % interval"] if bounds else []), "captions", "signature"]
    table = Table(columns)
    for name, score in result.corpus.items():
        shown = f"{score.value:.4f}" if score.value is not None else f"undefined: {score.reason}"
        interval = (
            [f"{score.interval[0]:.4f} - {score.interval[1]:.4f}" if score.interval else "-"]
            if bounds
            else []
        )
        arrow = " (lower is better)" if score.direction == "lower" else ""
        table.add(name + arrow, shown, *interval, score.count, score.signature)
    return table
