"""Mean sentence vector of COCO training captions (data/encoder/caption_mean.npy) and the encoder's meta.json.

python tools/build_caption_mean.py ../shared/data/coco/captions_train2014.json.gz [--captions 20000]
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from pathlib import Path

import numpy as np
from build_encoder import describe

from vericap.models import store
from vericap.text.encoder import Encoder


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("captions_file", type=Path)
    parser.add_argument("--captions", type=int, default=20_000, help="how many, drawn at random")
    args = parser.parse_args()
    with gzip.open(args.captions_file) as stream:
        annotations = json.load(stream)["annotations"]
    never = args.captions_file.with_name("never_train_image_ids.txt")
    left_out = set(never.read_text().split()) if never.is_file() else set()
    texts = [a["caption"].strip() for a in annotations if str(a["image_id"]) not in left_out]
    texts = random.Random(0).sample(texts, min(args.captions, len(texts)))
    mean = Encoder().encode(texts, centred=False).mean(axis=0)
    folder = store.ROOT / "encoder"
    np.save(folder / "caption_mean.npy", mean.astype(np.float32))
    describe(folder)


if __name__ == "__main__":
    main()
