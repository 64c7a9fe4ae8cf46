"""Processor time of the command line from start to end on ten captions: fresh processes, nothing in the cache.

    VERICAP_DATA=DIR python -m benchmarks.speed.startup [--before DIR] [--times 7] [--cases help bleu vse ...]

Texts have four references each, those of the file `alone` none.
User and system time of the process and those it starts, one thread; the least and the median of all runs, as other
load on the machine only adds. With --before (a checkout of an older commit, kernels built) both versions take turns.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.library import corpora
from benchmarks.library.data import ROOT, data_folder
from benchmarks.library.results import add_save, tell
from vericap.core.table import Number, Table

CASES = {
    "help": "--help",
    "bleu": "score captions.jsonl --metrics bleu-4",
    "vse": "score alone.jsonl --metrics vse --images {photos}",
    "vse-references": "score captions.jsonl --metrics vse --images {photos}",
    "spice": "score captions.jsonl --metrics spice",
}
CAPTIONS = 10


def used() -> float:
    """Seconds of the processor in all processes that have ended."""
    found = resource.getrusage(resource.RUSAGE_CHILDREN)
    return found.ru_utime + found.ru_stime


def once(source: Path, command: str, folder: Path) -> float:
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "PYTHONPATH": str(source / "src"), "OMP_NUM_THREADS": "1", "VERICAP_CACHE": cache}
        before = used()
        words = [sys.executable, "-m", "vericap", *command.split()]
        subprocess.run(words, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
        return used() - before


def write_captions(folder: Path) -> None:
    captions: dict[str, list[str]] = {}
    for image, text in corpora.flickr_captions()[: 5 * CAPTIONS]:
        captions.setdefault(image, []).append(text)
    rows = [{"image": name, "candidate": one, "references": rest} for name, (one, *rest) in captions.items()]
    (folder / "captions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    alone = [{"image": row["image"], "candidate": row["candidate"]} for row in rows]
    (folder / "alone.jsonl").write_text("".join(json.dumps(row) + "\n" for row in alone), "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="a checkout of an older commit")
    parser.add_argument("--times", type=int, default=7)
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    add_save(parser)
    args = parser.parse_args()
    table = Table(["command", "version", "least s", "median s"], digits=2)
    versions = {"before": args.before, "now": ROOT} if args.before else {"now": ROOT}
    photos = data_folder() / "flickr8k" / "Images"
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_captions(folder)
        for case in args.cases:
            command = CASES[case].format(photos=photos)
            seconds: dict[str, list[float]] = {name: [] for name in versions}
            for _ in range(args.times):
                for name, source in versions.items():
                    seconds[name].append(once(source, command, folder))
            for name, values in seconds.items():
                row = [Number(min(values)), Number(statistics.median(values))]
                table.add(f"`vericap {CASES[case].split(' {')[0]}`", name, *row)
    tell("benchmarks.speed.startup", {"startup": table}, save=args.save)


if __name__ == "__main__":
    main()
