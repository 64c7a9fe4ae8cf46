"""Score bundled captions of three systems on bundled photos; print the tables and write the result files."""

from __future__ import annotations

import argparse
from pathlib import Path

from vericap import cli
from vericap.cli import common
from vericap.metrics.registry import METRICS
from vericap.models.store import ROOT

SYSTEMS = ("careful", "terse", "inventive")
# Shown where this installation has them.
TEXT = ("bleu-4", "rouge-l", "meteor", "cider-d", "spice", "sentence", "spice-soft")
IMAGE = ("vifidel", "chair", "lm", "vse", "reo-relevance", "faier-plus")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--output", "-o", type=Path, default=Path("demo-output"), metavar="DIR", help="for the files"
    )
    parser.add_argument("--workers", type=common.positive, default=1, metavar="N")


def run(args: argparse.Namespace) -> int:
    folder = ROOT / "demo"
    photos = folder / "photos"
    args.output.mkdir(parents=True, exist_ok=True)
    references = ["--references", str(folder / "references.jsonl")]
    metrics = ",".join(name for name in (*TEXT, *IMAGE) if name in METRICS)
    shared = [*references, "--images", str(photos), "--metrics", metrics, "--workers", str(args.workers)]
    print(f"Twelve captions of each of three systems, on photos in {photos}\n")
    systems = [str(folder / f"{name}.jsonl") for name in SYSTEMS]
    code = cli.main(["compare", *systems, *shared, "--output", str(args.output / "comparison.csv")])
    for name in SYSTEMS:
        file = args.output / f"{name}.jsonl"
        print(f"\n{name}: every caption's scores and their reasons are in {file}\n")
        words = [
            "score",
            str(folder / f"{name}.jsonl"),
            *shared,
            "--output",
            str(file),
            "--explain",
            "--confidence",
        ]
        code = max(code, cli.main(words))
    return code
