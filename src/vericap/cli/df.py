"""Count document frequencies of n-grams in references, for `--df FILE` of CIDEr and CIDEr-D.

vericap df captions_train2014.json --output coco-train.npz
"""

from __future__ import annotations

import argparse
from pathlib import Path

from vericap.cli import common
from vericap.core.errors import Problem
from vericap.io.kinds import FORMATS
from vericap.io.load import read_references
from vericap.io.write import check_output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "references", nargs="+", metavar="REFERENCES", help="references by image, any format of `score`"
    )
    parser.add_argument(
        "--output", "-o", type=Path, required=True, metavar="FILE", help=".npz (compact), .json or .json.gz"
    )
    parser.add_argument("--tokenizer", default="ptb", help="must be the one of scoring (default: ptb)")
    parser.add_argument("--format", choices=FORMATS, help="of the references; by default found out by content")
    parser.add_argument("--at-least", type=common.positive, default=1, metavar="N", help="leave out rarer n-grams")


def run(args: argparse.Namespace) -> int:
    from vericap.text import frequency_files

    check_output(args.output, args.references, kinds=(".npz", ".json", ".gz"), what="document frequencies")
    problems: list[Problem] = []
    references = read_references(args.references, args.format, problems)
    frequency = frequency_files.build(references.texts.values(), args.tokenizer)
    frequency_files.save(frequency, args.output, tokenizer=args.tokenizer, at_least=args.at_least)
    print(f"{args.output}: {len(references.texts)} images, {len(frequency)} n-grams")
    common.report_problems(problems)
    return 1 if problems else 0
