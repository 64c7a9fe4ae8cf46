"""What the verdict costs: visual words beside `vse` in one pass over photos, and captions once photos are known.

    VERICAP_DATA=DIR python -m benchmarks.speed.verdict_speed [--photos 800] [--save]

Flickr8k photos with five captions, their own or those of another photo, no references; processor time of one thread,
nothing is cached on disk, the fastest of three rounds in turns. A caption costs what a run with five captions of each
photo takes beyond one with a single caption of each, parsing and reading them included.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

from benchmarks.library.data import data_folder
from benchmarks.library.results import add_save, tell
from vericap.core.analysis import closure
from vericap.core.batch import Batch
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.core.table import Table
from vericap.metrics.registry import make
from vericap.run.analyses import Regions, VisualWords
from vericap.run.engine import Run
from vericap.run.photos import Pixels, look_at
from vericap.run.runtime import Runtime
from vericap.train import data

CORES, ROUNDS, EACH = 2, 3, 5


def looking(samples: list[Sample], settings: Settings, analyses: Sequence[Pixels]) -> float:
    """Processor seconds of one pass over the photos."""
    runtime = Runtime.of(settings)
    batch = Batch.of(samples, settings)
    look_at(Batch.of(samples[:8], settings), analyses, runtime)  # networks are open
    start = time.process_time()
    look_at(batch, analyses, runtime)
    return time.process_time() - start


def scoring(samples: list[Sample], settings: Settings) -> float:
    run = Run([make("verdict")], settings)
    run.score(samples[:8])
    start = time.process_time()
    run.score(samples)
    return time.process_time() - start


def samples_of(known: data.Captioned, captions: Sequence[Sequence[str]], each: int) -> list[Sample]:
    """So many captions of every photo."""
    return [
        Sample(f"{photo}-{number}", text, (), photo)
        for photo, own in zip(known.keys, captions)
        for number, text in enumerate(own[:each])
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photos", type=int, default=800)
    add_save(parser)
    args = parser.parse_args()
    folder = data_folder() / "flickr8k"
    known = data.flickr8k(folder, "dev").first(args.photos)
    settings = Settings(images=folder / "Images", cache="off")
    single = samples_of(known, known.captions, 1)
    wanted = [Regions.of(settings)], [Regions.of(settings), VisualWords()]
    plain, both = ([key for key in closure(keys, settings) if isinstance(key, Pixels)] for keys in wanted)
    looks = [[looking(single, settings, keys) for keys in (plain, both)] for _ in range(ROUNDS)]
    alone, beside = (1000 * min(row[place] for row in looks) / args.photos for place in range(2))
    table = Table(["what", "figure"], digits=2)
    table.add("a photo, regions alone (vse), ms", alone)
    table.add("a photo, regions and visual words, ms", beside)
    table.add("more, %", 100 * (beside / alone - 1))
    for title, captions in (
        ("of its own", known.captions),
        ("of another photo", known.captions[1:] + known.captions[:1]),
    ):
        samples = samples_of(known, captions, EACH)
        runs = [[scoring(some, settings) for some in (samples[::EACH], samples)] for _ in range(ROUNDS)]
        few, many = (min(row[place] for row in runs) for place in range(2))
        each = (many - few) / (len(samples) * (EACH - 1) / EACH)
        table.add(f"a caption {title} once the photo is known, ms", 1000 * each)
        table.add(f"captions {title} per second on {CORES} cores", CORES / each)
    tell("benchmarks.speed.verdict_speed", {"verdict-speed": table}, save=args.save)


if __name__ == "__main__":
    main()
