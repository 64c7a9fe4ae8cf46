"""CHAIR of four captioning systems on COCO's Karpathy test images.

    python -m benchmarks.agreement.chair_systems [--photos train2017/ [--images 1000]]

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
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.metrics.registry import make
from vericap.run.engine import Run
from vericap.run.results import Result

SYSTEMS = ("m2_transformer", "blip2", "llava15_brief", "llava15_default")
HEAD = "system           objects                captions  CHAIR-i  CHAIR-s  recall mentions  words"


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


def line(system: str, what: str, result: Result, rate: float) -> str:
    instance, caption = result.corpus.values()
    beside = instance.beside
    invented = next(iter(result.statistics.values())).columns["hallucinated"]
    words = Counter(word for text in invented for word in text.split(", ") if word)
    most = ", ".join(f"{word} {count}" for word, count in words.most_common(6))
    return (
        f"{system:16} {what:22} {instance.count:8} {float(instance):8.4f} {float(caption):8.4f} "
        f"{beside['recall']:7.3f} {beside['mentions per caption']:8.2f} {beside['words per caption']:6.1f} "
        f"{rate:8.0f}/s  {most}"
    )


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
    args = parser.parse_args()
    folder = data_folder() / "coco"
    print(HEAD)
    sources = {
        "boxes + references": f"chair:objects={folder}",
        "boxes": f"chair:objects={folder}:references=false",
        "references": "chair:objects=references",
        "boxes + refs, distinct": f"chair:objects={folder}:count=distinct",
    }
    for system in SYSTEMS:
        samples = samples_of(folder, system, [])
        for what, metric in sources.items():
            print(line(system, what, *scored(metric, samples, Settings())), flush=True)
    if args.photos:
        images = photos_of(folder, args.photos, args.images)
        print(f"detector beside gold boxes, {len(images)} images of the set with both")
        for system in SYSTEMS:
            samples = samples_of(folder, system, images)
            settings = Settings(images=args.photos)
            for rest in ("", ":references=false"):
                gold, rate = scored(f"chair:objects={folder}{rest}", samples, settings)
                seen, slow = scored(f"chair:objects=detector{rest}", samples, settings)
                name = "" if rest else " + references"
                print(line(system, f"boxes{name}", gold, rate))
                print(line(system, f"detector{name}", seen, slow))
                print(f"{'':16} verdicts of mentions that agree: {agreement(gold, seen):.3f}", flush=True)


if __name__ == "__main__":
    main()
