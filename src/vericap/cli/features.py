"""Extract region features of images into a feature store, or convert features of others.

vericap features photos/ --output store
vericap features photos/ --output store --boxes detector --workers 2
vericap features photos/ --output store --model hub:facebook/dinov2-small
vericap features test_ims.npy --output store            (also .tsv, .h5, a folder of .npz)
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from vericap.core.errors import InputError
from vericap.run.processes import in_order
from vericap.run.progress import progress
from vericap.vision import community
from vericap.vision.images import ImageFile, gather, load_image
from vericap.vision.regions import LEVELS, MOST, Extractor, detector_boxes
from vericap.vision.store import FeatureStore, FeatureWriter

_PART = 16  # images another process is given at a time


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
    options = (args.model, args.size, tuple(args.levels), args.boxes, args.regions)
    extractor = _extractor(*options)
    files = gather(args.images)
    problems: list[str] = []
    with FeatureWriter(args.output, extractor.description, width=extractor.width, shard_images=args.shard) as writer:
        done = writer.done()
        waiting = [item for item in files if item.key not in done]
        results = progress(
            _extract(waiting, options, args.workers), what="region features", total=len(waiting), unit="image"
        )
        for key, found in results:
            if isinstance(found, str):
                problems.append(found)
            else:
                writer.add(key, *found)
    store = FeatureStore(args.output)
    print(f"{len(store)} images in {args.output}, features {store.fingerprint} ({len(done)} were there already)")
    for problem in problems:
        print(f"vericap: {problem}", file=sys.stderr)
    return 1 if problems else 0


def _is_features(path: Path) -> bool:
    if path.is_dir():
        return any(path.glob("*.npz"))
    return path.suffix in (".npy", ".tsv", ".h5", ".hdf5")


@lru_cache(maxsize=1)
def _extractor(model: str | None, size: int | None, levels: tuple[int, ...], boxes: str, most: int) -> Extractor:
    """Made once in every process."""
    found = detector_boxes() if boxes == "detector" else None
    return Extractor(model, size=size, levels=levels, boxes=found, boxes_name=boxes, most=most)


def _extract(files: list[ImageFile], options: tuple[Any, ...], workers: int) -> Iterator[tuple[str, Any]]:
    """Key and regions of every image, or what is wrong with it."""
    if workers <= 1:
        yield from (_one(_extractor(*options), file) for file in files)
        return
    parts = [files[start : start + _PART] for start in range(0, len(files), _PART)]
    for part in in_order(partial(_several, options), parts, workers):
        yield from part


def _several(options: tuple[Any, ...], files: list[ImageFile]) -> list[tuple[str, Any]]:
    return [_one(_extractor(*options), file) for file in files]


def _one(extractor: Extractor, file: ImageFile) -> tuple[str, Any]:
    try:
        return file.key, extractor.regions(load_image(file.path))
    except InputError as error:
        return file.key, str(error)


def _convert(path: Path, args: argparse.Namespace) -> int:
    writer: FeatureWriter | None = None
    for name, features, boxes in community.read(path):
        if writer is None:
            extractor = {"file": path.name, "width": int(features.shape[1])}
            writer = FeatureWriter(args.output, extractor, width=int(features.shape[1]), shard_images=args.shard)
            done = writer.done()
        if name not in done:
            writer.add(name, features, boxes)
    if writer is None:
        raise InputError(f"{path} holds no image")
    writer.close()
    print(f"{len(FeatureStore(args.output))} images in {args.output}")
    return 0
