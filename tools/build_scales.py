"""How captions that people wrote score by each metric: means and spreads for `mean(...)` of scores without bounds.

    VERICAP_DATA=../shared/data python tools/build_scales.py src/vericap/data/scales

2,000 images of COCO val2014 that have boxes and are not in `never_train_image_ids.txt`: the first caption is judged,
the other four are its references, the boxes its objects. Run it again when a metric's numbers move; with
`--metrics NAME ...` some alone, the others stay as they are.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
from pathlib import Path

import numpy as np

from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.metrics.registry import make
from vericap.run.engine import Run
from vericap.vision.box_files import BoxTable, box_files

METRICS = (
    "lm", "lm:form=logprob", "lm:model=rnn", "vifidel", "vifidel:references=none", "vifidel:setting=authors", "wmd",
    "sentence", "bleu-1", "bleu-4", "rouge-l", "meteor", "cider-d", "cider", "spice", "spice-soft",
)  # fmt: skip


def samples(folder: Path, count: int) -> list[Sample]:
    known, never = BoxTable(box_files(folder)), set((folder / "never_train_image_ids.txt").read_text().split())
    with gzip.open(folder / "captions_val2014.json.gz") as stream:
        rows = json.load(stream)["annotations"]
    captions: dict[str, list[str]] = {}
    for row in rows:
        captions.setdefault(str(row["image_id"]), []).append(row["caption"].strip())
    keys = [key for key in sorted(captions, key=int) if key not in never and known.find(key) is not None]
    chosen = [keys[place] for place in np.linspace(0, len(keys) - 1, count).astype(int)]
    return [Sample(key, captions[key][0], tuple(captions[key][1:5]), key) for key in chosen]


def measured(metric: str, told: list[Sample], settings: Settings) -> dict[str, list[float]]:
    """Mean and spread, for VIFIDEL without references and with."""
    rows = [told]
    if metric.startswith("vifidel") and "references=none" not in metric:
        rows = [[Sample(s.id, s.candidate, (), s.image) for s in told], told]
    found = [Run([make(metric)], settings).score(part)[metric] for part in rows]
    kept = [values[~np.isnan(values)] for values in found]
    digits = [[round(float(f(values)), 5) for values in kept] for f in (np.mean, np.std)]
    return {"means": digits[0], "spreads": digits[1]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--images", type=int, default=2000)
    parser.add_argument("--metrics", nargs="+", help="these alone (default: all)")
    args = parser.parse_args()
    coco = Path(os.environ.get("VERICAP_DATA", "../shared/data")) / "coco"
    told, settings = samples(coco, args.images), Settings(objects=str(coco))
    args.folder.mkdir(parents=True, exist_ok=True)
    target = args.folder / "scales.json"
    before = json.loads(target.read_text("utf-8"))["scales"] if args.metrics else {}
    table = {"scales": before | {metric: measured(metric, told, settings) for metric in args.metrics or METRICS}}
    target.write_text(json.dumps(table, indent=1) + "\n", "utf-8")
    meta = {
        "title": "scores of captions that people wrote",
        "version": "coco-human-1",
        "files": {target.name: hashlib.sha256(target.read_bytes()).hexdigest()},
        "licence": "Apache-2.0, as vericap",
        "source": f"{len(told)} captions of COCO val2014 (CC BY 4.0), means and spreads of scores alone",
        "built_by": "tools/build_scales.py",
    }
    (args.folder / "meta.json").write_text(json.dumps(meta, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
