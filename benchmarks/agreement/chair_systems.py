"""CHAIR of four captioning systems on COCO's Karpathy test images.

    python -m benchmarks.agreement.chair_systems [--photos train2017/ [--images 1000]] [--save]

The published protocol: what COCO's boxes (`coco/boxes_*.tsv.gz`) show or one of the five references mentions is there.
Beside it the boxes alone and the references alone and, with photos at hand, the detector in place of the boxes: on the
same images, with the share of verdicts (invented or not, per mention) that agree. Prints CHAIR-i, CHAIR-s, recall,
mentions and words per caption, the objects invented most often, and captions per processor second.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.library.data import data_folder
from benchmarks.library.results import add_save, tell
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.core.table import Number, Table
from vericap.metrics.registry import make
from vericap.run.engine import Run
from vericap.run.results import Result

SYSTEMS = ("m2_transformer", "blip2", "llava15_brief", "llava15_default")
COLUMNS = (
    "system",
    "objects",
    "captions",
    "CHAIR-i",
    "CHAIR-s",
    "recall",
    "mentions",
    "words per caption",
    "captions/s",
)


def samples_of(folder: Path, system: str, images: Sequence[str]) -> list[Sample]:
    references: dict[str, list[str]] = json.loads((folder / "karpathy_test_references.json").read_text())
    rows = {
        str(row["image_id"]): row["caption"]
        for row in json.loads((folder / f"karpathy_test_{system}.json").read_text())
    }
    chosen = images or list(rows)
    return [Sample(key, rows[key], tuple(references[key]), f"{int(key):012}.jpg") for key in chosen]


def scored(metric: str, samples: Sequence[Sample], settings: Settings) -> tuple[Result, float]:
    start = time.process_time()
    found = Run([make(metric), make(metric.replace("chair", "chair-s", 1))], settings).score(samples)
    return found, len(samples) / (time.process_time() - start)


def cells(result: Result, rate: float) -> list[Number | int | str]:
    """A row of figures; the objects invented most often come last."""
    instance, caption = result.corpus.values()
    beside = instance.beside
    invented = next(iter(result.statistics.values())).columns["hallucinated"]
    words = Counter(word for text in invented for word in text.split(", ") if word)
    return [
        instance.count,
        Number(float(instance)),
        Number(float(caption)),
        Number(beside["recall"]),
        Number(beside["mentions per caption"], digits=2),
        Number(beside["words per caption"], digits=1),
        Number(rate, digits=0),
        ", ".join(f"{word} {count}" for word, count in words.most_common(6)),
    ]


def agreement(one: Result, two: Result) -> float:
    """Share of captions' mentions that both judge alike: 1 - |difference of invented mentions| / mentions."""
    first, second = (next(iter(found.statistics.values())).values for found in (one, two))
    both = ~np.isnan(first[:, 0] + second[:, 0])
    return 1 - float(np.abs(first[both, 0] - second[both, 0]).sum() / first[both, 1].sum())


def photos_of(folder: Path, photos: Path, count: int) -> list[str]:
    """The first images of the set that have boxes and a photo."""
    from vericap.vision.box_files import BoxTable, box_files

    known = BoxTable(box_files(folder))
    keys = json.loads((folder / "karpathy_test_references.json").read_text())
    found = (key for key in keys if known.find(key) is not None and (photos / f"{int(key):012}.jpg").is_file())
    return [key for key, _ in zip(found, range(count))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photos", type=Path)
    parser.add_argument("--images", type=int, default=1000)
    add_save(parser)
    args = parser.parse_args()
    folder = data_folder() / "coco"
    sources = {
        "boxes + references": f"chair:objects={folder}",
        "boxes": f"chair:objects={folder}:references=false",
        "references": "chair:objects=references",
        "boxes + refs, distinct": f"chair:objects={folder}:count=distinct",
    }
    systems = Table([*COLUMNS, "invented most"], digits=3, keys=2)
    for system in SYSTEMS:
        samples = samples_of(folder, system, [])
        for what, metric in sources.items():
            systems.add(system, what, *cells(*scored(metric, samples, Settings())))
    tables = {"systems": systems}
    if args.photos:
        images = photos_of(folder, args.photos, args.images)
        about = (
            f"{len(images)} images of the set with boxes and a photo; alike: share of mentions that both judge alike"
        )
        seen_by = tables["detector"] = Table([*COLUMNS, "alike"], digits=3, keys=2, notes=[about])
        for system in SYSTEMS:
            samples = samples_of(folder, system, images)
            settings = Settings(images=args.photos)
            for rest in ("", ":references=false"):
                gold, rate = scored(f"chair:objects={folder}{rest}", samples, settings)
                seen, slow = scored(f"chair:objects=detector{rest}", samples, settings)
                name = "" if rest else " + references"
                seen_by.add(system, f"boxes{name}", *cells(gold, rate)[:-1], None)
                seen_by.add(system, f"detector{name}", *cells(seen, slow)[:-1], Number(agreement(gold, seen)))
    tell("benchmarks.agreement.chair_systems", tables, save=args.save)


if __name__ == "__main__":
    main()
