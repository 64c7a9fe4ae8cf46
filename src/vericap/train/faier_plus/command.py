"""Train FAIEr-plus on region features in a store.

The store must hold the images of --captions (COCO caption files) and of the Flickr8k folder whose dev photos validate;
--flickr8k trains on its 6,000 training photos too. Regions are read as the image-sentence encoder --encoder embeds
them; what is computed of captions and regions is kept in --work and found again.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from vericap.core.shipped import weights
from vericap.models import vse
from vericap.train import claims, kept, options
from vericap.train.data import PER_IMAGE, Captioned
from vericap.train.faier_plus import calibration, training
from vericap.train.faier_plus.data import FaierPlusSource, source
from vericap.train.faier_plus.training import FaierPlusOptions
from vericap.vision.store import FeatureStore, check_same

_FITTED = 250  # training photos whose graded pairs bring the claims to the teacher's scale


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options.add_data(parser, batch=FaierPlusOptions.batch, name="vericap-faier-plus")
    parser.add_argument(
        "--encoder", default="default", metavar="NAME", help="image-sentence encoder: default or a folder"
    )
    parser.add_argument("--start", metavar="NAME", help="model to go on from: default or a folder")
    options.add_captions(parser, least=2, help="captions that are read (5)")
    options.add_teacher(parser)
    parser.add_argument("--ranking", type=float, default=FaierPlusOptions.ranking, help="weight of changed captions")
    parser.add_argument("--rate", type=float, default=FaierPlusOptions.rate, help="learning rate")
    options.add_plan(parser, steps=600)


def run(args: argparse.Namespace) -> int:
    store, output = FeatureStore(args.features), Path(args.output)
    encoder = options.encoder_name(args.encoder)
    model = vse.load(encoder)
    check_same(store.fingerprint, str(store.folder), model.fingerprint, model.name)

    def made(name: str, part: Captioned) -> FaierPlusSource:
        work = options.work_folder(args)
        if name == "dev":
            part = part.first(options.VALIDATED)
        features = kept.embedded(kept.StoreFeatures(store, part.keys), model, work / f"{name}-regions.npy")
        per_image = PER_IMAGE if name != "coco" else args.captions_per_image
        said = claims.of(part, work, name, threads=args.threads) if args.teacher == "claims" else None
        more = {"per_image": per_image, "claims": said, "seed": args.seed, "threads": args.threads}
        return source(part, features, work, name, **more)

    parts = list(options.parts(args, store))
    *sources, dev = [made(name, part) for name, part in parts]
    trained = training.train(
        sources,
        options.shares(args.batch, len(sources)),
        dev,
        output,
        plan=options.plan_of(args),
        options=FaierPlusOptions(batch=args.batch, ranking=args.ranking, rate=args.rate, teacher=args.teacher),
        fingerprint=store.fingerprint,
        encoder=encoder,
        token_mean=kept.mean_state(sources[0].captions.states),
        start=weights(args.start, "faier_plus") if args.start else None,
        name=args.name,
    )
    folder, known = output / "faier_plus", parts[-2][1]  # Flickr8k's training photos where they are there
    fitted = known.first(_FITTED)
    calibration.fit(folder, args.features, fitted, sources[-1].sentences[:_FITTED], sources[-1].claims)
    options.report(trained, folder)
    return 0
