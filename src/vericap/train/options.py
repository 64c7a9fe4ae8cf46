"""Arguments and data that the training commands share."""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vericap.core.errors import InputError
from vericap.models.vse import VseModel
from vericap.text.encoders import CAPTIONS, GTE_SMALL, HELP, SentenceEncoder, open_encoder
from vericap.train import data, parallel
from vericap.train.trainer import OPTIMIZERS, PRECISIONS, TrainPlan
from vericap.vision.store import FeatureStore

VALIDATED = 300  # validation photos of SCAN and FAIEr-plus; all pairs with their captions are scored
_SHARE, _MOST = 0.05, 1000  # of the photos, where nothing is said of validation


def add_data(parser: argparse.ArgumentParser, *, batch: int, name: str) -> None:
    """Where features and captions come from, where the model goes."""
    parser.add_argument("--features", required=True, metavar="STORE", help="made by `vericap features`")
    parser.add_argument(
        "--captions",
        nargs="+",
        default=[],
        metavar="FILE",
        help="captions, one or more per image: COCO's or Karpathy's JSON, JSONL, CSV or TSV (image, caption), Flickr's "
        "token.txt; .gz too",
    )
    parser.add_argument("--never", metavar="FILE", help="image ids that are never trained on, one per line")
    parser.add_argument("--images", type=int, help="use a random part of the photos of --captions")
    parser.add_argument("--flickr8k", metavar="DIR", help="train on its 6,000 training photos too")
    parser.add_argument(
        "--validation",
        metavar="WHICH",
        help="photos that validate: a file of ids (one per line) or a share (0.1) of those of --captions, which are "
        "then not trained on; or a Flickr8k folder, whose dev photos are in the store too (its own where --flickr8k is "
        f"named, else {_SHARE:g})",
    )
    parser.add_argument("--output", "-o", required=True, metavar="DIR")
    parser.add_argument(
        "--work",
        metavar="DIR",
        help="where vectors of captions are kept, also those of `vericap train backbone` (--output)",
    )
    parser.add_argument("--batch", type=int, default=batch, help=f"images in a step, of all processes ({batch})")
    parser.add_argument("--name", default=name, help="what the model calls itself")
    add_text_encoder(parser)


