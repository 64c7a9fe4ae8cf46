"""Train the image-sentence encoder on region features in a store, the backbone being finished.

The store must hold the images of --captions (COCO caption files) and of the Flickr8k folder whose dev photos
validate; --flickr8k trains on its 6,000 training photos too. Features are read from the store as they are needed.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from vericap.core.shipped import weights
from vericap.train import claims, kept, options
from vericap.train.vse import training
from vericap.vision.store import FeatureStore


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options.add_data(parser, batch=128, name="vericap-vse")
    parser.add_argument("--start", metavar="NAME", help="encoder to begin with: default or a folder")
    options.add_teacher(parser)
    parser.add_argument("--rate", type=float, default=5e-4, help="learning rate (5e-4)")
    options.add_plan(parser, steps=1500)


def run(args: argparse.Namespace) -> int:
    store, work = FeatureStore(args.features), options.work_folder(args)
    sources = []
    for name, part in options.parts(args, store):
        windows: Any = kept.StoreFeatures(store, part.keys)
        said = claims.of(part, work, name, threads=args.threads) if args.teacher == "claims" else None
        sources.append(training.VseSource(windows, kept.sentences(part, work, name, threads=args.threads), said))
    *learned, validation = sources
    share = options.shares(args.batch, len(learned))
    chosen = training.VseOptions(
        batch=args.batch, extra=share[-1], mirror=False, head_rate=args.rate, teacher=args.teacher
    )
    trained = training.train_encoder(
        learned[0],
        learned[1] if len(learned) > 1 else None,
        validation,
        args.output,
        plan=options.plan_of(args),
        options=chosen,
        fingerprint=store.fingerprint,
        start=weights(args.start, "vse") if args.start else None,
        name=args.name,
    )
    options.report(trained, Path(args.output) / "vse")
    return 0
