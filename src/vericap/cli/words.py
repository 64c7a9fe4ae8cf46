"""What people would see and say of photos: words and short phrases, how likely each is said, and where it is.

    vericap words photo.jpg
    vericap words photos/ --top 5 --output words.jsonl

Images are files, folders, globs, or text files with one path a line. An image that cannot be read is reported with the
reason and has an `error` in its record; the others are done, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from vericap.cli.common import positive, report_problems, show
from vericap.cli.detect import opened
from vericap.core.errors import InputError, Problem
from vericap.core.settings import Settings
from vericap.core.table import Table
from vericap.vision.images import ImageFile


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("images", nargs="+", metavar="IMAGES", help="files, folders, globs, or lists (.txt)")
    parser.add_argument("--top", type=positive, default=8, metavar="N", help="words of each kind (8)")
    parser.add_argument("--output", "-o", type=Path, metavar="FILE", help="one JSON record a photo")
    parser.add_argument("--json", action="store_true", help="print the records instead of tables")
    parser.add_argument("--model", default="default", metavar="NAME", help="the shipped model (default) or a folder")
    parser.add_argument("--workers", type=positive, default=1, metavar="N", help="threads to use")
    parser.add_argument("--cache", metavar="off|DIR", help="where what was seen is kept by image content")
    parser.add_argument("--quiet", "-q", action="store_true", help="no progress bar")


def run(args: argparse.Namespace) -> int:
    from vericap.vision.images import gather

    files = gather(args.images)
    if not files:
        raise InputError(f"no image in {', '.join(args.images)}")
    problems = []
    with opened(args.output) as output:
        for file, found in zip(files, _seen(files, args)):
            if isinstance(found, Problem):
                problems.append(found)
                record: dict[str, Any] = {"image": file.key, "error": found.reason}
            else:
                record = {"image": file.key, "words": found}
            if args.json or args.output:
                output.write(json.dumps(record, ensure_ascii=False) + "\n")
            elif "words" in record:
                show(_table(file.key, record["words"]))
    report_problems(problems)
    return 1 if problems else 0


def _seen(files: list[ImageFile], args: argparse.Namespace) -> Iterator[list[dict[str, Any]] | Problem]:
    """What is seen in each file, as it is looked at."""
    from vericap.models.visual_words import expected, load
    from vericap.run.analyses import VisualWords
    from vericap.run.photos import stream
    from vericap.run.runtime import Runtime

    runtime = Runtime.of(Settings(threads=args.workers, cache=args.cache, progress=not args.quiet))
    key, model = VisualWords(args.model), runtime.model("visual_words", args.model, load)
    for (found,) in stream([(file.key, file.path) for file in files], [key], runtime):
        (photo,) = key.table([found]).photos
        if isinstance(found, Problem):
            yield found
        elif photo is not None:
            yield [
                {"kind": seen.kind, "text": seen.text, "share": round(seen.share, 3), "region": seen.region}
                for seen in expected(model, photo, top=args.top)
            ]


def _table(name: str, words: list[dict[str, Any]]) -> Table:
    rows: list[Sequence[Any]] = [
        [word["kind"], word["text"], word["share"], " ".join(f"{side:.2f}" for side in word["region"])]
        for word in words
    ]
    note = "said: the share of people who would say it; region: left, top, right and bottom as shares of the photo"
    return Table(["kind", "word", "said", "region"], rows, title=name, notes=[note], digits=3)
