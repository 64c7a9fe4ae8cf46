"""Find the objects in images: labels, scores and boxes, one JSON record a line.

    vericap detect photos/ --output objects.jsonl --draw pictures/
    vericap score captions.jsonl --metrics vifidel,chair --objects objects.jsonl

Images are files, folders, globs, or text files with one path a line. An image that cannot be read is reported
with the reason and has an `error` in its record; the others are done, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any

from vericap.cli.common import positive, report_problems, say
from vericap.core.errors import InputError, Problem, VericapError
from vericap.core.settings import Settings
from vericap.vision.images import ImageFile
from vericap.vision.objects import ImageObjects

if TYPE_CHECKING:
    from vericap.run.analyses import Detections


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("images", nargs="+", metavar="IMAGES", help="files, folders, globs, or lists (.txt)")
    parser.add_argument("--output", "-o", type=Path, metavar="FILE", help="records go here (default: printed)")
    parser.add_argument("--draw", type=Path, metavar="DIR", help="write pictures with the boxes here")
    parser.add_argument("--threshold", "-t", type=share, metavar="S", help="keep objects at least this sure (0-1)")
    parser.add_argument(
        "--model", default="detector", metavar="MODEL", help="detector (shipped), model.onnx, or hub/NAME"
    )
    parser.add_argument("--workers", type=positive, default=1, metavar="N", help="threads to use")
    parser.add_argument("--cache", metavar="off|DIR", help="where detections are kept by image content")
    parser.add_argument("--quiet", "-q", action="store_true", help="no progress bar, no summary")


def share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not a number from 0 to 1")
    return value


def run(args: argparse.Namespace) -> int:
    from vericap.io.write import check_not_input, check_output
    from vericap.run.analyses import Detections
    from vericap.vision.detector_source import detector_spec
    from vericap.vision.images import gather

    found = detector_spec(args.model)
    if found is None:
        raise VericapError(f"--model {args.model}: not a detector; give detector, model.onnx or hub/NAME")
    key = Detections(found[0], args.threshold if args.threshold is not None else found[1])
    files = gather(args.images)
    if not files:
        raise InputError(f"no image in {', '.join(args.images)}")
    if args.output:
        check_output(args.output, kinds=(".jsonl",), what="objects")
    if args.draw:
        check_not_input(args.draw, dict.fromkeys(Path(file.path).parent for file in files))
    settings = Settings(threads=args.workers, cache=args.cache, progress=not args.quiet)
    with opened(args.output) as output:
        problems, labels = _write(files, _detected(files, key, settings), output, key.name, args.draw)
    if not args.quiet and args.output:
        most = ", ".join(f"{label} {count}" for label, count in sorted(labels.items(), key=lambda x: -x[1])[:8])
        say(f"{len(files) - len(problems)} image(s), {sum(labels.values())} object(s): {most or 'none'}")
    report_problems(problems)
    return 1 if problems else 0


def _detected(files: Sequence[ImageFile], key: Detections, settings: Settings) -> Iterator[ImageObjects | Problem]:
    """The objects of each file as they are found."""
    from vericap.run.photos import stream
    from vericap.run.runtime import Runtime

    for row in stream([(file.key, file.path) for file in files], [key], Runtime.of(settings)):
        yield from key.table(row)


@contextmanager
def opened(path: Path | None) -> Iterator[IO[str]]:
    if path is None:
        yield sys.stdout
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8") as stream:
            yield stream
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror or error})") from error


def _write(
    files: Sequence[ImageFile],
    results: Iterator[ImageObjects | Problem],
    output: IO[str],
    detector: str,
    folder: Path | None,
) -> tuple[list[Problem], dict[str, int]]:
    """Records in the order of the images, as they are done; problems and label counts come back."""
    problems: list[Problem] = []
    labels: dict[str, int] = {}
    for file, found in zip(files, results):
        record: dict[str, Any] = {"image": file.key}
        if isinstance(found, Problem):
            problems.append(found)
            record["error"] = found.reason
        else:
            record |= {**found.as_json(), "detector": detector}
            for label, count in zip(found.labels, found.counts):
                labels[label] = labels.get(label, 0) + count
            if folder is not None:
                _picture(file, found, folder)
        output.write(json.dumps(record, ensure_ascii=False) + "\n")
    return problems, labels


def _picture(file: ImageFile, found: ImageObjects, folder: Path) -> None:
    from vericap.vision.draw import draw
    from vericap.vision.images import load_image

    # Keys of several folders may be absolute paths: the picture's name must stay below the folder.
    parts = [part for part in PurePosixPath(file.key.replace("\\", "/")).parts if part not in ("/", "..", ".")]
    target = folder.joinpath(*parts)
    if target.suffix.lower() not in (".jpg", ".jpeg", ".png"):
        target = target.with_name(target.name + ".png")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        draw(load_image(file.path), found).save(target, quality=90)
    except OSError as error:
        raise InputError(f"{target}: the picture cannot be written ({error.strerror or error})") from error
