"""Train FAIEr-plus on region features in a store.

The store must hold the images of --captions, and of Flickr8k where its photos train or validate; the first region of an
image is the whole of it. Regions are read as the image-sentence encoder --encoder embeds them, with their boxes; what
is computed of captions and regions is kept in --work and found again.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from vericap.core.shipped import weights
from vericap.models import vse
from vericap.train import claims, kept, options, parallel, ratings
from vericap.train.data import Captioned
from vericap.train.faier_plus import calibration, training
from vericap.train.faier_plus.data import FaierPlusSource, source
from vericap.train.faier_plus.training import FaierPlusOptions
from vericap.vision.store import FeatureStore

_FITTED = 250  # training photos whose graded pairs bring the claims to the teacher's scale


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options.add_data(parser, batch=FaierPlusOptions.batch, name="vericap-faier-plus")
    parser.add_argument(
        "--encoder", default="default", metavar="NAME", help="image-sentence encoder: default or a folder"
    )
    parser.add_argument("--start", metavar="NAME", help="model to go on from: default or a folder")
    options.add_captions(parser, help="captions that are read (5)")
    options.add_teacher(parser)
    parser.add_argument("--ranking", type=float, default=FaierPlusOptions.ranking, help="weight of changed captions")
    parser.add_argument("--rate", type=float, default=FaierPlusOptions.rate, help="learning rate")
    ratings.add_arguments(parser, weight=1.0)
    options.add_share(parser)
    options.add_plan(parser, steps=600)


def run(args: argparse.Namespace) -> int:
    parallel.start(args.device)
    store, output = FeatureStore(args.features), Path(args.output)
    options.check_whole(store)
    encoder = options.encoder_name(args.encoder)
    model = vse.load(encoder)
    store.check_fits(model.meta)
    options.check_reader(model, options.text_encoder(args))
    reader, parts = options.reader(args), list(options.parts(args, store))
    each = options.captions_each(parts[:-1])

    def made(name: str, part: Captioned) -> FaierPlusSource:
        work, threads = options.work_folder(args), args.threads
        known, read = (each, each) if name != "dev" else (part.most, part.most)
        if name == "dev":
            part = part.first(options.VALIDATED)
        if name == "coco":
            read = min(each, args.captions_per_image)
        if name == "rated":
            known, read = part.most, part.most
        stored = kept.StoreFeatures(store, part.keys)
        features = kept.embedded(stored, model, work / f"{name}-regions.npy")
        compared = args.teacher == "claims" and name != "rated"
        said = claims.of(part, work, name, reader, each=known, threads=threads) if compared else None
        more: dict[str, Any] = {"each": known, "per_image": read, "claims": said, "seed": args.seed, "threads": threads}
        return source(part, stored, features, work, name, reader, **more)

    *sources, dev = parallel.first(lambda: [made(name, part) for name, part in parts])
    people = ratings.rated_of(args, store)
    trained = training.train(
        sources,
        options.shares(args.batch, len(sources)),
        dev,
        output,
        plan=options.plan_of(args),
        options=FaierPlusOptions(
            batch=args.batch,
            ranking=args.ranking,
            rate=args.rate,
            teacher=args.teacher,
            people=args.rating_weight if args.ratings else 0.0,
        ),
        features=store.trained_on(),
        text_encoder=options.text_encoder(args),
        encoder=encoder,
        token_mean=kept.mean_state(sources[0].captions.states),
        start=weights(args.start, "faier_plus") if args.start else None,
        rated=None if people is None else (parallel.first(lambda: made("rated", people.photos)), people),
        share=args.share,
        name=args.name,
    )
    folder, known = output / "faier_plus", parts[-2][1]  # Flickr8k's training photos where they are there
    if parallel.rank() == 0:
        fitted = sources[-1]
        calibration.fit(folder, args.features, known.first(_FITTED), fitted.sentences[:_FITTED], fitted.claims)
    options.report(trained, folder)
    return 0
