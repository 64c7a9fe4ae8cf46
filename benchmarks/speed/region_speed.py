"""Speed and memory of region features and of the metrics that read them.

    python -m benchmarks.speed.region_speed --parts extract --photos train2017/ [--images 1000]
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
from pathlib import Path

import numpy as np

from benchmarks.library.corpora import coco_captions
from vericap.cli import main as vericap
from vericap.core.samples import Sample
from vericap.core.settings import Settings
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


def extract(photos: Path, images: int, work: Path) -> None:
    files = sorted(photos.iterdir())[:images]
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
        alone = f", {len(files) / busy:.1f} per processor second" if processes == 1 else ""
        print(f"extraction, {processes} process(es): {len(files) / seconds:.1f} photos/s{alone}", flush=True)


def made_store(folder: Path, images: int) -> None:
    """Random features in a store of the shipped extractor; blocks repeat, so that making it is quick."""
    extractor = Extractor()
    rng = np.random.default_rng(0)
    block = np.abs(rng.normal(size=(256, 14, extractor.width))).astype(np.float16)
    with FeatureWriter(folder, extractor.description, width=extractor.width) as writer:
        for number in range(images):
            writer.add(f"{number:012d}", block[number % 256], extractor.windows)


def opening(folder: Path) -> None:
    times = []
    for _ in range(5):
        started = time.perf_counter()
        store = FeatureStore(folder)
        times.append(time.perf_counter() - started)
    print(f"opening a store of {len(store):,} images: {1000 * min(times):.1f} ms", flush=True)


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


def pairs(folder: Path, count: int) -> None:
    for title, names in METRICS.items():
        seconds, busy = scored(names, count, folder, 1)
        rates = f"{count / seconds:,.0f} pairs/s, {count / busy:,.0f} per processor second"
        print(f"{title}, one worker: {rates}", flush=True)
        seconds, _ = scored(names, count, folder, 2)
        print(f"{title}, two workers: {count / seconds:,.0f} pairs/s", flush=True)


def flat(folder: Path) -> None:
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
    print(f"{len(given):,} pairs, {names}: {len(given) / (end - started):,.0f} pairs/s", flush=True)
    for share in (0.25, 0.5, 1.0):
        span = [found for at, found in seen if at <= started + share * (end - started)]
        most = max(found["RssAnon"] for found in span)
        print(f"  {100 * share:.0f} %: {span[-1]['VmRSS']:.0f} MB, without mapped files {span[-1]['RssAnon']:.0f} MB")
        print(f"    most so far, without mapped files: {most:.0f} MB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", default=["open", "pairs", "memory"])
    parser.add_argument("--photos", type=Path)
    parser.add_argument("--images", type=int, default=1000, help="photos to extract")
    parser.add_argument("--store-images", type=int, default=120_000, help="images of the made store")
    parser.add_argument("--pairs", type=int, default=100_000)
    parser.add_argument("--work", type=Path, help="where the made store goes (36 kB an image)")
    args = parser.parse_args()
    work = Path(tempfile.mkdtemp(dir=args.work))
    try:
        if "extract" in args.parts:
            if args.photos is None:
                sys.exit("name the folder of the photos with --photos")
            extract(args.photos, args.images, work)
        if {"open", "pairs", "memory"} & set(args.parts):
            made_store(work / "store", max(args.store_images, args.pairs // PER_IMAGE))
        for part, function in (("open", opening), ("memory", flat)):
            if part in args.parts:
                function(work / "store")
        if "pairs" in args.parts:
            pairs(work / "store", args.pairs)
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
