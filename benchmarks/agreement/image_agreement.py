"""Agreement of the image metrics with people: Flickr8k-Expert (tau-c) and the PASCAL-50S pairs (both labels).

    python -m benchmarks.agreement.image_agreement --metrics vse reo tiger [--references 5] [--json FILE] [--save]
    python -m benchmarks.agreement.image_agreement --trained DIR [--metrics reo-relevance:truth=image:model=FOLDER]

--trained names the output of `vericap train backbone`: its backbone looks at the photos (features are kept in DIR) and
its `vse` scores them, or the metrics that are named: for example models trained on COCO alone.

Photos and captions are read from VERICAP_DATA; region features and sentence vectors are cached, so that a second run
takes seconds. No model is tuned on these pairs.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from benchmarks.library.data import data_folder
from benchmarks.library.judged import GROUPS, expert, pascal
from benchmarks.library.results import add_save, tell
from benchmarks.library.runs import short
from vericap.core.settings import Settings
from vericap.core.table import Number, Table
from vericap.metrics.registry import resolve
from vericap.run.engine import Run
from vericap.vision.images import find, load_image
from vericap.vision.regions import Extractor
from vericap.vision.store import FeatureWriter

REO = ("reo-relevance", "reo-extraness", "reo-omission")
GROUPS_OF = {
    "reo": [f"{name}:truth={truth}" for name in REO for truth in ("image", "reference", "both")],
    "vse": ["vse"],
    "tiger": ["tiger"],
}


def seen_by(trained: Path, samples: list, photos: Path) -> Path:
    """A store with the photos' features as a trained backbone gives them."""
    extractor = Extractor(trained / "backbone" / "backbone.onnx")
    folder = trained / f"judged-{photos.parent.name}"
    with FeatureWriter(folder, extractor.description, width=1280) as writer:
        for key in sorted({str(sample.image) for sample in samples} - set(writer.done())):
            writer.add(key, *extractor.regions(load_image(find(key, photos))))
    return folder


def scores(samples: list, names: list[str], photos: Path, trained: Path | None) -> dict[str, np.ndarray]:
    settings = Settings(images=photos, workers=1)
    if trained:
        settings = Settings(features=seen_by(trained, samples, photos), workers=1)
    result = Run(resolve(names), settings).score(samples)
    return {name: np.asarray(result[name], dtype=float) for name in names}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--metrics", nargs="+")
    parser.add_argument("--references", type=int, default=5)
    parser.add_argument("--draws", type=int, default=1, help="random draws of PASCAL-50S references")
    parser.add_argument("--trained", type=Path, metavar="DIR", help="another backbone with its encoder")
    parser.add_argument("--json", type=Path)
    add_save(parser)
    args = parser.parse_args()
    given = args.metrics or ([f"vse:model={args.trained / 'vse'}"] if args.trained else list(GROUPS_OF))
    names = [name for group in given for name in GROUPS_OF.get(group, [group])]
    table: dict[str, dict[str, float]] = {name: {} for name in names}
    rated = expert(references=args.references)
    for name, values in scores(rated.samples, names, data_folder() / "flickr8k" / "Images", args.trained).items():
        table[name]["expert tau-c"] = rated.tau(values)
    for label in ("consensus48", "votes11"):
        runs: dict[str, list[dict[str, float]]] = {name: [] for name in names}
        for draw in range(args.draws):
            pairs = pascal(label=label, references=args.references, draw=draw)
            images = data_folder() / "pascal50s" / "images"
            for name, values in scores(pairs.samples, names, images, args.trained).items():
                runs[name].append(pairs.accuracy(values))
        for name, found in runs.items():
            for group in (*GROUPS, "mean"):
                table[name][f"{label} {group}"] = float(np.mean([run[group] for run in found]))
    shown = Table(["metric", *next(iter(table.values()))], digits=1)
    shown.notes.append("PASCAL-50S: HC, HI, HM, MM and their mean, by the label of 48 votes and by that of 11")
    for name, row in table.items():
        shown.add(f"`{short(name)}`", *map(Number, row.values()))
    title = "trained" if args.trained else "agreement"
    tell("benchmarks.agreement.image_agreement", {title: shown}, save=args.save)
    if args.json:
        args.json.write_text(json.dumps(table, indent=1))


if __name__ == "__main__":
    main()
