"""Arguments and messages that several commands share."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

from vericap.cli import flags
from vericap.core.errors import InputError, Problem
from vericap.core.settings import Settings
from vericap.core.table import Table
from vericap.io.kinds import FORMATS
from vericap.io.records import Fields
from vericap.run.progress import Bar, erase

SHOWN_PROBLEMS = 10
TABLES = ("text", "markdown", "latex", "csv", "json", "html")
TABLE_FILES = {
    ".csv": "csv", ".json": "json", ".tex": "latex", ".md": "markdown", ".txt": "text", ".html": "html"
}  # fmt: skip
TABLE_OUTPUT = "also write the table: .csv .json .tex .md .txt .html"
RESUME = "keep the run in DIR and go on with it where it stopped; another run there is refused"
FIGURE_FORMATS = ("png", "svg", "pdf")
_PLAINER = str.maketrans({"▲": "+", "▼": "-", "↓": "v", "±": "~", "‡": "#", "…": ".", "█": "#", "░": "-"})


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


def add_printing(parser: argparse._ActionsContainer, *, x100: bool) -> None:
    """How tables are printed: the same options in every command."""
    usual = "yes" if x100 else "no"
    parser.add_argument(
        "--x100",
        action=argparse.BooleanOptionalAction,
        default=x100,
        help=f"print scores and agreements x100, tables and JSON alike; rows per caption never are (default: {usual})",
    )
    parser.add_argument("--signatures", action="store_true", help="print below the table how each number was computed")


def add_table(parser: argparse._ActionsContainer, *, x100: bool) -> None:
    """The form of a table, on standard output and in a file."""
    parser.add_argument("--table", choices=TABLES, default="text", help="how to print (default: text)")
    add_printing(parser, x100=x100)


def add_figure_format(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        "--figure-format", dest="format_", choices=FIGURE_FORMATS, default="png", help="of --figures (default: png)"
    )


def check_figures(args: argparse.Namespace) -> None:
    """Refuse, before any work is done, a folder of figures that cannot be made, or figures that nothing can draw."""
    if args.figures is None:
        return
    if args.figures.exists() and not args.figures.is_dir():
        raise InputError(f"--figures {args.figures}: is a file; name a folder")
    from vericap.core.errors import require

    require("matplotlib", "figures", "drawing figures")
    args.figures.mkdir(parents=True, exist_ok=True)


def check_table(output: Path | None, inputs: Iterable[str | Path] = ()) -> None:
    """Refuse, before any work is done, a table's file that cannot be written or whose ending says nothing."""
    if output is not None:
        from vericap.io.write import check_output

        check_output(output, inputs, kinds=tuple(TABLE_FILES), what="tables")


def write_table(output: Path, text: str) -> None:
    """A table's text into its file, at once."""
    from vericap.io.write import replacing

    with replacing(output) as file:
        file.write_text(text, encoding="utf-8")


def show(table: Table, kind: str = "text", *, stream: TextIO | None = None) -> None:
    """Print a table: as wide as the terminal, in colour where it is one."""
    erase()
    stream = stream or sys.stdout
    if kind != "text":
        stream.write(table.render(kind))
        return
    shown = replace(table, notes=[flags(note) for note in table.notes], legend=[flags(text) for text in table.legend])
    stream.write(printable(shown.text(width=columns(stream), colour=coloured(stream)), stream))


def columns(stream: TextIO) -> int | None:
    """Columns of the terminal behind a stream, or those that COLUMNS names; None where nothing limits a line."""
    named = os.environ.get("COLUMNS", "")
    if named.isdigit() and int(named) > 0:
        return int(named)
    try:
        return os.get_terminal_size(stream.fileno()).columns or None
    except (OSError, ValueError):
        return None


def coloured(stream: TextIO) -> bool:
    """Whether to print in colour: on a terminal, unless NO_COLOR (https://no-color.org) or TERM=dumb say no."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def printable(text: str, stream: TextIO) -> str:
    """A text whose marks a stream without them can print (a Windows pipe, LC_ALL=C)."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(_PLAINER).encode(encoding, "replace").decode(encoding)
    return text


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
        raise InputError(f"--images {args.images}: no such folder; check the path")
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


def working(args: argparse.Namespace, what: str) -> Bar:
    """Shows that work is going on, from the first second on: `with common.working(args, "scoring"): ...`."""
    return Bar(what=what, show=not args.quiet)


def say(text: str) -> None:
    erase()
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
        say(f"  ... and {count - SHOWN_PROBLEMS} more (--output FILE keeps all)")
