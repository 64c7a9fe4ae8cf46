"""Photos of 640 px through the image metrics: an older commit against the working tree, in turns in one run.

    git worktree add /tmp/before 418499a && (cd /tmp/before && python setup.py build_ext --inplace)
    VERICAP_DATA=DIR python -m benchmarks.speed.photo_speed --before /tmp/before [--images 2000]
        [--output FILE] [--save]

There are no photos of 640 px at hand, so Flickr8k's are enlarged, with grain, to JPEG files of about 100 kB. Each
version has a process of its own, one thread; they score `vse`, REO and `faier-plus` on a hundred photos at a time, in
turns, each going first in every second one. Captions repeat and are encoded before, so photos and metrics are timed.
Printed: processor milliseconds of a photo and their ratio, how far the windows' features of both versions are apart
(the older one has no other regions, and other models), and where the time of a photo goes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from benchmarks.library import corpora
from benchmarks.library.data import ROOT, data_folder

METRICS = "vse,reo,faier-plus"
TURN = 100  # photos scored by one version before the other has its turn
CAPTIONS = 50  # distinct candidates
LOOKED_AT = 200  # photos whose features are compared, and whose stages are timed
SIDE, GRAIN, QUALITY = 640, 5.0, 90
WIDTH = 1280  # of the backbone's last map, which both versions pool


def enlarge(source: Path, target: Path, seed: int) -> None:
    """A photo of 640 px: grain makes its file as large as a camera's."""
    image = Image.open(source).convert("RGB")
    ratio = SIDE / max(image.size)
    image = image.resize((round(image.width * ratio), round(image.height * ratio)), Image.Resampling.LANCZOS)
    values = np.asarray(image, dtype=np.float32)
    grain = np.random.default_rng(seed).normal(0, GRAIN, (*values.shape[:2], 1))
    Image.fromarray(np.clip(values + grain, 0, 255).astype(np.uint8)).save(target, quality=QUALITY)


# --- one version, in a process of its own ---------------------------------------------------------------------------


def work(folder: Path, cache: Path) -> None:
    """Answer questions from standard input: ["score", names], ["features", names, file], ["stages", names]."""
    from vericap.core.samples import Sample
    from vericap.core.settings import Settings
    from vericap.metrics.registry import resolve
    from vericap.run.engine import Run

    run = Run(resolve(METRICS), Settings(images=folder, cache=cache))
    texts = [text for _, text in corpora.flickr_captions()[: 5 * CAPTIONS]]

    def score(names: list[str]) -> dict[str, Any]:
        rows = [5 * (place % CAPTIONS) for place in range(len(names))]
        samples = [Sample(name, texts[row], tuple(texts[row + 1 : row + 5]), name) for name, row in zip(names, rows)]
        started = time.process_time()
        run.score(samples)
        return {"seconds": time.process_time() - started}

    def features(names: list[str], file: str) -> dict[str, Any]:
        from vericap.vision import images, regions

        extractor = regions.Extractor()
        found = [extractor.regions(images.load_image(folder / name))[0] for name in names]
        np.save(file, np.stack([own[: len(extractor.windows), :WIDTH] for own in found]))
        return {}

    verbs: dict[str, Callable[..., dict[str, Any]]] = {"score": score, "features": features, "stages": stages(folder)}
    for line in sys.stdin:
        verb, *rest = json.loads(line)
        print(json.dumps(verbs[verb](*rest)), flush=True)


def stages(folder: Path) -> Callable[[list[str]], dict[str, Any]]:
    """Milliseconds of each step on the way of a photo, of this version or the one before the kernels."""
    from vericap.vision import images, regions

    extractor = regions.Extractor()
    side = extractor.size

    def prepared(image: Any) -> Any:
        if hasattr(regions, "resized"):
            return regions.resized(image, (side, side), regions.BICUBIC)
        return regions.pixels(image, side)

    def network(pixels: Any) -> Any:
        if hasattr(extractor, "maps"):
            return extractor._backbone.maps(pixels, ("middle", "last"))
        return [extractor._session.run(None, {"x": pixels})[0][0].transpose(1, 2, 0)]

    def cells(found: Any) -> Any:
        if len(found) == 1:
            return found[0], None
        from vericap.vision.cells import shipped_head

        return found[0], shipped_head()(found[1][None], found[2][None])[0]

    def pooled(found: Any) -> Any:
        last, own = found
        if own is None:
            return regions.pool(np.asarray(last, dtype=np.float32), extractor.windows)
        room = extractor.most - len(extractor.windows)
        return regions.pooled_regions(last, own, extractor.windows, own.boxes[:room])

    def timed(names: list[str]) -> dict[str, Any]:
        extractor.regions(Image.new("RGB", (64, 64)))  # opened
        steps: dict[str, Callable[[Any], Any]] = {
            "read": images.read,
            "name by content": lambda data: (images.content_key(data), data)[1],
            "decode": images.decode,
            "resize": prepared,
            "backbone": network,
            "cells of the finer map, boxes": cells,
            "pool regions": pooled,
        }
        used = dict.fromkeys(steps, 0.0)
        for name in names:
            value: Any = folder / name
            for step, function in steps.items():
                started = time.process_time()
                value = function(value)
                used[step] += time.process_time() - started
        return {step: 1000 * seconds / len(names) for step, seconds in used.items()}

    return timed


