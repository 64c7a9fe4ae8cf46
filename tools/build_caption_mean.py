"""Mean sentence vector of training captions (data/encoder/caption_mean.npy) and the encoder's meta.json.

    python tools/build_caption_mean.py ../shared/data [--captions 10000]

COCO's and Flickr8k's training captions weigh the same: two ways of writing captions, so that neither habit
("A picture of ...", a full stop at the end) is taken for content.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from pathlib import Path

import numpy as np
from build_encoder import describe

from vericap.core import shipped
from vericap.text.encoders.gte_small import GteSmall


def coco(folder: Path) -> list[str]:
    with gzip.open(folder / "coco/captions_train2014.json.gz") as stream:
        annotations = json.load(stream)["annotations"]
    left_out = set((folder / "coco/never_train_image_ids.txt").read_text().split())
    return [a["caption"].strip() for a in annotations if str(a["image_id"]) not in left_out]


def flickr8k(folder: Path) -> list[str]:
    training = set((folder / "flickr8k/Flickr_8k.trainImages.txt").read_text().split())
    lines = (folder / "flickr8k/Flickr8k.token.txt").read_text("utf-8").splitlines()
    return [line.split("\t")[1].strip() for line in lines if line.split("#")[0] in training]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--captions", type=int, default=10_000, help="how many of each, drawn at random")
    args = parser.parse_args()
    encoder = GteSmall()
    means = [
        encoder.encode(random.Random(0).sample(texts, args.captions), centred=False).mean(axis=0)
        for texts in (coco(args.data), flickr8k(args.data))
    ]
    folder = shipped.ROOT / "encoder"
    np.save(folder / "caption_mean.npy", np.mean(means, axis=0).astype(np.float32))
    describe(folder)


if __name__ == "__main__":
    main()
