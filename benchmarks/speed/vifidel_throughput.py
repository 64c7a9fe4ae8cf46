"""VIFIDEL on many captions with known objects: captions per CPU second and peak memory, in growing steps.

    python -m benchmarks.speed.vifidel_throughput [--captions 100000] [--references 0]

Captions are COCO validation captions (all that there are, repeated with small changes beyond that), objects are
drawn at random from the COCO classes. Sample making is left out of the time; tokenising is in it.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import resource
import time
from collections.abc import Iterator

from benchmarks.library.data import data_folder
from vericap.core.samples import Sample
from vericap.metrics.registry import resolve
from vericap.run.engine import Run

_CLASSES = (
    "person bicycle car dog cat horse frisbee skateboard surfboard bottle cup fork bowl pizza chair couch bed tv "
    "laptop book clock vase umbrella handbag train truck boat bench bird sheep cow elephant"
)
CLASSES = _CLASSES.split()


def samples(count: int, references: int) -> list[Sample]:
    with gzip.open(data_folder() / "coco/captions_val2014.json.gz") as stream:
        texts = [row["caption"].strip() for row in json.load(stream)["annotations"]]
    dice = random.Random(0)

    def made() -> Iterator[Sample]:
        for number in range(count):
            text = texts[number % len(texts)] + (f" {number // len(texts)}" if number >= len(texts) else "")
            objects = {dice.choice(CLASSES): dice.randint(1, 3) for _ in range(dice.randint(1, 5))}
            yield Sample(str(number), text, tuple(dice.choices(texts, k=references)), objects=objects)

    return list(made())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--captions", type=int, default=100_000)
    parser.add_argument("--references", type=int, default=0)
    args = parser.parse_args()
    for count in (args.captions // 4, args.captions // 2, args.captions, 2 * args.captions):
        batch = samples(count, args.references)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        start = time.process_time()
        result = Run(resolve("vifidel")).score(batch)
        spent = time.process_time() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{count:>7} captions, {args.references} references: {count / spent:,.0f} per CPU second, "
            f"peak {peak:.0f} MB (before scoring {before:.0f}), mean score {float(result.corpus['vifidel']):.4f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
