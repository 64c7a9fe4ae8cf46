"""Speed and memory of region features and of the metrics that read them.

    python -m benchmarks.speed.region_speed --parts extract --photos train2017/ [--images 1000] [--save]
    python -m benchmarks.speed.region_speed --parts open pairs memory [--store-images 120000] [--pairs 20000]

extract: photos per second into a store, one process and two. The other parts use a store made here of random features
with the fingerprint of the shipped extractor: how long it takes to open; caption-image pairs per second from the store
(every fifth pair a new image, captions encoded before), with one worker and with two, their start included; memory
while one caption of each of its images is scored, sampled at a quarter, half and the end of the way.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import numpy as np
from PIL import Image

from benchmarks.library.corpora import coco_captions
from benchmarks.library.results import add_save, tell
from vericap.cli import main as vericap
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.core.table import Number, Table
from vericap.metrics.registry import resolve
from vericap.run.engine import Run
from vericap.vision.regions import Extractor
from vericap.vision.store import FeatureStore, FeatureWriter

METRICS = {"vse": "vse", "reo": "reo-relevance:truth=image,reo-extraness:truth=image,reo-omission:truth=image"}
TEXTS = 500  # distinct captions; encoding them is left out of the time
PER_IMAGE = 5


def memory() -> dict[str, float]:
    """Megabytes of this process: all, and what is not a mapped file (Linux)."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return {name: int(lines[name].split()[0]) / 1024 for name in ("VmRSS", "RssAnon")}


def extract(photos: Path, images: int, work: Path) -> Table:
    """Photos per second into a store."""
    files = sorted(photos.iterdir())[:images]
    sides = f"photos whose longer side is {longer_side(files):.0f} pixels in the median"
    table = Table(["processes", "photos", "photos per second", "per processor second"], digits=1, notes=[sides])
    chosen = work / "photos"
    chosen.mkdir()
    for file in files:
        (chosen / file.name).symlink_to(file.resolve())
    for processes in (1, 2):
        target = work / f"extracted-{processes}"
        started, used = time.perf_counter(), time.process_time()
        with contextlib.redirect_stdout(io.StringIO()):
            vericap(["features", str(chosen), "--output", str(target), "--workers", str(processes)])
        seconds, busy = time.perf_counter() - started, time.process_time() - used
        alone = Number(len(files) / busy if processes == 1 else None)  # of others' time nothing is known here
        table.add(processes, len(files), Number(len(files) / seconds), alone)
    return table


def longer_side(files: Sequence[Path]) -> float:
    """Pixels, in the median: decoding large photos takes longer."""
    sides = []
    for file in files:
        with Image.open(file) as photo:
            sides.append(max(photo.size))
    return median(sides)


def made_store(folder: Path, images: int) -> None:
    """Random features in a store of the shipped extractor; blocks repeat, so that making it is quick."""
    extractor = Extractor()
    rng = np.random.default_rng(0)
    block = np.abs(rng.normal(size=(256, 14, extractor.width))).astype(np.float16)
    with FeatureWriter(folder, extractor.description, width=extractor.width) as writer:
        for number in range(images):
            writer.add(f"{number:012d}", block[number % 256], extractor.windows)


def opening(folder: Path) -> Table:
    """Milliseconds to open a store."""
    times = []
    for _ in range(5):
        started = time.perf_counter()
        store = FeatureStore(folder)
        times.append(time.perf_counter() - started)
    table = Table(["images of the store", "opened in ms"], digits=1)
    table.add(len(store), Number(1000 * min(times)))
    return table


def samples(count: int, per_image: int) -> list[Sample]:
    texts = [text for _, text in coco_captions("val")[:TEXTS]]
    return [Sample(str(n), texts[n % TEXTS], (), f"{n // per_image:012d}") for n in range(count)]


def scored(names: str, count: int, folder: Path, workers: int) -> tuple[float, float]:
    """Seconds of scoring, by the clock and of this process's processor."""
    given = samples(count, PER_IMAGE)
    run = Run(resolve(names), Settings(features=folder, workers=workers))
    run.score(given[:TEXTS])  # models loaded, captions in the cache
    started, used = time.perf_counter(), time.process_time()
    run.score(given)
    return time.perf_counter() - started, time.process_time() - used


def pairs(folder: Path, count: int) -> Table:
    """Caption-image pairs per second from a store."""
    table = Table(["metrics", "workers", "pairs", "pairs per second", "per processor second"], digits=0, keys=2)
    for title, names in METRICS.items():
        for workers in (1, 2):
            seconds, busy = scored(names, count, folder, workers)
            table.add(title, workers, count, Number(count / seconds), Number(count / busy if workers == 1 else None))
    return table


def flat(folder: Path) -> Table:
    """Memory over all images of the store, in one run."""
    given = samples(len(FeatureStore(folder)), 1)
    names = ",".join(METRICS.values())
    run = Run(resolve(names), Settings(features=folder))
    run.score(given[:TEXTS])
    seen: list[tuple[float, dict[str, float]]] = []
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.2):
            seen.append((time.perf_counter(), memory()))

    watcher = threading.Thread(target=watch)
    started = time.perf_counter()
    watcher.start()
    run.score(given)
    done.set()
    watcher.join()
    end = time.perf_counter()
    seen.append((end, memory()))
    table = Table(["of the way %", "MB", "without mapped files MB", "most so far"], digits=0)
    table.notes.append(f"{len(given):,} pairs, {names}: {len(given) / (end - started):,.0f} pairs per second")
    for share in (0.25, 0.5, 1.0):
        span = [found for at, found in seen if at <= started + share * (end - started)] or [seen[0][1]]
        most = max(found["RssAnon"] for found in span)
        table.add(round(100 * share), *map(Number, (span[-1]["VmRSS"], span[-1]["RssAnon"], most)))
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", default=["open", "pairs", "memory"])
    parser.add_argument("--photos", type=Path)
    parser.add_argument("--images", type=int, default=1000, help="photos to extract")
    parser.add_argument("--store-images", type=int, default=120_000, help="images of the made store")
    parser.add_argument("--pairs", type=int, default=100_000)
    parser.add_argument("--work", type=Path, help="where the made store goes (36 kB an image)")
    add_save(parser)
    args = parser.parse_args()
    tables: dict[str, Table] = {}
    work = Path(tempfile.mkdtemp(dir=args.work))
    try:
        if "extract" in args.parts:
            if args.photos is None:
                sys.exit("name the folder of the photos with --photos")
            tables["extract"] = extract(args.photos, args.images, work)
        if {"open", "pairs", "memory"} & set(args.parts):
            made_store(work / "store", max(args.store_images, args.pairs // PER_IMAGE))
        for part, function in (("open", opening), ("memory", flat)):
            if part in args.parts:
                tables[part] = function(work / "store")
        if "pairs" in args.parts:
            tables["pairs"] = pairs(work / "store", args.pairs)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    tell("benchmarks.speed.region_speed", tables, save=args.save)


if __name__ == "__main__":
    main()
