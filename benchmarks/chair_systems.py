"""CHAIR of four captioning systems on COCO's Karpathy test images.

    python benchmarks/chair_systems.py [--data ../shared/data]

No instance annotations are needed: an object counts as there when one of the image's five references mentions it.
That is stricter than annotations (people leave objects unsaid), so long captions look worse than they are.
Prints CHAIR-i, CHAIR-s, mentions per caption, the objects invented most often, and captions per second.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import Counter
from pathlib import Path

from vericap.core.batch import Batch
from vericap.core.samples import Sample
from vericap.metrics.chair import Chair, ChairS
from vericap.run.significance import aggregate

SYSTEMS = ("m2_transformer", "blip2", "llava15_brief", "llava15_default")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("VERICAP_DATA", "../shared/data")))
    folder = parser.parse_args().data / "coco"
    references: dict[str, list[str]] = json.loads((folder / "karpathy_test_references.json").read_text())
    print(f"{'system':16} {'CHAIR-i':>8} {'CHAIR-s':>8} {'mentions':>9} {'captions/s':>11}  invented most often")
    for system in SYSTEMS:
        rows = json.loads((folder / f"karpathy_test_{system}.json").read_text())
        samples = [Sample(str(r["image_id"]), r["caption"], tuple(references[str(r["image_id"])])) for r in rows]
        batch = Batch.of(samples)
        start = time.perf_counter()
        found = Chair(objects="references").statistics(batch)
        seconds = time.perf_counter() - start
        words = Counter(w for text in found.columns["hallucinated"] for w in text.split(", ") if w)
        most = ", ".join(f"{word} {count}" for word, count in words.most_common(8))
        instance, caption = aggregate(Chair(), found.values), aggregate(ChairS(), found.values)
        rate = len(rows) / seconds
        mentions = found.columns["mentions"].mean()
        print(f"{system:16} {instance:8.4f} {caption:8.4f} {mentions:9.2f} {rate:11.0f}  {most}")


if __name__ == "__main__":
    main()
