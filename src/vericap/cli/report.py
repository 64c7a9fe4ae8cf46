"""Write a report that shows why captions got their scores: a folder whose index.html opens from disk.

vericap report captions.jsonl --images photos/ --output report/
vericap report base=base.json new=new.json --references captions_val2014.json --metrics coco,spice --output report/
vericap report scores.jsonl --images photos/ --output report/        # what `score --explain --output` has written

Several inputs are systems that are compared; the first is the one the others are tested against. Without --metrics the
report takes the scores that the inputs hold, else what they allow of the set recommended (fidelity, adequacy, fluency,
verdict, chair, cider-d, spice).
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from vericap.cli import common
from vericap.cli.compare import label
from vericap.core.errors import VericapError
from vericap.core.samples import Sample
from vericap.io import Loaded, load_systems
from vericap.metrics.registry import resolve
from vericap.report.site import Content, default_metrics, of_run, of_stored, scored_columns, write_site
from vericap.run.engine import Run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "systems",
        nargs="+",
        metavar="INPUT",
        help="captions of one system each, or what `score --output` wrote; NAME=FILE names it",
    )
    common.add_input(parser)
    common.add_scoring(parser)
    parser.set_defaults(metrics="")
    group = parser.add_argument_group("output")
    group.add_argument("--output", "-o", type=Path, required=True, metavar="DIR", help="folder of the report")
    group.add_argument("--title", default="", metavar="TEXT", help="of the report")
    group.add_argument(
        "--copy-photos",
        action="store_true",
        help="put photos (up to 640 pixels) into the folder, so that it can be moved; without it the page shows the "
        "photos where they are, and thumbnails elsewhere",
    )


def run(args: argparse.Namespace) -> int:
    paths, names = label(args.systems)
    loaded = dict(zip(names, load_systems(paths, args.references, **common.reading(args))))
    content = _stored(args, loaded) or _scored(args, loaded)
    content.notes += [
        f"{name}: {text}" for name, system in loaded.items() for text in [*system.warnings, *system.notes]
    ]
    problems = [problem for system in loaded.values() for problem in system.problems]
    content.problems = [str(problem) for problem in problems]
    written = write_site(
        content, args.output, title=args.title, copy_photos=args.copy_photos, show_progress=not args.quiet
    )
    for result in content.results.values():
        problems += result.problems
    if not args.quiet:
        for text in dict.fromkeys(content.notes):
            common.say(f"note: {text}")
    common.report_problems(problems)
    if written.problems:
        common.say(f"{len(written.problems)} photo(s) cannot be shown; the first: {written.problems[0]}")
    each = written.bytes / max(1, written.captions) / 1000
    print(
        f"{written.captions} captions, {written.bytes / 1e6:.1f} MB ({each:.1f} kB each), "
        f"written in {written.seconds:.1f} s. Open {written.page} in a browser."
    )
    return 1 if problems or written.problems else 0


def _scored(args: argparse.Namespace, loaded: dict[str, Loaded]) -> Content:
    """Captions that are scored now."""
    settings = common.settings(args)
    every = [sample for system in loaded.values() for sample in system.samples]
    if not args.metrics:
        carried = any(sample.photo is not None for sample in every)
        args.metrics, said = default_metrics(every, lang=args.lang, images=settings.shows_images or carried)
        if not args.metrics:
            raise VericapError("the input allows no metric of the set recommended: give photos (`images=DIR`), "
                               "references (`references=FILE`) or names (`metrics=NAMES`)")  # fmt: skip
        if not args.quiet:
            common.say(f"note: {said}")
    run, left = Run(resolve(args.metrics, code=True, lang=args.lang), settings).fitted(every)
    for text in left if not args.quiet else ():
        common.say(f"note: {text}")
    systems = {name: run.name_images(system.samples) for name, system in loaded.items()}
    return of_run(systems, run, resamples=args.resamples)


def _stored(args: argparse.Namespace, loaded: dict[str, Loaded]) -> Content | None:
    """Scores that the inputs hold, where nobody asks for others."""
    if args.metrics:
        return None
    columns = {name: system.columns(("all",), ()) for name, system in loaded.items()}
    if not all(scored_columns(own) for own in columns.values()):
        return None
    settings = common.settings(args)
    systems = {name: (named(system, settings.images is not None), columns[name]) for name, system in loaded.items()}
    return of_stored(systems, images=settings.images, lang=args.lang)


def named(one: Loaded, look: bool) -> list[Sample]:
    """Captions whose ids name their images where photos are at hand and nothing else names them."""
    return [replace(s, image=s.id) if look and s.image is None else s for s in one.samples]
