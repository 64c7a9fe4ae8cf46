"""Run the experiments of the papers behind FAIEr, REO, VIFIDEL and JaSPICE, ours beside theirs.

vericap reproduce list
vericap reproduce faier-table-3
vericap reproduce vifidel-table-5 vifidel-table-6 vifidel-figure-4 --resume scores/ --figures pictures/
vericap reproduce faier-figure-4 --model faier-1=runs/faier-1 --model faier-4=runs/faier-4 --figure references.png
vericap reproduce grounding --photos train2017/
vericap reproduce all --photos train2017/ --page docs/reproduce.md --resume scores/
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from vericap.cli import common, flags
from vericap.core.errors import InputError, VericapError
from vericap.core.settings import Settings
from vericap.meta.scoring import KeptScores
from vericap.metrics.registry import split
from vericap.reproduce.catalogue import experiment_of, listing
from vericap.reproduce.experiment import Choices, Experiment, Outcome

KEPT = "experiments"  # folder of finished results inside that of --resume
TABLES = ("text", "markdown", "latex", "csv", "json")
FIGURES = (".png", ".svg", ".pdf")
FILES = {".csv": "csv", ".json": "json", ".tex": "latex", ".md": "markdown", ".txt": "text"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", metavar="NAME", nargs="+", help="experiments, `list`, or `all`")
    parser.add_argument(
        "--data", "--data-folder", type=Path, metavar="DIR", help="where data sets lie (default: $VERICAP_DATA)"
    )
    parser.add_argument("--photos", type=Path, metavar="DIR", help="photos of COCO, where an experiment needs them")
    parser.add_argument("--images", type=Path, metavar="DIR", help="photos (default: those beside a data set)")
    parser.add_argument("--features", type=Path, metavar="STORE", help="region features made beforehand")
    parser.add_argument("--objects", default="detector", metavar="SOURCE", help="objects of images: detector or a file")
    parser.add_argument(
        "--model",
        action="append",
        default=[],
        metavar="NAME=DIR",
        help="a trained model that stands for a row of the paper: faier-r, faier-1, faier-4, norel-r, fier, ...; "
        "scan, vse, faier-plus, visual-words",
    )
    parser.add_argument("--metrics", "-m", metavar="NAMES", help="instead of (or beside) those of the experiment")
    parser.add_argument(
        "--draws", type=common.positive, default=5, metavar="N", help="draws of references (default: 5)"
    )
    parser.add_argument("--limit", type=common.positive, metavar="N", help="take the first N images or cases")
    parser.add_argument("--translations", type=Path, metavar="FILE", help="JSON lines of text and translation")
    parser.add_argument("--no-judged", action="store_true", help="with `grounding`: no part that needs judgements")
    parser.add_argument(
        "--record",
        action="store_true",
        help="with `grounding`: note in the models' meta files how well they point: heat maps are offered where that "
        "beats chance",
    )
    parser.add_argument("--workers", type=common.positive, default=1, metavar="N", help="processes to use (default: 1)")
    common.add_cache(parser)
    parser.add_argument("--resume", type=Path, metavar="DIR", help="keep scores and results there; take them up again")
    parser.add_argument("--table", choices=TABLES, default="text", help="how to print (default: text)")
    parser.add_argument("--output", "-o", type=Path, metavar="FILE", help="also write .csv .json .tex .md .txt")
    parser.add_argument("--figure", type=Path, metavar="FILE", help="draw the figure there (.png .svg .pdf)")
    parser.add_argument("--figures", type=Path, metavar="DIR", help="folder for the figures of several")
    parser.add_argument("--page", type=Path, metavar="FILE", help="with `all`: write the results into this page")
    parser.add_argument("--quiet", "-q", action="store_true", help="no progress bars, no notes")


def run(args: argparse.Namespace) -> int:
    choices = _choices(args)
    if args.names == ["list"]:
        print(listing(choices).render(args.table), end="")
        return 0
    if args.figure is not None and args.figure.suffix.lower() not in FIGURES:
        raise VericapError(f"--figure {args.figure}: the name must end in {', '.join(FIGURES)}")
    if args.names == ["all"]:
        return _all(args, choices)
    if args.output is not None and args.output.suffix not in FILES:
        raise VericapError(f"--output {args.output}: the name must end in {', '.join(FILES)}")
    chosen = [experiment_of(name) for name in args.names]
    if args.figure is not None and (len(chosen) > 1 or not chosen[0].figure):
        table = f"'{chosen[0].name}' is a table and draws no figure"
        raise VericapError(f"--figure {args.figure}: {'use --figures DIR' if len(chosen) > 1 else table}")
    if args.page is not None:
        raise VericapError(f"--page {args.page}: the page has all experiments; write it with `vericap reproduce all`")
    return _chosen(args, choices, chosen)


def _chosen(args: argparse.Namespace, choices: Choices, chosen: Sequence[Experiment]) -> int:
    """Experiments one after the other; of several, one that fails says why and does not stop the others."""
    from vericap.reproduce.page import attempt, keep

    everything, failed = Outcome([]), 0
    for experiment in chosen:
        found = attempt(experiment, choices, args.figures, alone=len(chosen) == 1)
        if isinstance(found, str):
            failed += 1
            common.say(f"{experiment.name}: {flags(found)}")
            continue
        if args.resume:
            keep(experiment, found, args.resume / KEPT)
        _print(args, found)
        everything.tables += found.tables
    if args.output is not None and everything.tables:
        args.output.write_text(everything.render(FILES[args.output.suffix]), encoding="utf-8")
    return int(failed > 0)


def _choices(args: argparse.Namespace) -> Choices:
    return Choices(
        data=args.data,
        settings=Settings(
            images=args.images,
            features=args.features,
            objects=args.objects,
            workers=args.workers,
            cache=args.cache,
            progress=not args.quiet,
        ),
        metrics=tuple(split(args.metrics)) if args.metrics else (),
        models=dict(_model(text) for text in args.model),
        photos=args.photos,
        draws=args.draws,
        limit=args.limit,
        figure=args.figure,
        store=KeptScores(args.resume) if args.resume else None,
        translations=args.translations,
        judged=not args.no_judged,
        record=args.record,
    )


def _model(text: str) -> tuple[str, str]:
    name, mark, folder = text.partition("=")
    if not mark or not folder:
        raise InputError(f"--model {text}: give a row's name and a folder as NAME=DIR")
    return name, folder


def _print(args: argparse.Namespace, found: Outcome) -> None:
    for table in found.tables:
        table.notes = [flags(note) for note in table.notes]
    print(found.render(args.table), end="", flush=True)
    for path in found.figures:
        common.say(f"wrote {path}")


def _all(args: argparse.Namespace, choices: Choices) -> int:
    from vericap.reproduce.page import results, write_into

    kept = args.resume / KEPT if args.resume else None
    beside = args.page.parent if args.page is not None else None
    say = None if args.quiet else common.say
    text = flags(results(choices, kept=kept, figures=args.figures, beside=beside, say=say))
    if args.page is None:
        print(text, end="")
    else:
        write_into(args.page, text)
        common.say(f"wrote {args.page}")
    return 0
