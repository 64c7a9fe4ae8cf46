"""Retrieval of the shipped image models: R@1/5/10 both ways on Flickr8k test (1,000 photos, 5,000 captions).

python benchmarks/image_retrieval.py [--split test] [--images 1000]
"""

from __future__ import annotations

import argparse

import numpy as np
from caption_sets import ROOT

from vericap.models import scan, vse
from vericap.run.batch import Batch, Settings
from vericap.samples import Sample
from vericap.train.data import flickr8k
from vericap.train.validate import recall


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--split", default="test", choices=("dev", "test"))
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--models", nargs="+", default=["vse", "scan"])
    args = parser.parse_args()
    data = flickr8k(ROOT / "flickr8k", args.split)
    keys, captions = data.keys[: args.images], data.captions[: args.images]
    samples = [Sample(f"{key}-{k}", text, (), key) for key, five in zip(keys, captions) for k, text in enumerate(five)]
    batch = Batch.of(samples, Settings(images=ROOT / "flickr8k" / "Images"))
    regions = batch.analysis("regions")
    if "vse" in args.models:
        model = vse.load()
        z, texts = model.embed(regions.features), batch.analysis("sentences")[batch.candidates]
        mask = np.ones((len(texts), z.shape[1]), bool)
        rows = [model.score(np.broadcast_to(image, (len(texts), *image.shape)), mask, texts) for image in z]
        print("vse", {name: round(value, 1) for name, value in recall(np.stack(rows)).items()})
    if "scan" in args.models:
        grounded = scan.load()
        words = grounded.words(batch.texts, batch.analysis("token_states"))
        found = grounded.matrix(grounded.regions(regions.features), regions.mask.astype(np.float32), words)
        scores = found[:, batch.candidates]
        print("scan", {name: round(value, 1) for name, value in recall(scores).items()})


if __name__ == "__main__":
    main()
