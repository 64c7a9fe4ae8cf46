"""Train the image-sentence encoder on region features in a store, the backbone being finished.

The store must hold the images of --captions, and of Flickr8k where its photos train or validate; features of any width
and number of regions, the first of which is the whole image. They are read from the store as they are needed.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from vericap.core.errors import InputError
from vericap.core.shipped import weights
from vericap.models.vse import VseModel
from vericap.text.encoders import SentenceEncoder
from vericap.train import claims, data, kept, options, parallel
from vericap.train.data import Captioned
from vericap.train.ratings import likenesses, ratings
from vericap.train.vse import people, training
from vericap.vision.store import FeatureStore

_RATE = 5e-4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options.add_data(parser, batch=128, name="vericap-vse")
    parser.add_argument("--start", metavar="NAME", help="encoder to begin with: default or a folder")
    options.add_teacher(parser)
    parser.add_argument("--rate", type=float, help="learning rate (5e-4; 1e-3 with --ratings)")
    parser.add_argument(
        "--ratings",
        metavar="FILE",
        help="teach the encoder of --start how people weigh what captions say, from their ratings of images with "
        "captions (CxC); regions stay as they are",
    )
    parser.add_argument("--likenesses", metavar="FILE", help="with --ratings: ratings of pairs of captions (CxC)")
    options.add_plan(parser, steps=1500)


def run(args: argparse.Namespace) -> int:
    if args.ratings and not (args.likenesses and args.start):
        raise InputError("`ratings=FILE` needs `likenesses=FILE` and the encoder that is taught, `start=NAME`")
    parallel.start(args.device)
    store, work = FeatureStore(args.features), options.work_folder(args)
    options.check_whole(store)
    encoder = options.reader(args)

    parts = list(options.parts(args, store))

    def source(name: str, part: Captioned) -> training.VseSource:
        windows = kept.StoreFeatures(store, part.keys)
        each = part.most if name == "dev" else options.captions_each(parts[:-1])
        more: dict[str, Any] = {"each": each, "threads": args.threads}
        said = claims.of(part, work, name, encoder, **more) if args.teacher == "claims" else None
        return training.VseSource(windows, kept.sentences(part, work, name, encoder, **more), said, part.places(each))

    *learned, validation = parallel.first(lambda: [source(*part) for part in parts])
    if args.ratings:
        return _taught(args, store, learned, validation, encoder)
    share = options.shares(args.batch, len(learned))
    chosen = training.VseOptions(
        batch=args.batch, extra=share[-1], mirror=False, head_rate=args.rate or _RATE, teacher=args.teacher
    )
    trained = training.train_encoder(
        learned[0],
        learned[1] if len(learned) > 1 else None,
        validation,
        args.output,
        plan=options.plan_of(args),
        options=chosen,
        features=store.trained_on(),
        text_encoder=options.text_encoder(args),
        start=weights(args.start, "vse") if args.start else None,
        name=args.name,
    )
    options.report(trained, Path(args.output) / "vse")
    return 0


def _taught(
    args: argparse.Namespace,
    store: FeatureStore,
    learned: list[training.VseSource],
    validation: training.VseSource,
    reader: SentenceEncoder,
) -> int:
    """The encoder to begin with, with what people's ratings teach."""
    begun = weights(args.start, "vse")
    store.check_fits(begun[1])
    options.check_reader(VseModel(*begun), options.text_encoder(args))
    never = data.lines(args.never) if args.never else []
    told = ratings(args.ratings, data.coco(args.captions, never=args.never)), likenesses(args.likenesses, never)
    chosen = people.PeopleOptions(rate=args.rate or people.PeopleOptions.rate)
    more: dict[str, Any] = {"reader": reader, "plan": options.plan_of(args), "options": chosen}
    trained = people.teach(begun, store, learned, validation, told, args.output, **more)
    options.report(trained, Path(args.output) / "vse")
    return 0
