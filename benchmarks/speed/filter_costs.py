"""What analyses cost for one text or photo: the order in which `vericap filter --cascade` judges conditions.

    OMP_NUM_THREADS=1 nice -n 10 .venv/bin/python -m benchmarks.speed.filter_costs --captions 40

Captions, references and photos are those of Flickr8k (VERICAP_DATA/flickr8k); processor time, networks warm, no cache.
The table `MILLISECONDS` of src/vericap/run/filter/plan.py is rounded from this.
"""

from __future__ import annotations

import argparse
import time

from benchmarks.library.data import data_folder
from benchmarks.library.results import add_save, tell
from vericap.core.analysis import Key, closure
from vericap.core.batch import Batch
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.core.table import Table
from vericap.metrics.registry import make
from vericap.run.filter.plan import milliseconds
from vericap.run.plan import fill
from vericap.run.runtime import Runtime

METRICS = (
    "rouge-l",
    "meteor",
    "spice",
    "spice-soft",
    "sentence",
    "wmd",
    "lm",
    "vifidel",
    "vse",
    "reo-relevance",
    "faier",
)
WARM = 4  # samples that open networks and tables


def samples(count: int) -> list[Sample]:
    captions: dict[str, list[str]] = {}
    for line in (data_folder() / "flickr8k" / "Flickr8k.token.txt").read_text(encoding="utf-8").splitlines():
        key, text = line.split("\t")
        captions.setdefault(key.split("#")[0], []).append(text)
    found = [
        Sample(photo, texts[0], tuple(texts[1:]), photo)
        for photo, texts in captions.items()
        if (data_folder() / "flickr8k" / "Images" / photo).is_file()
    ]
    return found[:count]


def measured(key: Key, warm: Batch, batch: Batch, runtime: Runtime) -> float:
    """Processor milliseconds of a key for one item of a batch."""
    fill(warm, [key], runtime)
    start = time.process_time()
    fill(batch, [key], runtime)
    items = {"text": len(batch.texts), "image": len(batch.image_keys), "sample": len(batch), "run": 1}[key.index]
    return 1000 * (time.process_time() - start) / items


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--captions", type=int, default=40)
    add_save(parser)
    args = parser.parse_args()
    settings = Settings(images=data_folder() / "flickr8k" / "Images", cache="off")
    drawn = samples(args.captions + WARM)
    warm, batch = Batch.of(drawn[:WARM], settings), Batch.of(drawn[WARM:], settings)
    table = Table(["analysis", "of each", "milliseconds", "in the table"], digits=3)
    keys = closure((key for name in METRICS for key in make(name).requires(settings)), settings)
    for key in keys:
        spent = measured(key, warm, batch, Runtime.of(settings))
        table.add(
            f"{type(key).__name__} {getattr(key, 'encoder', '')}".strip(), key.index, spent, float(milliseconds(key))
        )
    tell("benchmarks.speed.filter_costs", {"analyses": table}, save=args.save)


if __name__ == "__main__":
    main()
