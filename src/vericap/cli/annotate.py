"""Collect ratings: write a page on which people rate captions, and look at what came back.

    vericap annotate captions.jsonl --images photos/ --references refs.json --captions 100 --output campaign/
    vericap annotate ours.jsonl theirs.jsonl --images photos/ --raters ana,ben,eva --each 2 --repeats 10 -o campaign/

Open campaign/index.html (from disk or any web server), rate, save; put the files ratings-NAME.json into campaign/.

    vericap annotate campaign/ --status
    vericap meta campaign/ --metrics coco,vifidel
"""

from __future__ import annotations

import argparse
from pathlib import Path

from vericap.cli import common
from vericap.core.errors import Problem, VericapError
from vericap.core.samples import Sample
from vericap.report.annotation import QUESTIONS, write_campaign


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "captions_files",
        nargs="+",
        metavar="CAPTIONS",
        help="captions to rate, one file per system; with --status a campaign, or files of ratings",
    )
    parser.add_argument("--status", action="store_true", help="who rated how much, how fast and how constantly")
    parser.add_argument("--output", "-o", type=Path, metavar="DIR", help="new folder for the campaign")
    group = parser.add_argument_group("what is rated")
    group.add_argument("--images", type=Path, metavar="DIR", help="folder of the photos that captions name")
    group.add_argument(
        "--references",
        "-r",
        nargs="+",
        default=[],
        metavar="FILE",
        help="kept for `vericap meta` (COCO annotation JSON, JSONL, CSV, Parquet); raters never see them",
    )
    group.add_argument("--format", help="of the captions; by default found out by content")
    group.add_argument("--reference-format", help="of the references, likewise")
    group.add_argument("--captions", type=common.positive, metavar="N", help="draw N at random (default: all)")
    group.add_argument(
        "--questions",
        default=",".join(QUESTIONS),
        metavar="NAMES",
        help=f"those to ask, comma-separated (default: {','.join(QUESTIONS)})",
    )
    group.add_argument("--lang", default="en", help="language of the captions (default: en)")
    group.add_argument(
        "--size", type=common.positive, default=640, metavar="PX", help="longest side of the photos (default: 640)"
    )
    group = parser.add_argument_group("who rates")
    group.add_argument("--raters", default="", metavar="NAMES", help="names to choose from (default: one types a name)")
    group.add_argument(
        "--each",
        type=common.positive,
        default=0,
        metavar="K",
        help="K of --raters rate each caption (default: all)",
    )
    group.add_argument(
        "--repeats",
        type=common.positive,
        default=0,
        metavar="N",
        help="captions that each rater sees twice, to measure how constant ratings are (default: none)",
    )
    group.add_argument("--title", default="", metavar="TEXT", help="of the page")
    group.add_argument("--note", default="", metavar="TEXT", help="for the first page: where to send the file, say")
    group.add_argument("--seed", type=int, default=0, help="of the draw and of the raters' orders (default: 0)")
    parser.add_argument("--quiet", "-q", action="store_true", help="no progress bar, no notes")


def run(args: argparse.Namespace) -> int:
    return _status(args) if args.status else _write(args)


def _status(args: argparse.Namespace) -> int:
    from vericap.meta.datasets.campaign import gather, status_table

    found = gather([Path(name) for name in args.captions_files])
    print(status_table(found).text(), end="")
    common.report_problems(found.problems, what="answer")
    return 1 if found.problems else 0


def _write(args: argparse.Namespace) -> int:
    if args.images is None:
        raise VericapError("captions are rated with their photos; name the folder with --images DIR")
    if args.output is None:
        raise VericapError("name a new folder for the campaign with --output DIR")
    systems, problems = _systems(args)
    found = write_campaign(
        systems,
        args.output,
        images=args.images,
        questions=args.questions,
        captions=args.captions,
        raters=args.raters.split(","),
        each=args.each,
        repeats=args.repeats,
        seed=args.seed,
        title=args.title,
        note=args.note,
        lang=args.lang,
        size=args.size,
        show_progress=not args.quiet,
    )
    problems += found.problems
    common.report_problems(problems)
    if not args.quiet:
        shown, asked = len(found.items), ", ".join(question.name for question in found.questions)
        common.say(f"{shown} captions on {len(found.contents)} photos; asked: {asked}")
        if len(found.captions) > shown:
            common.say(f"{len(found.captions) - shown} equal captions of the same photo are rated together")
        if not any(caption.references for caption in found.captions):
            common.say(
                "no references are kept (--references FILE): `vericap meta` can judge metrics of the image alone"
            )
        common.say(f"open {args.output / 'index.html'}; files that raters save belong into {args.output}")
    return 1 if problems else 0


def _systems(args: argparse.Namespace) -> tuple[dict[str, list[Sample]], list[Problem]]:
    """Samples by system, named after the file, and the problems of all files."""
    from vericap.io.load import load_systems

    files = args.captions_files
    names = [Path(name).name.split(".")[0] or name for name in files]
    if len(set(names)) != len(names):
        names = list(map(str, files))
    found = load_systems(files, args.references, format=args.format, reference_format=args.reference_format)
    if not args.quiet:
        for loaded in found:
            for text in [*loaded.warnings, *loaded.notes]:
                common.say(text)
    systems = {name: loaded.samples for name, loaded in zip(names, found)}
    return systems, [problem for loaded in found for problem in loaded.problems]
