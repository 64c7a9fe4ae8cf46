"""Extract region features of images into a feature store, or convert features of others.

vericap features photos/ --output store
vericap features photos/ --output store --boxes detector --workers 2
vericap features photos/ --output store --model hub:facebook/dinov2-small
vericap features test_ims.npy --output store            (also .tsv, .h5, a folder of .npz)
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vericap.errors import InputError
from vericap.run.progress import progress
from vericap.vision import community
from vericap.vision.images import ImageFile, gather, load_image
from vericap.vision.regions import LEVELS, MOST, Extractor, detector_boxes
from vericap.vision.store import Store, Writer

_extractor: Extractor | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("images", nargs="+", metavar="IMAGES", help="images, folders, lists; or a feature file")
    parser.add_argument("--output", "-o", required=True, metavar="STORE", help="folder of the feature store")
    parser.add_argument(
        "--model", metavar="FILE", help="another backbone than the shipped one: an ONNX file, or hub:NAME_OR_FOLDER"
    )
    parser.add_argument("--size", type=int, help="side of the square the image is brought to")
    parser.add_argument("--levels", type=int, nargs="+", default=list(LEVELS), help="windows g x g for each g (1 2 3)")
    parser.add_argument("--boxes", choices=("none", "detector"), default="none", help="boxes after the windows")
    parser.add_argument("--regions", type=int, default=MOST, help="most regions of an image (36)")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--shard", type=int, default=2048, help="images in one file of the store")


def run(args: argparse.Namespace) -> int:
    first = Path(args.images[0])
    if len(args.images) == 1 and _is_features(first):
        return _convert(first, args)
    extractor = _make(args)
    files = gather(args.images)
    problems: list[str] = []
    with Writer(args.output, extractor.description, width=extractor.width, shard_images=args.shard) as writer:
        done = writer.done()
        waiting = [item for item in files if item.key not in done]
        results = progress(_extract(waiting, args), what="region features", total=len(waiting), unit="image")
        for key, found in results:
            if isinstance(found, str):
                problems.append(found)
            else:
                writer.add(key, *found)
    store = Store(args.output)
    print(f"{len(store)} images in {args.output}, features {store.fingerprint} ({len(done)} were there already)")
    for problem in problems:
        print(f"vericap: {problem}", file=sys.stderr)
    return 1 if problems else 0


def _is_features(path: Path) -> bool:
    if path.is_dir():
        return any(path.glob("*.npz"))
    return path.suffix in (".npy", ".tsv", ".h5", ".hdf5")


def _make(args: argparse.Namespace) -> Extractor:
    boxes = detector_boxes() if args.boxes == "detector" else None
    return Extractor(
        args.model, size=args.size, levels=args.levels, boxes=boxes, boxes_name=args.boxes, most=args.regions
    )


def _start(args: argparse.Namespace) -> None:
    global _extractor
    _extractor = _make(args)


def _one(item: ImageFile) -> tuple[str, Any]:
    assert _extractor is not None
    try:
        return item.key, _extractor.regions(load_image(item.path))
    except InputError as error:
        return item.key, str(error)


def _extract(files: list[ImageFile], args: argparse.Namespace) -> Iterator[tuple[str, Any]]:
    if args.workers <= 1:
        _start(args)
        yield from map(_one, files)
        return
    from multiprocessing import get_context

    # Fresh processes: ONNX Runtime's threads do not survive a fork. Each has one core, so one thread for NumPy too.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with get_context("spawn").Pool(args.workers, _start, (args,)) as pool:
        yield from pool.imap(_one, files, chunksize=16)


def _convert(path: Path, args: argparse.Namespace) -> int:
    writer: Writer | None = None
    for name, features, boxes in community.read(path):
        if writer is None:
            extractor = {"file": path.name, "width": int(features.shape[1])}
            writer = Writer(args.output, extractor, width=int(features.shape[1]), shard_images=args.shard)
            done = writer.done()
        if name not in done:
            writer.add(name, features, boxes)
    if writer is None:
        raise InputError(f"{path} holds no image")
    writer.close()
    print(f"{len(Store(args.output))} images in {args.output}")
    return 0
