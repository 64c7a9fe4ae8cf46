"""Words that name a region against other words (FAIEr's grounding analysis): does a region know its name?

    python benchmarks/faier_grounding.py [--photos 300] [--metrics faier faier-plus]

Flickr8k dev photos with one caption each, no references. No annotated boxes exist for them, so the embedded detector's
boxes stand in: a region is called after the box it overlaps most (intersection over union of at least .3), and a word
names it where CHAIR's word table says so. Read the table as a comparison of metrics, not as an absolute figure.
"""

from __future__ import annotations

import argparse

import numpy as np
from caption_sets import ROOT

from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.meta.grounding import analyse, grounded, grounding_table, labels_of_boxes, word_map
from vericap.metrics.registry import resolve
from vericap.run.engine import Run
from vericap.train.data import flickr8k
from vericap.vision.detector import Detector
from vericap.vision.images import find, load_image
from vericap.vision.mentions import class_of
from vericap.vision.regions import shares


def names(word: str, label: str) -> bool:
    return bool(set(class_of(word)) & set(class_of(label)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photos", type=int, default=300)
    parser.add_argument("--metrics", nargs="+", default=["faier", "faier-plus"])
    args = parser.parse_args()
    data, folder = flickr8k(ROOT / "flickr8k", "dev"), ROOT / "flickr8k" / "Images"
    keys, captions = data.keys[: args.photos], data.captions[: args.photos]
    samples = [Sample(key, five[0], (), key) for key, five in zip(keys, captions)]
    reasons = Run(resolve(args.metrics), Settings(images=folder)).explain(samples, full=True)
    detector = Detector.shipped()
    boxes, labels = [], []
    for key in keys:
        image = load_image(find(key, folder))
        (found,) = detector.detect([image])
        rows = [(label, box) for label, _, box in found.instances() if box is not None]
        places = [shares(np.array([box], dtype=np.float32), image.size) for _, box in rows]
        kept = [(label, place[0]) for (label, _), place in zip(rows, places) if len(place)]
        labels.append([label for label, _ in kept])
        boxes.append(np.array([place for _, place in kept], dtype=np.float64).reshape(-1, 4))
    table = {}
    for metric in args.metrics:
        items = []
        for reason, places, named in zip(reasons[metric], boxes, labels):
            if reason is not None:
                regions = np.array(word_map(reason).boxes, dtype=np.float64)
                items.append(grounded(reason, labels_of_boxes(regions, places, named, overlap=0.3)))
        table[metric] = analyse(items, names=names)
    print(grounding_table(table).markdown())


if __name__ == "__main__":
    main()
