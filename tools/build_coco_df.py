"""Build src/vericap/data/coco-val-df: python tools/build_coco_df.py captions_val2014.json.gz

N-grams seen in one image weigh as much as unknown ones, so only those seen in two or more are stored; every stored
count is exact.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
from pathlib import Path

from vericap.text.frequency_files import build, save

TARGET = Path(__file__).resolve().parents[1] / "src" / "vericap" / "data" / "coco-val-df"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("annotations", type=Path, help="captions_val2014.json or .json.gz")
    file = parser.parse_args().annotations
    data = file.read_bytes()
    annotations = json.loads(gzip.decompress(data) if file.suffix == ".gz" else data)["annotations"]
    captions: dict[int, list[str]] = {}
    for annotation in annotations:
        captions.setdefault(annotation["image_id"], []).append(annotation["caption"])
    TARGET.mkdir(parents=True, exist_ok=True)
    table = TARGET / "coco-val.npz"
    frequency = build(captions.values())
    save(frequency, table, at_least=2)
    (TARGET / "LICENSE").write_text(
        "The counts are derived from the captions of the COCO 2014 validation set,\n"
        "(c) COCO Consortium, https://cocodataset.org, licensed under the Creative Commons\n"
        "Attribution 4.0 licence (CC BY 4.0, https://creativecommons.org/licenses/by/4.0/).\n"
        "Changes: captions were tokenised and reduced to document frequencies of n-grams.\n"
    )
    meta = {
        "name": "coco-val-df",
        "what": f"Document frequencies of 1- to 4-grams in the references of {frequency.images} COCO val2014 images",
        "licence": "CC BY 4.0, see LICENSE",
        "source": "captions_val2014.json (COCO Consortium)",
        "script": "tools/build_coco_df.py",
        "files": {table.name: hashlib.sha256(table.read_bytes()).hexdigest()},
    }
    (TARGET / "meta.json").write_text(json.dumps(meta, indent=2) + "\n")
    print(f"{frequency.images} images, {int((frequency.counts >= 2).sum())} n-grams, {table.stat().st_size} bytes")


if __name__ == "__main__":
    main()
