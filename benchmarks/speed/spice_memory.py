"""Does memory stay flat while captions stream through the parser?

    python -m benchmarks.speed.spice_memory [--captions 600000] [--save]

Captions of COCO train2014 and val2014; current memory is printed every tenth of the way.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.library.data import data_folder
from benchmarks.library.results import add_save, tell
from vericap.core.table import Number, Table
from vericap.graphs.english import iterate


def captions() -> Iterator[str]:
    for part in ("train", "val"):
        with gzip.open(data_folder() / "coco" / f"captions_{part}2014.json.gz", "rt", encoding="utf-8") as stream:
            texts = [note["caption"] for note in json.load(stream)["annotations"]]
        yield from texts


def resident() -> float:
    """Megabytes in memory now (Linux)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return float("nan")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--captions", type=int, default=600_000)
    add_save(parser)
    args = parser.parse_args()
    count = args.captions
    table = Table(["captions so far", "MB", "per CPU second"], digits=0)
    begun = time.process_time()
    for number, _ in enumerate(iterate(captions()), 1):
        if number % max(count // 10, 1) == 0:
            rate = number / (time.process_time() - begun)
            table.add(number, Number(resident()), Number(rate))
        if number == count:
            break
    tell("benchmarks.speed.spice_memory", {"memory": table}, save=args.save)


if __name__ == "__main__":
    main()
