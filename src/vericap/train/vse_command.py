"""Train the image-sentence encoder on region features in a store, the backbone being finished.

The store must hold the images of --captions (COCO caption files) and of the Flickr8k folder whose dev photos
validate; --flickr8k trains on its 6,000 training photos too.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from vericap.errors import InputError
from vericap.train import backbone, data
from vericap.train.backbone_command import add_plan, plan_of
from vericap.train.scan_command import in_store
from vericap.vision.store import Store


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--features", required=True, metavar="STORE")
    parser.add_argument("--captions", nargs="+", required=True, metavar="FILE", help="COCO caption files")
    parser.add_argument("--never", metavar="FILE", help="image ids that are never trained on, one per line")
    parser.add_argument("--images", type=int, help="use a random part of the COCO photos")
    parser.add_argument("--flickr8k", metavar="DIR", help="train on its 6,000 training photos too")
    parser.add_argument("--validation", metavar="DIR", help="Flickr8k folder whose dev photos validate")
    parser.add_argument("--output", "-o", required=True, metavar="DIR")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--name", default="vericap-vse")
    add_plan(parser, steps=1500)


def run(args: argparse.Namespace) -> int:
    flickr = args.flickr8k or args.validation
    if flickr is None:
        raise InputError("name the Flickr8k folder that validates with --validation (or --flickr8k)")
    store, output = Store(args.features), Path(args.output)
    output.mkdir(parents=True, exist_ok=True)

    def source(name: str, chosen: data.Captioned) -> backbone.Source:
        part = in_store(chosen, store)
        windows = np.stack([np.asarray(store.get(key)[0]) for key in part.keys])
        return backbone.Source(windows, backbone.caption_vectors(part, output / f"{name}-captions.npy"))

    coco = data.coco(args.captions, never=args.never)
    trained = backbone.train_encoder(
        source("coco", coco.sample(args.images or len(coco))),
        source("flickr8k", data.flickr8k(flickr, "train")) if args.flickr8k else None,
        source("dev", data.flickr8k(flickr, "dev")),
        output,
        plan=plan_of(args),
        options=backbone.Options(batch=args.batch, extra=args.batch * 5 // 16, mirror=False, head_rate=5e-4),
        fingerprint=store.fingerprint,
        name=args.name,
    )
    print(f"best at step {trained['steps']}: agreement {trained['agreement']:.2f}; written to {output / 'vse'}")
    return 0
