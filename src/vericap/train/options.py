"""Arguments and data that the training commands share."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from vericap.core.errors import InputError
from vericap.train import data
from vericap.train.trainer import TrainPlan
from vericap.vision.store import FeatureStore

VALIDATED = 300  # dev photos of SCAN and FAIEr-plus; all pairs with their captions are scored


def add_data(parser: argparse.ArgumentParser, *, batch: int, name: str) -> None:
    """Where features and captions come from, where the model goes."""
    parser.add_argument("--features", required=True, metavar="STORE", help="made by `vericap features`")
    parser.add_argument("--captions", nargs="+", default=[], metavar="FILE", help="COCO caption files")
    parser.add_argument("--never", metavar="FILE", help="image ids that are never trained on, one per line")
    parser.add_argument("--images", type=int, help="use a random part of the COCO photos")
    parser.add_argument("--flickr8k", metavar="DIR", help="train on its 6,000 training photos too")
    parser.add_argument("--validation", metavar="DIR", help="Flickr8k folder whose dev photos validate")
    parser.add_argument("--output", "-o", required=True, metavar="DIR")
    parser.add_argument(
        "--work",
        metavar="DIR",
        help="where vectors of captions are kept, also those of `vericap train backbone` (--output)",
    )
    parser.add_argument("--batch", type=int, default=batch, help=f"images in a step ({batch})")
    parser.add_argument("--name", default=name, help="what the model calls itself")


def add_captions(parser: argparse.ArgumentParser, *, least: int, help: str) -> None:
    """How many captions of every image are read."""
    choices = range(least, data.PER_IMAGE + 1)
    parser.add_argument(
        "--captions-per-image", type=int, default=data.PER_IMAGE, choices=choices, metavar="K", help=help
    )


def add_teacher(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--teacher",
        choices=("sentences", "claims"),
        default="sentences",
        help="what is distilled: likeness of sentences, or of sentences and of what their scene graphs claim alike",
    )


def work_folder(args: argparse.Namespace) -> Path:
    """Where vectors of captions are kept, made where it is not there."""
    folder = Path(args.work or args.output)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def parts(args: argparse.Namespace, store: FeatureStore) -> Iterator[tuple[str, data.Captioned]]:
    """Named sets of captioned images that are in the store: what to train on, and `dev` last."""
    flickr = args.flickr8k or args.validation
    if flickr is None:
        raise InputError("name the Flickr8k folder that validates with `validation=DIR` (or `flickr8k=DIR`)")
    if not args.captions and not args.flickr8k:
        raise InputError("nothing to train on: name COCO files with `captions=FILE` or a folder with `flickr8k=DIR`")
    if args.captions:
        coco = in_store(data.coco(args.captions, never=args.never), store)
        yield "coco", coco.sample(args.images or len(coco))
    if args.flickr8k:
        yield "flickr8k", in_store(data.flickr8k(flickr, "train"), store)
    yield "dev", in_store(data.flickr8k(flickr, "dev"), store)


def encoder_name(given: str) -> str:
    """How a model names its encoder: a folder by its full path, so that it is found from anywhere."""
    return given if given in ("", "default") else str(Path(given).resolve())


def shares(batch: int, sources: int) -> list[int]:
    """Images of each source in a batch: 5 of 16 are of the second one."""
    second = batch * 5 // 16
    return [batch] if sources == 1 else [batch - second, second]


def names(key: str) -> tuple[str, ...]:
    """How an image may be called in a store."""
    if not key.isdigit():
        return (key,)
    padded = f"{int(key):012d}"
    return key, padded, f"{padded}.jpg", f"COCO_train2014_{padded}.jpg", f"COCO_val2014_{padded}.jpg"


def in_store(wanted: data.Captioned, store: FeatureStore) -> data.Captioned:
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


def add_plan(parser: argparse.ArgumentParser, *, steps: int) -> None:
    group = parser.add_argument_group("plan")
    group.add_argument("--steps", type=int, default=steps, help=f"optimiser steps ({steps})")
    group.add_argument("--validate", type=int, default=100, metavar="STEPS", help="steps between validations (100)")
    group.add_argument("--patience", type=int, default=0, help="validations without progress before stopping")
    group.add_argument(
        "--keep",
        choices=("best", "last"),
        default="best",
        help="weights to keep: those that validated best, or those at the end, which have seen every photo",
    )
    group.add_argument("--seed", type=int, default=0)
    group.add_argument("--threads", type=int, default=2)


def plan_of(args: argparse.Namespace) -> TrainPlan:
    return TrainPlan(
        steps=args.steps,
        validate=args.validate,
        patience=args.patience,
        keep=args.keep,
        seed=args.seed,
        threads=args.threads,
        warmup=min(100, max(args.steps // 10, 1)),
    )


def report(trained: Mapping[str, Any], where: str | Path) -> None:
    """What a finished training says."""
    print(f"best at step {trained['steps']}: agreement {trained['agreement']:.2f}; written to {where}")