# --- both versions --------------------------------------------------------------------------------------------------


class Version:
    """A process that runs one version of the package."""

    def __init__(self, source: Path, folder: Path, cache: Path) -> None:
        self.seconds: list[float] = []
        environment = {**os.environ, "PYTHONPATH": str(source / "src"), "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "benchmarks.speed.photo_speed", "--work", str(folder), "--cache", str(cache)]
        self._process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, *question: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        found: dict[str, Any] = json.loads(self._process.stdout.readline())
        return found

    def score(self, names: Sequence[str]) -> None:
        found = self.ask("score", list(names))
        self.seconds.append(found["seconds"] / len(names))

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def compare(before: Version, after: Version, names: list[str], scratch: Path) -> dict[str, Any]:
    warm, timed = names[:CAPTIONS], names[CAPTIONS:]
    for version in (before, after):  # networks open, captions in the cache
        version.score(warm)
        version.seconds.clear()
    for turn, start in enumerate(range(0, len(timed), TURN)):
        for version in (before, after) if turn % 2 else (after, before):
            version.score(timed[start : start + TURN])
    found = {
        "photos": len(timed),
        "before_ms": 1000 * np.median(before.seconds),
        "after_ms": 1000 * np.median(after.seconds),
    }
    files = [scratch / "before.npy", scratch / "after.npy"]
    for version, file in zip((before, after), files):
        version.ask("features", names[:LOOKED_AT], str(file))
    one, two = (np.load(file).astype(np.float64) for file in files)
    cosines = (one * two).sum(-1) / (np.linalg.norm(one, axis=-1) * np.linalg.norm(two, axis=-1))
    found["largest_distance_of_features"] = float(1 - cosines.min())
    found["equal_features"] = float((one == two).mean())
    found["stages"] = [version.ask("stages", names[:LOOKED_AT]) for version in (before, after)]
    return found


def table_of(found: dict[str, Any]) -> Any:
    """Where the time of a photo goes; imported here, because the older version may lack the table's module."""
    from vericap.core.table import Number, Table

    before, after = found["before_ms"], found["after_ms"]
    one, two = found["stages"]
    table = Table(["step", "before ms", "after ms"], digits=2)
    for step in one:
        table.add(step, Number(one[step]), Number(two[step]))
    table.add("metrics, cache (what is left)", Number(before - sum(one.values())), Number(after - sum(two.values())))
    table.add("all", Number(before), Number(after))
    table.notes = [
        f"{METRICS} on {found['photos']} photos, processor time of one; {before / after:.2f} times as fast",
        f"the windows' features: 1 - cosine at most {found['largest_distance_of_features']:.1e}, "
        f"{100 * found['equal_features']:.2f} % equal",
    ]
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="a checkout of the older commit, its kernels built")
    parser.add_argument("--after", type=Path, default=ROOT, help="another checkout than this one")
    parser.add_argument("--images", type=int, default=2000)
    parser.add_argument("--output", type=Path, help="JSON of the figures")
    parser.add_argument("--save", action="store_true", help="keep the tables in benchmarks/results, for the docs")
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--cache", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.work:
        return work(args.work, args.cache)
    if not args.before:
        parser.error("name a checkout of the older commit with --before")
    source = data_folder() / "flickr8k" / "Images"
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "photos"
        folder.mkdir()
        names = [file.name for file in sorted(source.glob("*.jpg"))[: args.images + CAPTIONS]]
        for seed, name in enumerate(names):
            enlarge(source / name, folder / name, seed)
        versions = [Version(place, folder, Path(scratch) / str(n)) for n, place in enumerate((args.before, args.after))]
        found = compare(versions[0], versions[1], names, Path(scratch))
        for version in versions:
            version.close()
    from benchmarks.library.results import tell  # not where an older version works, see `table_of`

    tell("benchmarks.speed.photo_speed", {"steps": table_of(found)}, save=args.save)
    if args.output:
        args.output.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
