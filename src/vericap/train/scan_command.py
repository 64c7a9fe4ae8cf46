"""Train SCAN on region features in a store.

The store must hold the images of --captions (COCO caption files, found by id or by the COCO file names) and of the
Flickr8k folder whose dev photos validate; --flickr8k trains on its 6,000 training photos too.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from vericap.errors import InputError
from vericap.models import vse
from vericap.train import backbone, data, scan
from vericap.train.backbone_command import add_plan, plan_of
from vericap.vision.store import Store, check_same


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--features", required=True, metavar="STORE")
    parser.add_argument("--captions", nargs="+", default=[], metavar="FILE", help="COCO caption files")
    parser.add_argument("--never", metavar="FILE", help="image ids that are never trained on, one per line")
    parser.add_argument("--images", type=int, help="use a random part of the COCO photos")
    parser.add_argument("--flickr8k", metavar="DIR", help="train on its 6,000 training photos too")
    parser.add_argument("--validation", metavar="DIR", help="Flickr8k folder whose dev photos validate")
    parser.add_argument("--output", "-o", required=True, metavar="DIR")
    parser.add_argument("--words", choices=("states", "gru"), default="states")
    parser.add_argument("--loss", choices=("distil", "infonce", "hardest"), default="distil")
    parser.add_argument("--pooling", choices=("average", "logsumexp"), default="average")
    parser.add_argument(
        "--encoder",
        default="",
        metavar="NAME",
        help="regions as this image-sentence encoder embeds them (default, or a folder)",
    )
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--shrinkage", type=float, default=0.5, help="of the covariance towards its mean variance")
    parser.add_argument("--name", default="vericap-scan")
    add_plan(parser, steps=1500)


def run(args: argparse.Namespace) -> int:
    flickr = args.flickr8k or args.validation
    if flickr is None:
        raise InputError("name the Flickr8k folder that validates with --validation (or --flickr8k)")
    store, output = Store(args.features), Path(args.output)
    parts: list[tuple[str, data.Captioned]] = []
    if args.captions:
        coco = in_store(data.coco(args.captions, never=args.never), store)
        parts.append(("coco", coco.sample(args.images or len(coco))))
    if args.flickr8k:
        parts.append(("flickr8k", in_store(data.flickr8k(flickr, "train"), store)))
    if not parts:
        raise InputError("nothing to train on: name COCO files with --captions or a folder with --flickr8k")
    dev = in_store(data.flickr8k(flickr, "dev"), store)
    words = None
    if args.words == "gru":
        texts = [text for _, part in parts for five in part.captions for text in five]
        words = scan.vocabulary(texts, scan.Options().rarest)
    sources = [source(name, part, store, output, words, args.encoder) for name, part in parts]
    share = [args.batch] if len(parts) == 1 else [args.batch - args.batch * 5 // 16, args.batch * 5 // 16]
    options = scan.Options(words=args.words, loss=args.loss, pooling=args.pooling, width=args.width, batch=args.batch)
    trained = scan.train(
        sources,
        share,
        source("dev", dev, store, output, words, args.encoder),
        output,
        plan=plan_of(args),
        options=options,
        fingerprint=store.fingerprint,
        words=words,
        start=beginning(sources[0], options),
        shrinkage=args.shrinkage,
        name=args.name,
    )
    print(f"best at step {trained['steps']}: agreement {trained['agreement']:.2f}; written to {output / 'scan'}")
    return 0


def names(key: str) -> tuple[str, ...]:
    """How an image may be called in a store."""
    if not key.isdigit():
        return (key,)
    padded = f"{int(key):012d}"
    return key, padded, f"{padded}.jpg", f"COCO_train2014_{padded}.jpg", f"COCO_val2014_{padded}.jpg"


def in_store(wanted: data.Captioned, store: Store) -> data.Captioned:
    """The images that have features, under the store's names."""
    keys, captions = [], []
    for key, texts in zip(wanted.keys, wanted.captions):
        found = next((name for name in names(key) if name in store), None)
        if found is not None:
            keys.append(found)
            captions.append(texts)
    if not keys:
        raise InputError(f"none of the {len(wanted)} images is in {store.folder} (for example '{wanted.keys[0]}')")
    return data.Captioned(keys, captions)


def source(
    name: str, part: data.Captioned, store: Store, output: Path, words: list[str] | None, encoder: str
) -> scan.Source:
    """Features, teacher vectors and the text side of some captioned images."""
    folder = output / name
    folder.mkdir(parents=True, exist_ok=True)
    features = np.stack([np.asarray(store.get(key)[0]) for key in part.keys])
    if encoder:
        model = vse.load(encoder)
        check_same(store.fingerprint, str(store.folder), model.fingerprint, model.name)
        features = np.concatenate([model.embed(rows).astype(np.float16) for rows in np.array_split(features, 64)])
    text: scan.TextStates | scan.TextNumbers
    if words is None:
        text = scan.read_states(part, folder)
    else:
        text = scan.TextNumbers([caption for five in part.captions for caption in five], words)
    return scan.Source(features, backbone.caption_vectors(part, folder / "captions.npy"), text)


def beginning(source: scan.Source, options: scan.Options):  # type: ignore[no-untyped-def]
    """Regions and words begin in the sentence space where the encoder has put the regions there."""
    if not options.encoder or not isinstance(source.text, scan.TextStates) or options.width != 384:
        return None
    return np.asarray(source.text.states[:200_000], dtype=np.float32).mean(axis=0), None
