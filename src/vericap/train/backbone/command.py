"""Fine-tune the image backbone and the image-sentence encoder on photos with captions.

Photos are found in --photos by COCO id or file name. Lower features and caption vectors are kept in --output and
made once; an interrupted training goes on with the same command. Training on COCO alone: leave --flickr8k out and
name its folder with --validation.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from vericap.core.errors import InputError
from vericap.train import claims, data, kept
from vericap.train.backbone import lite, store, training
from vericap.train.backbone.maps import lower_maps
from vericap.train.backbone.onnx_files import quantised
from vericap.train.options import (
    add_captions,
    add_plan,
    add_teacher,
    add_text_encoder,
    plan_of,
    reader,
    report,
    text_encoder,
)
from vericap.train.vse.training import VseOptions, VseSource
from vericap.vision.images import find, load_image
from vericap.vision.regions import pixels

_EXAMPLES = 50  # photos whose activations set the ranges of the 8-bit blocks


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--coco", nargs="+", required=True, metavar="FILE", help="COCO caption files")
    parser.add_argument("--photos", required=True, metavar="DIR", help="folder of the COCO photos")
    parser.add_argument("--never", metavar="FILE", help="image ids that are never trained on, one per line")
    parser.add_argument("--images", type=int, help="use a random part of the COCO photos")
    parser.add_argument("--flickr8k", metavar="DIR", help="train on its 6,000 training photos too")
    parser.add_argument("--validation", metavar="DIR", help="Flickr8k folder whose dev photos validate")
    parser.add_argument("--output", "-o", required=True, metavar="DIR")
    parser.add_argument("--work", metavar="DIR", help="where maps and caption vectors are kept (--output)")
    parser.add_argument(
        "--features", metavar="STORE", help="write region features of these photos too, for SCAN and FAIEr"
    )
    parser.add_argument("--start", metavar="DIR", help="earlier training to begin with: its output, or `default`")
    parser.add_argument("--size", type=int, default=288, help="input side of the finished backbone (288)")
    parser.add_argument("--photo-size", type=int, default=256, help="input side of the COCO photos in training (256)")
    parser.add_argument("--batch", type=int, default=128)
    add_captions(parser, help="captions of every photo that are read (5); encoding them takes its time")
    parser.add_argument("--name", default="vericap-vse")
    add_text_encoder(parser)
    add_teacher(parser)
    add_plan(parser, steps=1500)


def run(args: argparse.Namespace) -> int:
    flickr = args.flickr8k or args.validation
    if flickr is None:
        raise InputError("name the Flickr8k folder that validates with `validation=DIR` (or `flickr8k=DIR`)")
    options = VseOptions(
        batch=args.batch,
        extra=args.batch * 5 // 16,
        size=args.size,
        photo_size=args.photo_size,
        teacher=args.teacher,
    )
    network, encoder = lite.load(), reader(args)
    work = Path(args.work or args.output)
    work.mkdir(parents=True, exist_ok=True)

    photos: list[tuple[list[str], Any]] = []

    lower = work / "lower.onnx"

    def source(name: str, chosen: data.Captioned, folder: str, size: int) -> VseSource:
        maps = lower_maps(
            chosen, photos_in(folder), work / f"{name}-{size}.npy", lower, size=size, threads=args.threads
        )
        photos.append((chosen.keys, maps))
        each = min(chosen.most, data.PER_IMAGE if name == "dev" else args.captions_per_image)
        more: dict[str, Any] = {"each": each, "threads": args.threads}
        said = claims.of(chosen, work, name, encoder, **more) if args.teacher == "claims" else None
        return VseSource(maps, kept.sentences(chosen, work, name, encoder, **more), said, chosen.places(each))

    images = str(Path(flickr) / "Images")
    coco = data.coco(args.coco, never=args.never).with_photos(args.photos)
    coco = coco.sample(args.images or len(coco))
    dev = data.flickr8k(flickr, "dev")
    if not lower.is_file():
        examples = [load_image(find(key, args.photos)) for key in coco.keys[:_EXAMPLES]]
        sizes = (options.photo_size, options.size)
        quantised(network, lower, [pixels(image, size) for image in examples for size in sizes])
    main = source("coco", coco, args.photos, options.photo_size)
    extra = None
    if args.flickr8k:
        extra = source("flickr8k", data.flickr8k(flickr, "train"), images, options.size)
    validation = source("dev", dev, images, options.size)
    trained = training.train(
        main,
        extra,
        validation,
        args.output,
        plan=plan_of(args),
        options=options,
        network=network,
        lower=lower,
        text_encoder=text_encoder(args),
        start=args.start,
        name=args.name,
    )
    report(trained, args.output)
    if args.features:
        file = Path(args.output) / "backbone" / "backbone.onnx"
        count = store.write(file, photos, args.features, threads=args.threads)
        print(f"region features of {count} photos are in {args.features}")
    return 0


def photos_in(folder: str) -> Callable[[str], Any]:
    """Image key -> image of a folder."""

    def load(key: str) -> Any:
        return load_image(find(key, folder))

    return load
