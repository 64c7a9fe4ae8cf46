"""Extract region features of images into a feature store, or bring feature files of others into one.

vericap features photos/ --output store
vericap features photos/ --output store --boxes detector --workers 2
vericap features photos/ --output store --model hub:facebook/dinov2-small
vericap features train.tsv val.tsv --output store --extractor bottom-up-36     (or _ims.npy of SCAN, .h5, .npz folders)
vericap features --check store
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from functools import lru_cache, partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from vericap.core.errors import InputError
from vericap.io.write import check_not_input
from vericap.run.processes import in_order
from vericap.run.progress import progress
from vericap.vision import community
from vericap.vision.identity import declared, undeclared
from vericap.vision.images import ImageFile, gather, load_image
from vericap.vision.profile import FeatureProfile
from vericap.vision.regions import CELLS, DETECTOR, LEVELS, MOST, NONE, Extractor
from vericap.vision.shards import read_json
from vericap.vision.store import FeatureStore, FeatureWriter

_PART = 16  # images another process is given at a time
_PEEKED = 64  # images of a file that are compared with what the store has


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("images", nargs="*", metavar="IMAGES", help="images, folders, lists; or feature files")
    parser.add_argument(
        "--output", "-o", metavar="STORE", help="folder of the feature store; more is added to what it has"
    )
    parser.add_argument("--check", metavar="STORE", help="read all values of a store and compare their SHA-256")
    files = parser.add_argument_group("feature files")
    files.add_argument(
        "--extractor",
        metavar="NAME",
        help="what made the files: stores of one name fit the same models (without it this store fits its own alone)",
    )
    files.add_argument("--prefix", default="", metavar="TEXT", help="put before the ids of all images of the files")
    files.add_argument(
        "--whole",
        action="store_true",
        help="put the mean of an image's regions before them, as the whole image, which vse and faier-plus read first",
    )
    parser.add_argument(
        "--model", metavar="FILE", help="another backbone than the shipped one: an ONNX file, or hub:NAME_OR_FOLDER"
    )
    parser.add_argument("--size", type=int, help="side of the square the image is brought to")
    parser.add_argument("--levels", type=int, nargs="+", default=list(LEVELS), help="windows g x g for each g (1 2 3)")
    parser.add_argument(
        "--boxes",
        choices=(CELLS, DETECTOR, NONE),
        default=CELLS,
        help="boxes of objects after the windows: those the backbone proposes (cells, of the shipped one), or the "
        "embedded detector's",
    )
    parser.add_argument("--regions", type=int, default=MOST, help="most regions of an image (36)")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--shard", type=int, default=2048, help="images in one file of the store")


def run(args: argparse.Namespace) -> int:
    if args.check:
        store = FeatureStore(args.check)
        store.verify()
        print(f"{len(store)} images in {args.check}: all values are as they were written, features {store.fingerprint}")
        return 0
    if not args.images or not args.output:
        raise InputError("name images or feature files, and the store with `output=STORE`")
    given = [Path(name) for name in args.images]
    check_not_input(Path(args.output), given)
    converted = [_is_features(file) for file in given]
    if all(converted):
        return _convert(given, args)
    if any(converted):
        raise InputError(f"{given[converted.index(True)]} is a feature file: photos and feature files make two stores")
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
    return Extractor(model, size=size, levels=levels, boxes=boxes, most=most)


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


def _convert(files: list[Path], args: argparse.Namespace) -> int:
    """All images of feature files, each told by its id; what is there already must be the same."""
    writer: FeatureWriter | None = None
    for file in files:
        items = _items(file, args)
        some = list(islice(items, _PEEKED))
        if not some:
            raise InputError(f"{file} holds no image")
        if writer is None:
            writer = FeatureWriter(
                args.output, _description(args, some[0]), width=_width(some[0]), shard_images=args.shard
            )
        _check_alike(writer, file, [features for _, features, _ in some])
        for name, features, boxes in chain(some, items):
            writer.add_same(name, features, boxes)
        writer.flush()
    assert writer is not None
    writer.close()
    store = FeatureStore(args.output)
    print(f"{len(store)} images in {args.output}, features {store.fingerprint}")
    return 0


def _items(file: Path, args: argparse.Namespace) -> Iterator[community.Item]:
    for name, features, boxes in community.read(file):
        if args.whole:
            mean = np.asarray(features, dtype=np.float32).mean(axis=0, keepdims=True)
            features, boxes = np.concatenate([mean, features]), np.concatenate([community.whole(1), boxes])
        yield args.prefix + name, features, boxes


def _width(item: community.Item) -> int:
    return int(item[1].shape[1])


def _description(args: argparse.Namespace, item: community.Item) -> dict[str, Any]:
    """The extractor of files: declared, that of the store they are added to, or known by what it makes of an image."""
    meta = Path(args.output) / "meta.json"
    if args.extractor is not None:
        found = declared(args.extractor, _width(item))
    elif meta.is_file():
        found = {name: value for name, value in read_json(meta).get("extractor", {}).items() if name != "whole"}
    else:
        found = undeclared(*item[:2])
    return {**found, "whole": True} if args.whole else found


def _check_alike(writer: FeatureWriter, file: Path, features: list[Any]) -> None:
    """Refuse a file that another extractor made than what the store has."""
    there = writer.profile()
    if there is not None and not there.fits(FeatureProfile.of(features)):
        raise InputError(
            f"the features of {file} are of another kind than those in {writer.folder}: another extractor made them, "
            "or they were scaled otherwise; put them into a store of their own"
        )
