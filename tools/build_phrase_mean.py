"""Build src/vericap/data/phrases: the mean embedding of scene-graph phrases of COCO training captions.

    python tools/build_phrase_mean.py ../shared/data/coco

The folder holds captions_train2014.json.gz and never_train_image_ids.txt (ids that are left out).
"""

from __future__ import annotations

import gzip
import json
import random
import sys
from pathlib import Path

import numpy as np

from vericap.core.shipped import sha256
from vericap.graphs.english import parse_many
from vericap.text.encoders.gte_small import GteSmall, name

TARGET = Path(__file__).resolve().parent.parent / "src" / "vericap" / "data" / "phrases"
CAPTIONS, PHRASES = 10_000, 12_000


def main() -> None:
    folder = Path(sys.argv[1])
    left_out = set((folder / "never_train_image_ids.txt").read_text().split())
    with gzip.open(folder / "captions_train2014.json.gz", "rt", encoding="utf-8") as stream:
        notes = json.load(stream)["annotations"]
    texts = sorted({note["caption"].strip() for note in notes if str(note["image_id"]) not in left_out})
    draw = random.Random(0)
    graphs = parse_many(draw.sample(texts, CAPTIONS))
    phrases = sorted({phrase for graph in graphs for phrase in graph.phrases()})
    vectors = GteSmall().encode(draw.sample(phrases, PHRASES), centred=False)
    TARGET.mkdir(parents=True, exist_ok=True)
    np.save(TARGET / "phrase_mean.npy", vectors.mean(axis=0, dtype=np.float64).astype(np.float32))
    meta = {
        "name": "phrases",
        "what": f"mean embedding of {PHRASES} distinct scene-graph phrases of COCO training captions",
        "licence": "COCO annotations, CC BY 4.0",
        "source": f"COCO captions_train2014 without evaluation images, encoder {name()}",
        "script": "tools/build_phrase_mean.py",
        "files": {"phrase_mean.npy": sha256(TARGET / "phrase_mean.npy")},
    }
    (TARGET / "meta.json").write_text(json.dumps(meta, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