def add_text_encoder(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--text-encoder", default=CAPTIONS, metavar="NAME", help=f"{HELP} ({CAPTIONS})")


def add_captions(parser: argparse.ArgumentParser, *, help: str) -> None:
    """How many captions of every image are read."""
    choices = range(1, data.PER_IMAGE + 1)
    parser.add_argument(
        "--captions-per-image", type=int, default=data.PER_IMAGE, choices=choices, metavar="K", help=help
    )


def add_share(parser: argparse.ArgumentParser) -> None:
    """How far a tuned model goes from the one it begins with."""
    parser.add_argument(
        "--share",
        type=float,
        default=1.0,
        metavar="SHARE",
        help="with --start: how far weights go from those to what was learned; below 1 tuning costs less elsewhere (1)",
    )


def add_near(parser: argparse.ArgumentParser) -> None:
    """Which photos make up a batch."""
    parser.add_argument(
        "--near",
        type=int,
        default=1,
        metavar="N",
        help="draw photos N by N that are like each other, by their captions (1: at random)",
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


def reader(args: argparse.Namespace) -> SentenceEncoder:
    """The sentence encoder, with its network open: threads share it."""
    found = open_encoder(text_encoder(args))
    found.encode(["a"])
    return found


def text_encoder(args: argparse.Namespace) -> str:
    """How a model names its sentence encoder: a folder by its full path, so that it is found from anywhere."""
    folder = Path(args.text_encoder).expanduser()
    return str(folder.resolve()) if (folder / "meta.json").is_file() or folder.is_dir() else str(args.text_encoder)


def parts(args: argparse.Namespace, store: FeatureStore) -> Iterator[tuple[str, data.Captioned]]:
    """Named sets of captioned images that are in the store: what to train on, and `dev` last."""
    if not args.captions and not args.flickr8k:
        raise InputError("nothing to train on: name files with `captions=FILE` or a folder with `flickr8k=DIR`")
    folder = args.validation if args.validation and Path(args.validation).is_dir() else None
    own = in_store(data.coco(args.captions, never=args.never), store) if args.captions else None
    if folder or (args.flickr8k and not args.validation):
        dev = in_store(data.flickr8k(folder or args.flickr8k, "dev"), store)
    elif own is not None:
        own, dev = held_out(own, args.validation or "", store)
    else:
        raise InputError(f"`validation={args.validation}` is neither a Flickr8k folder nor of `captions=FILE`")
    if len(dev) < 2:
        raise InputError(f"{len(dev)} photo cannot validate; name more with `validation=WHICH`")
    if own is not None:
        yield "coco", own.sample(args.images or len(own))
    if args.flickr8k:
        yield "flickr8k", in_store(data.flickr8k(args.flickr8k, "train"), store)
    yield "dev", dev


def captions_each(parts: Sequence[tuple[str, data.Captioned]]) -> int:
    """Captions kept of every image of these sets, which share batches."""
    return max(part.most for _, part in parts)


def held_out(own: data.Captioned, which: str, store: FeatureStore) -> tuple[data.Captioned, data.Captioned]:
    """Photos to train on, and those that validate: named by a file of ids, or a share of them.

    A share is drawn by the photos' names alone, so that more photos do not move those that were there.
    """
    if which and Path(which).is_file():
        wanted = {name for key in data.lines(which) for name in names(key)}
        chosen = [key for key in own.keys if key in wanted]
        if not chosen:
            raise InputError(f"{which} names none of the {len(own)} photos with captions in {store.folder}")
    else:
        share, most = _share(which) if which else _SHARE, None if which else _MOST
        count = max(2, min(round(share * len(own)), most or len(own)))
        chosen = sorted(own.keys, key=lambda key: hashlib.sha256(key.encode()).digest())[:count]
    rest = own.without(chosen)
    if not len(rest):
        raise InputError(f"all {len(own)} photos validate: none is left to train on")
    return rest, own.only(chosen)


def _share(which: str) -> float:
    try:
        share = float(which)
    except ValueError:
        share = 0.0
    if not 0.0 < share < 1.0:
        raise InputError(f"`validation={which}` is neither a folder nor a file nor a share between 0 and 1")
    return share


def encoder_name(given: str) -> str:
    """How a model names its encoder: a folder by its full path, so that it is found from anywhere."""
    return given if given in ("", "default") else str(Path(given).resolve())


def shares(batch: int, sources: int, second: int | None = None) -> list[int]:
    """Images of each source in a batch: 5 of 16 are of the second one, or as many as are named."""
    second = batch * 5 // 16 if second is None else second
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


def check_whole(store: FeatureStore) -> None:
    """`vse` and FAIEr-plus read the first region of an image as the whole of it: refuse a store of boxes alone."""
    if not {"declared", "values"} & set(store.extractor) or store.extractor.get("whole"):
        return
    boxes = np.asarray(store.get(store.ids()[0])[1], dtype=np.float32)
    whole = (np.abs(boxes - np.array([0.0, 0.0, 1.0, 1.0])) < 2e-3).all(axis=1)
    if whole.all() or not whole[0]:
        raise InputError(
            f"the first region of an image in {store.folder} is not the whole image, which this model reads first; "
            "make the store with `vericap features FILE --whole`"
        )


def check_reader(model: VseModel, text_encoder: str) -> None:
    """Regions and words meet in the space of one sentence encoder."""
    its = model.meta.get("text_encoder", GTE_SMALL)
    if its != text_encoder:
        raise InputError(
            f"the image-sentence encoder {model.name} was trained over the sentence encoder '{its}', not over "
            f"'{text_encoder}'; name it with `text_encoder={its}`, or train another one (`vericap train vse`)"
        )


def add_plan(parser: argparse.ArgumentParser, *, steps: int, optimizer: str = "adamw") -> None:
    group = parser.add_argument_group("plan")
    group.add_argument(
        "--steps", type=int, default=steps, help=f"optimiser steps ({steps}); 0 writes what it begins with"
    )
    group.add_argument("--validate", type=int, default=100, metavar="STEPS", help="steps between validations (100)")
    group.add_argument("--patience", type=int, default=0, help="validations without progress before stopping")
    group.add_argument(
        "--keep",
        choices=("best", "last"),
        default="best",
        help="weights to keep: those that validated best, or those at the end, which have seen every photo",
    )
    group.add_argument("--optimizer", choices=OPTIMIZERS, default=optimizer, help=f"({optimizer})")
    group.add_argument(
        "--precision",
        choices=PRECISIONS,
        default="float32",
        help="of matrix products; bfloat16 is faster where the processor has it (float32)",
    )
    group.add_argument("--seed", type=int, default=0)
    group.add_argument("--threads", type=int, default=2)
    group.add_argument(
        "--device", default="cpu", help="cpu, cuda or another device of torch; several processes by `torchrun` (cpu)"
    )


def plan_of(args: argparse.Namespace) -> TrainPlan:
    return TrainPlan(
        steps=args.steps,
        validate=args.validate,
        patience=args.patience,
        keep=args.keep,
        seed=args.seed,
        threads=args.threads,
        warmup=min(100, max(args.steps // 10, 1)),
        optimizer=args.optimizer,
        device=args.device,
        precision=args.precision,
    )


def report(trained: Mapping[str, Any], where: str | Path) -> None:
    """What a finished training says; the processes part here."""
    if parallel.rank() == 0:
        print(f"best at step {trained['steps']}: agreement {trained['agreement']:.2f}; written to {where}")
    parallel.finish()
