"""Score bundled captions of three systems on bundled photos; print the tables, write the result files and a report."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from vericap import cli
from vericap.cli import common
from vericap.core.shipped import ROOT
from vericap.report.site.build import INDEX

SYSTEMS = ("careful", "terse", "inventive")
METRICS = (
    "verdict", "fidelity", "adequacy", "fluency", "chair", "vifidel", "faier-plus", "reo-relevance", "bleu-4",
    "rouge-l", "meteor", "cider-d", "spice", "sentence",
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--output", "-o", type=Path, default=Path("demo-output"), metavar="DIR", help="for the files")
    parser.add_argument(
        "--files", type=Path, metavar="DIR", help="only put photos, captions and references there, to try commands on"
    )
    parser.add_argument("--workers", type=common.positive, default=1, metavar="N")


def run(args: argparse.Namespace) -> int:
    folder, out = ROOT / "demo", args.output
    if args.files is not None:
        shutil.copytree(folder, args.files, dirs_exist_ok=True)
        print(f"Written to {args.files}: photos/, references.jsonl, captions of three systems ({', '.join(SYSTEMS)}).")
        return cli.GOOD
    photos = folder / "photos"
    out.mkdir(parents=True, exist_ok=True)
    shared = ["--references", str(folder / "references.jsonl"), "--images", str(photos), "--metrics", ",".join(METRICS)]
    shared += ["--workers", str(args.workers)]
    systems = {name: str(folder / f"{name}.jsonl") for name in SYSTEMS}
    print("Twelve captions of each of three systems, on six photos\n")
    steps = [["compare", *systems.values(), *shared, "--output", str(out / "comparison.csv")]]
    for name, file in systems.items():
        steps.append(["score", file, *shared, "--output", str(out / f"{name}.jsonl"), "--explain", "--confidence"])
    steps.append(["detect", str(photos), "--output", str(out / "objects.jsonl"), "--draw", str(out / "objects")])
    steps.append(["parse", systems["careful"], "--output", str(out / "graphs.jsonl"), "--draw", str(out / "graphs")])
    report = out / "report"
    steps.append(["report", *systems.values(), *shared, "--output", str(report), "--copy-photos", "--quiet"])
    code = 0
    for words in steps:
        print(f"$ vericap {' '.join(shorten(word, folder) for word in words)}\n", flush=True)
        code = max(code, cli.main(words))
        print(flush=True)
    print(f"Written to {out}: scores and reasons (*.jsonl), photos with boxes (objects/), scene graphs (graphs/).")
    print(f"To see why, open {(report / INDEX).absolute().as_uri()} in a browser.")
    # Captions of photos without a known object are not judged by vifidel and named above: nothing went wrong.
    return code if code == cli.USAGE else cli.GOOD


def shorten(word: str, folder: Path) -> str:
    return word.replace(f"{folder}/", "demo/").replace(str(folder), "demo")
