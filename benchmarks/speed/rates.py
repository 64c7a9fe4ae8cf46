"""What each metric costs for one pair: processor time, bytes written, and what 100 million pairs take.

    VERICAP_DATA=DIR VERICAP_PHOTOS=DIR python -m benchmarks.speed.rates [--texts 2000,12000] [--images 40,240]

Every metric is run by the command line on two sizes of COCO captions (four references each) or of photos in a tar file
(VERICAP_PHOTOS, one caption each); the slope is what a pair costs, the rest is start-up. Nothing is cached, one
process, one thread. Decoding alone is the part of a photo that stays on processors where networks run on a GPU.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from benchmarks.library import corpora
from benchmarks.library.data import data_folder
from benchmarks.library.measuring import measured
from benchmarks.library.results import add_save, tell
from benchmarks.speed.photo_shards import pack
from benchmarks.speed.stream_scale import captions
from vericap.core.table import Table

TEXT = ("bleu-4,rouge-l,cider-d", "bleu-4,rouge-l,cider-d,vifidel", "meteor", "sentence", "spice")
PHOTO = ("vse", "chair", "verdict", "vse,chair,verdict")
PAIRS = 100_000_000


def cost(path: Path, metrics: str, folder: Path) -> tuple[float, int]:
    """Processor seconds of a run, and the bytes of its output."""
    output = folder / "scores.parquet"
    words = ["score", path, "-m", metrics, "-o", output, "--cache", "off", "--quiet", "--workers", 1]
    used = measured(*words)
    size = output.stat().st_size
    output.unlink()
    return used.cpu, size


def decoding(folder: Path, count: int) -> float:
    """Processor milliseconds to decode a photo."""
    from vericap.vision.images import load_image

    files = sorted(folder.glob("*.jpg"))[:count]
    start = time.process_time()
    for file in files:
        load_image(file)
    return 1000 * (time.process_time() - start) / len(files)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", default="2000,12000")
    parser.add_argument("--images", default="40,240")
    add_save(parser)
    args = parser.parse_args()
    photos = data_folder("VERICAP_PHOTOS")
    grouped: dict[str, list[str]] = {}
    for image, caption in corpora.coco_captions("val"):
        grouped.setdefault(image, []).append(caption)
    by_image = [texts[:5] for texts in grouped.values() if len(texts) >= 5]
    table = Table(["metrics", "ms a pair", "start-up s", "bytes a row", "core hours", "GB written"], digits=2)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        inputs: dict[str, dict[int, Path]] = {"text": {}, "photo": {}}
        for size in map(int, args.texts.split(",")):
            inputs["text"][size] = folder / f"{size}.jsonl"
            captions(size, inputs["text"][size], by_image, mix=False)
        for size in map(int, args.images.split(",")):
            (folder / str(size)).mkdir()
            inputs["photo"][size] = pack(photos, size, size, folder / str(size))[0]
        for kind, chosen in (("text", TEXT), ("photo", PHOTO)):
            for metrics in chosen:
                (few, low), (many, high) = inputs[kind].items()
                first, _ = cost(low, metrics, folder)
                second, size = cost(high, metrics, folder)
                each = (second - first) / (many - few)
                written = size / many
                hours = each * PAIRS / 3600
                table.add(metrics, 1000 * each, first - each * few, written, hours, written * PAIRS / 1e9)
                print(table.text().splitlines()[-1], flush=True)
    table.notes.append(f"decoding alone: {decoding(photos, 300):.2f} ms a photo")
    tell("benchmarks.speed.rates", {"rates": table}, save=args.save)


if __name__ == "__main__":
    main()
