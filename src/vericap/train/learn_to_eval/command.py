"""Train LearnToEval: a discriminator of people's and machines' captions, over image and references.

The store must hold the images of --captions. Machine captions are made here, of these photos: a trigram model of the
captions talks, captions of photos that look alike or of any other photo, captions whose words are permuted or replaced.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from vericap.core.typing import Floats32
from vericap.models.learn_to_eval import PART
from vericap.models.vse import VseModel, load
from vericap.train import kept, options, parallel
from vericap.train.data import Captioned
from vericap.train.learn_to_eval import training
from vericap.train.learn_to_eval.machine import machine_captions
from vericap.vision.store import FeatureStore

_ROWS = 512  # photos embedded at once


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options.add_data(parser, batch=128, name="vericap-learn-to-eval")
    parser.add_argument(
        "--encoder", default="default", metavar="NAME", help="image-sentence encoder: default or a folder (default)"
    )
    parser.add_argument("--babbled", type=int, default=20_000, help="sentences the language model makes (20000)")
    parser.add_argument("--rate", type=float, default=1e-3, help="learning rate (1e-3)")
    options.add_plan(parser, steps=2000)


def run(args: argparse.Namespace) -> int:
    parallel.start(args.device)
    store, work = FeatureStore(args.features), options.work_folder(args)
    options.check_whole(store)
    reader, encoder = options.reader(args), load(args.encoder)
    options.check_reader(encoder, options.text_encoder(args))
    chosen = training.LearnOptions(batch=args.batch, rate=args.rate)

    def photos(name: str, part: Captioned) -> training.Photos:
        images = whole_photos(part, store, encoder)
        human = kept.sentences(part, work, name, reader, each=part.most, threads=args.threads)
        machine = machine_captions(part, images, reader, babbled=args.babbled, seed=args.seed)
        return training.Photos(part, images, human, machine, chosen.buckets)

    *learned, dev = list(options.parts(args, store))
    joined = learned[0] if len(learned) == 1 else ("both", learned[0][1] + learned[1][1])
    train, validation = parallel.first(lambda: (photos(*joined), photos(*dev)))
    trained = training.train_discriminator(
        train,
        validation,
        args.output,
        plan=options.plan_of(args),
        features=store.trained_on(),
        text_encoder=options.text_encoder(args),
        encoder=options.encoder_name(args.encoder),
        options=chosen,
        name=args.name,
    )
    options.report(trained, Path(args.output) / PART)
    return 0


def whole_photos(part: Captioned, store: FeatureStore, encoder: VseModel) -> Floats32:
    """(photos, d): each photo's first region, the whole of it, in the space of the sentence encoder."""
    features = kept.StoreFeatures(store, part.keys)
    parts = []
    for start in range(0, len(part), _ROWS):
        rows = np.arange(start, min(start + _ROWS, len(part)))
        parts.append(encoder.embed(np.asarray(features[rows][:, 0], dtype=np.float32)))
    return np.concatenate(parts)
