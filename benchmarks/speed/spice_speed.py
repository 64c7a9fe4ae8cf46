"""Captions per second of the English parser and of SPICE, and what building graphs adds to parsing.

    python -m benchmarks.speed.spice_speed [--captions 20000] [--workers 2] [--save]

Distinct COCO captions, nothing read from a cache. CPU seconds of one process; with --workers, wall-clock seconds.
"""

from __future__ import annotations

import argparse
import gzip
import json
import resource
import tempfile
import time
from pathlib import Path

from benchmarks.library.data import data_folder
from benchmarks.library.results import add_save, tell
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.core.table import Number, Table
from vericap.graphs import english
from vericap.graphs.scene_graph import CONVENTIONS
from vericap.metrics.spice import Spice
from vericap.run.analyses.graphs import parse_texts
from vericap.run.engine import Run
from vericap.run.runtime import Runtime


def captions(count: int) -> list[str]:
    with gzip.open(data_folder() / "coco" / "captions_val2014.json.gz", "rt", encoding="utf-8") as stream:
        notes = json.load(stream)["annotations"]
    return list(dict.fromkeys(note["caption"].strip() for note in notes))[:count]


def graph_share(texts: list[str], table: Table) -> None:
    """Parsing by spaCy, and building graphs of what it found."""
    nlp = english.pipeline()
    english.parse_many(texts[:200])
    parsing = building = 0.0
    for start in range(0, len(texts), 256):
        part = [english.clean(text) for text in texts[start : start + 256]]
        begun = time.process_time()
        docs = list(nlp.pipe(part, batch_size=256))
        parsed = time.process_time()
        for doc in docs:
            english.graph_of(doc)
        building += time.process_time() - parsed
        parsing += parsed - begun
    table.add("spaCy alone", Number(len(texts) / parsing))
    table.add("building graphs of it", Number(len(texts) / building))
    table.notes.append(f"building graphs adds {100 * building / parsing:.1f} % to parsing")


def conventions(texts: list[str], table: Table) -> None:
    """Both conventions, from text to graph, nothing kept."""
    for convention in CONVENTIONS:
        english.parse_many(texts[:200], convention=convention)
        begun = time.process_time()
        english.parse_many(texts, convention=convention)
        spent = time.process_time() - begun
        table.add(f"text to graph, convention {convention}", Number(len(texts) / spent))


def end_to_end(texts: list[str], table: Table) -> None:
    samples = [Sample(str(i), texts[i], tuple(texts[i + 1 : i + 6])) for i in range(0, len(texts) - 5, 6)]
    with tempfile.TemporaryDirectory() as folder:
        begun = time.process_time()
        Run([Spice()], Settings(cache=Path(folder))).score(samples)
        spent = time.process_time() - begun
    table.add("SPICE end to end (parse, store, merge, score)", Number(len(texts) / spent))


def children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def scaling(texts: list[str], workers: int) -> Table:
    """Wall-clock gain, and how evenly CPU time is shared: what idle cores would gain when others use these."""
    walls, shares = [], []
    for number in (1, workers):
        with tempfile.TemporaryDirectory() as folder:
            wall, own, others = time.perf_counter(), time.process_time(), children()
            parse_texts(texts, Runtime(Settings(cache=Path(folder), workers=number)))
            walls.append(time.perf_counter() - wall)
            helped = (children() - others) / max(number - 1, 1)
            shares.append(max(time.process_time() - own, helped))
    table = Table(["", "one process", f"{workers} processes", "times"], digits=1)
    for what, (one, many) in {"seconds": walls, "processor seconds of the busiest process": shares}.items():
        table.add(what, Number(one), Number(many), Number(one / many, digits=2))
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--captions", type=int, default=20_000)
    parser.add_argument("--workers", type=int, default=0, help="also measure this many processes")
    add_save(parser)
    args = parser.parse_args()
    texts = captions(args.captions)
    table = Table(["stage", "captions per CPU second"], digits=0)
    for measure in (graph_share, conventions, end_to_end):
        measure(texts, table)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    table.notes.append(f"{len(texts):,} distinct captions, peak memory {peak:.0f} MB")
    tables = {"stages": table, **({"processes": scaling(texts, args.workers)} if args.workers else {})}
    tell("benchmarks.speed.spice_speed", tables, save=args.save)


if __name__ == "__main__":
    main()
