"""Arguments and messages that several commands share."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vericap.cli import flags
from vericap.core.errors import InputError, Problem
from vericap.core.settings import Settings
from vericap.io.kinds import FORMATS
from vericap.io.records import Fields

SHOWN_PROBLEMS = 10


def add_input(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("input")
    group.add_argument(
        "--references",
        "-r",
        nargs="+",
        default=[],
        metavar="FILE",
        help="references by id (COCO annotation JSON, JSONL, CSV, Parquet), or parallel text files; "
        "not needed where the records carry their own",
    )
    group.add_argument("--format", choices=FORMATS, help="of the candidates; by default found out by content")
    group.add_argument("--reference-format", choices=FORMATS, help="of the references, likewise")
    group.add_argument("--encoding", default="", metavar="NAME", help="of text files (default: utf-8, or by mark)")
    for name in ("caption", "image", "id", "references"):
        group.add_argument(f"--{name}-field", default="", metavar="NAME", help=f"the column or key of the {name}")
    group.add_argument(
        "--images",
        type=Path,
        metavar="DIR",
        help="folder of the images that records name; not needed where they carry them, or paths that lead to them",
    )
    group.add_argument(
        "--objects",
        default="detector",
        metavar="SOURCE",
        help="where the objects of an image come from: detector, an annotation or detection file, or a+b",
    )
    group.add_argument("--features", type=Path, metavar="STORE", help="region features made by `vericap features`")


def add_scoring(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("scoring")
    group.add_argument(
        "--metrics",
        "-m",
        default="coco",
        metavar="NAMES",
        help="metrics or sets, comma-separated, with options: coco,vifidel:p=1 (default: coco)",
    )
    group.add_argument("--lang", default="en", help="language of the captions: en, ja, zh, de, ... (default: en)")
    group.add_argument("--tokenizer", help="ptb, sudachi, intl, char, zh, none; by default the language's")
    group.add_argument("--df", default="corpus", metavar="FILE|corpus|coco-val", help="document frequencies of CIDEr")
    group.add_argument("--workers", type=positive, default=1, metavar="N", help="processes to use (default: 1)")
    group.add_argument(
        "--threads", type=positive, default=0, metavar="N", help="threads of each network (default: as many as workers)"
    )
    group.add_argument("--device", default="", metavar="NAME", help="of networks: cpu, cuda, directml, coreml, auto")
    group.add_argument("--seed", type=int, default=0, help="of bootstrap draws (default: 0)")
    group.add_argument("--resamples", type=positive, default=1000, metavar="N", help="bootstrap draws")
    add_cache(group)
    group.add_argument("--quiet", "-q", action="store_true", help="no progress bars, no notes")


def add_cache(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        "--cache", metavar="off|DIR", help="where slow analyses are kept (default: the user's cache folder)"
    )


def fields(args: argparse.Namespace) -> Fields:
    """The names of columns that a user gave."""
    return Fields(args.caption_field, args.image_field, args.id_field, args.references_field)


def reading(args: argparse.Namespace) -> dict[str, Any]:
    """How inputs are read: arguments of `vericap.io.open_input` and its kin."""
    return {
        "format": args.format,
        "reference_format": args.reference_format,
        "fields": fields(args),
        "encoding": args.encoding,
        "beside": args.images is None and args.features is None,
    }


def positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is not a positive number")
    return value


def settings(args: argparse.Namespace) -> Settings:
    """Run settings from arguments; defaults are those of Settings."""
    if args.images is not None and not args.images.is_dir():
        raise InputError(f"--images {args.images}: no such folder")
    return Settings(
        lang=args.lang,
        tokenizer=args.tokenizer or "",
        df=args.df,
        images=args.images,
        objects=args.objects,
        features=args.features,
        workers=args.workers,
        threads=args.threads,
        device=args.device,
        seed=args.seed,
        cache=args.cache,
        progress=not args.quiet,
    )


def say(text: str) -> None:
    print(flags(text), file=sys.stderr)


def report_problems(problems: Sequence[Problem], *, what: str = "record") -> None:
    """The first problems in full, the number of all."""
    report_lines([str(problem) for problem in problems[:SHOWN_PROBLEMS]], len(problems))


def report_lines(first: Sequence[str], count: int) -> None:
    """The same, where only the first problems are at hand."""
    if not count:
        return
    say(f"{count} problem(s):")
    for text in first[:SHOWN_PROBLEMS]:
        say(f"  {text}")
    if count > SHOWN_PROBLEMS:
        say(f"  ... and {count - SHOWN_PROBLEMS} more (all are in the file of --output)")
