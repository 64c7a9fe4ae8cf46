"""Judge one caption of one image: is it true, does it say what matters, does it read well, and why.

    vericap check photo.jpg "A dog on a sofa"
    vericap check photo.jpg "A dog on a sofa" --reference "A cat sleeps on a couch" --reference "A cat on a sofa"

Three bars and the verdict, the caption with the words that are not supported in brackets (in red where the terminal has
colours), what is not supported, and what was left out. `--json` prints all of it with regions for programs.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("image", type=Path, metavar="IMAGE")
    parser.add_argument("caption", metavar="CAPTION")
    parser.add_argument(
        "--reference",
        "-r",
        action="append",
        default=[],
        dest="references",
        metavar="TEXT",
        help="what others say of it",
    )
    parser.add_argument("--lang", default="en", help="language of the caption (en)")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    parser.add_argument("--cache", metavar="off|DIR", help="where what was seen in the image is kept")


def run(args: argparse.Namespace) -> int:
    from vericap.api import check
    from vericap.cli import common, flags
    from vericap.core.errors import InputError, VericapWarning
    from vericap.core.paths import no_such_file

    if not args.image.exists():
        if Path(args.caption).is_file():
            raise InputError(
                f'{args.image}: no image; the image comes first: vericap check {args.caption} "{args.image}"'
            )
        raise InputError(no_such_file(args.image))
    if args.image.is_dir():
        raise InputError(f"{args.image}: is a folder; name one image, or judge many with `vericap score`")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", VericapWarning)
        found = check(args.image, args.caption, references=args.references, lang=args.lang, cache=args.cache)
    for warning in told:
        print(f"vericap: {flags(str(warning.message))}", file=sys.stderr)
    if args.json:
        print(json.dumps(found.to_dict(), indent=1))
    else:
        print(common.printable(found.text(colour=common.coloured(sys.stdout)), sys.stdout))
    return 0
