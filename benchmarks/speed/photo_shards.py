"""Photos in tar shards through image metrics in one pass: time, memory over the run, one process against two.

    VERICAP_DATA=DIR VERICAP_PHOTOS=DIR python -m benchmarks.speed.photo_shards [--photos 20000] [--workers 1,2]
        [--metrics vse,chair,verdict] [--once | --captions N] [--work DIR] [--output FILE.json] [--save]

VERICAP_PHOTOS is a folder with photos of COCO; each is packed with one of its captions, `--shard` photos in a tar
file. Nothing is cached. Memory is that of all processes together: the most of each quarter of the run, so that growth
would show. With --once the photos are scored in this process, and what was decoded is counted; with --captions so many
captions of a few photos are scored, which shows when what is remembered of words has its full size.
"""

from __future__ import annotations

import argparse
import io
import json
import tarfile
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.library import corpora
from benchmarks.library.data import data_folder
from benchmarks.library.measuring import measured
from benchmarks.library.results import add_save, tell
from vericap.core.table import Table

FEW = 300  # photos of --captions
QUARTERS = ((0.1, 0.25), (0.25, 0.5), (0.5, 0.75), (0.75, 1.0))  # networks are opened in the first tenth


def pack(photos: Path, count: int, shard: int, target: Path) -> list[Path]:
    """Photos with their captions as tar files."""
    captions = {int(image): text for split in ("val", "train") for image, text in corpora.coco_captions(split)}
    files = sorted(file for file in photos.glob("*.jpg") if int(file.stem.split("_")[-1]) in captions)[:count]
    if len(files) < count:
        raise SystemExit(f"{photos}: {len(files)} photos with a caption, {count} are wanted")
    found = []
    for start in range(0, count, shard):
        path = target / f"{start // shard:05d}.tar"
        found.append(path)
        with tarfile.open(path, "w") as archive:
            for file in files[start : start + shard]:
                _add(archive, file.name, file.read_bytes())
                _add(archive, f"{file.stem}.txt", captions[int(file.stem.split("_")[-1])].encode())
    return found


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    archive.addfile(info, io.BytesIO(data))


def decoded_once(pattern: str, metrics: str) -> Table:
    """How many photos a run in this process decodes."""
    from vericap.core.settings import Settings
    from vericap.io.stream import open_input
    from vericap.metrics.registry import resolve
    from vericap.run import photos
    from vericap.run.engine import Run

    run = Run(resolve(metrics), Settings(cache="off"))
    before, seen = photos.decoded, 0
    with open_input(pattern) as source:
        for records in source:
            run.score(run.name_images(records.samples))
            seen += len(records.samples)
    table = Table(["metrics", "photos", "decodings"])
    table.add(metrics.replace(",", ", "), seen, photos.decoded - before)
    return table


def remembered(photos: Path, count: int, metrics: str, folder: Path) -> Table:
    """Memory by tenth of a run over many captions of few photos."""
    names = sorted(file.name for file in photos.glob("*.jpg"))[:FEW]
    captions = [text for _, text in corpora.coco_captions("train")]
    pairs = folder / "pairs.jsonl"
    with pairs.open("w", encoding="utf-8") as stream:
        for number in range(count):  # neighbours in the file are of one photo: captions are taken from everywhere
            image, text = names[number // 100 % FEW], captions[number * 37 % len(captions)]
            stream.write(json.dumps({"id": str(number), "caption": text, "image": image}) + "\n")
    words = ["score", pairs, "--images", photos, "-m", metrics, "-o", folder / "scores.jsonl", "--cache", "off"]
    used = measured(*words, "--quiet", "--shard-records", 2000)
    tenths = [round(used.most_between(part / 10, (part + 1) / 10) / 1e6) for part in range(10)]
    table = Table(["metrics", "captions", "captions/s", "MB by tenth"], digits=0)
    table.add(metrics.replace(",", ", "), count, count / used.wall, " ".join(map(str, tenths)))
    return table


def looking(pattern: str, photos: int) -> str:
    """What it costs to look through the tar files before work begins: names, places and digests."""
    from vericap.io.stream import open_input

    start = time.process_time()
    with open_input(pattern):
        each = 1e6 * (time.process_time() - start) / photos
    return f"before that, {each:.0f} us of processor a photo to look through the tar files, in --workers processes"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photos", type=int, default=20_000)
    parser.add_argument("--shard", type=int, default=1000, help="photos in a tar file")
    parser.add_argument("--records", type=int, default=256, help="photos in a piece of work")
    parser.add_argument("--metrics", default="vse,chair,verdict")
    parser.add_argument("--workers", default="1,2")
    parser.add_argument("--once", action="store_true", help="count what is decoded, in this process")
    parser.add_argument("--captions", type=int, metavar="N", help="captions of a few photos, memory by tenth")
    parser.add_argument("--work", type=Path, help="folder for tar files and outputs (default: a temporary one)")
    parser.add_argument("--output", type=Path)
    add_save(parser)
    args = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(dir=args.work) as name:
        folder = Path(name)
        if args.captions:
            found = remembered(data_folder("VERICAP_PHOTOS"), args.captions, args.metrics, folder)
            tell("benchmarks.speed.photo_shards", {"remembered": found}, save=args.save)
            return
        tars = pack(data_folder("VERICAP_PHOTOS"), args.photos, args.shard, folder)
        pattern = f"{folder}/{{{tars[0].stem}..{tars[-1].stem}}}.tar"
        if args.once:
            tell("benchmarks.speed.photo_shards", {"decoded": decoded_once(pattern, args.metrics)}, save=args.save)
            return
        before = looking(pattern, args.photos)
        table = Table(["processes", "seconds", "photos/s", "processor ms each", "MB by quarter", "MB"], digits=1)
        for workers in map(int, args.workers.split(",")):
            output = folder / f"scores-{workers}.jsonl"
            words = ["score", pattern, "-m", args.metrics, "-o", output, "--workers", workers, "--cache", "off"]
            used = measured(*words, "--quiet", "--shard-records", args.records)
            quarters = [round(used.most_between(*part) / 1e6) for part in QUARTERS]
            row = {"workers": workers, "photos": args.photos, "metrics": args.metrics, "wall_s": used.wall}
            rows.append({**row, "cpu_s": used.cpu, "quarters_mb": quarters, "most_mb": used.together / 1e6})
            each = 1000 * used.cpu / args.photos
            shown = " ".join(map(str, quarters))
            table.add(workers, used.wall, args.photos / used.wall, each, shown, used.together / 1e6)
            if args.output:
                args.output.write_text(json.dumps(rows, indent=1))
        contents = {(folder / f"scores-{workers}.jsonl").read_bytes() for workers in args.workers.split(",")}
    table.notes.append(before)
    if len(rows) > 1:
        table.notes.append(
            f"{rows[0]['wall_s'] / rows[-1]['wall_s']:.2f} times as fast in {rows[-1]['workers']} processes"
        )
        table.notes.append("the same bytes" if len(contents) == 1 else "RESULTS DIFFER")
    tell("benchmarks.speed.photo_shards", {"photo-shards": table}, save=args.save)


if __name__ == "__main__":
    main()
