"""The shipped detector on the gold-labelled PASCAL images: precision, recall and F1 of labels, images per second.

    python -m benchmarks.studies.detector_f1 [--model detector] [--speed] [--save]

A label counts once per image; the 20 VOC classes are mapped from COCO's names. The threshold is chosen on every
second image by F1 and the scores are reported on the others, then the other way round, then at the default on all.
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np

from benchmarks.library.data import data_folder
from benchmarks.library.results import add_save, tell
from vericap.core.table import Number, Table
from vericap.vision.detector_source import open_detector
from vericap.vision.images import load_image
from vericap.vision.objects import canonical, tidy

THRESHOLDS = np.arange(0.1, 0.7, 0.025)


def scores(truth: np.ndarray, sure: np.ndarray, threshold: float) -> tuple[float, float, float]:
    """Precision, recall, F1 of (image, class) pairs."""
    found = sure >= threshold
    right = float((found & truth).sum())
    precision, recall = right / max(1, found.sum()), right / truth.sum()
    return precision, recall, 2 * precision * recall / max(1e-9, precision + recall)


def best(truth: np.ndarray, sure: np.ndarray) -> float:
    return float(max(THRESHOLDS, key=lambda level: scores(truth, sure, level)[2]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="detector", help="detector, model.onnx, hub/NAME")
    parser.add_argument("--speed", action="store_true", help="images per second on one and two threads")
    add_save(parser)
    args = parser.parse_args()
    folder = data_folder() / "pascal50s"
    gold = {
        name: {canonical(tidy(label)) for label in labels}
        for name, labels in json.loads((folder / "voc_objects.json").read_text()).items()
    }
    files = sorted(gold)
    classes = sorted(set().union(*gold.values()))
    detector = open_detector(args.model)
    images = [load_image(folder / "images" / name) for name in files]
    sure = np.zeros((len(files), len(classes)))
    for row, found in enumerate(detector.detect(images, threshold=0.05)):
        for label, values in zip(found.labels, found.scores):
            if canonical(label) in classes:
                sure[row, classes.index(canonical(label))] = values[0]
    truth = np.array([[name in gold[file] for name in classes] for file in files])
    about = f"{detector.name}: {len(files)} images, {len(classes)} classes, {int(truth.sum())} labels"
    table = Table(["threshold", "precision", "recall", "F1"], digits=3, notes=[about])
    for title, chosen, held in (("even -> odd", 0, 1), ("odd -> even", 1, 0)):
        level = best(truth[chosen::2], sure[chosen::2])
        p, r, f = scores(truth[held::2], sure[held::2], level)
        table.add(f"{level:.3f}, chosen {title}", Number(p), Number(r), Number(f))
    for level in sorted({0.25, 0.3, detector.threshold, 0.4, 0.5}):
        p, r, f = scores(truth, sure, level)
        mark = " (default)" if level == detector.threshold else ""
        table.add(f"{level:.3f} on all{mark}", Number(p), Number(r), Number(f))
    tables = {"labels": table}
    if args.speed:
        tables["speed"] = Table(["threads", "images per second", "per second of processor time"], digits=1)
        for threads in (1, 2):
            ready = open_detector(args.model, threads=threads)
            ready.detect(images[:4])
            start, used = time.perf_counter(), time.process_time()
            ready.detect(images[:80])
            rate, per_core = 80 / (time.perf_counter() - start), 80 / (time.process_time() - used)
            tables["speed"].add(threads, Number(rate), Number(per_core))
    tell("benchmarks.studies.detector_f1", tables, save=args.save)


if __name__ == "__main__":
    main()
