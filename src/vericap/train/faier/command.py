"""Train FAIEr on region features in a store, as published by default.

The store must hold the images of --captions (found by name, COCO's also by id), and of Flickr8k where its photos train
or validate. Captions are parsed into scene graphs once and kept in the work folder; features are read from the store as
they are needed. An interrupted training goes on with the same command. Written are `faier` (the weights that retrieve
best on the validation photos, as in the paper) and `faier-agreement` (those that agree best with the text teacher).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from vericap.core.errors import InputError
from vericap.core.packed import STORAGES
from vericap.models import faier
from vericap.models.words import spans
from vericap.train import kept, named, options, parallel
from vericap.train.data import PER_IMAGE, Captioned
from vericap.train.faier.data import CaptionTable, FaierSource, ParsedCaptions, StoredRegions, parse, vocabulary
from vericap.train.faier.training import LOSSES, FaierOptions, train
from vericap.vision.store import FeatureStore


def add_arguments(parser: argparse.ArgumentParser) -> None:
    default = FaierOptions()
    options.add_data(parser, batch=default.batch, name="vericap-faier")
    parser.add_argument("--variant", choices=faier.VARIANTS, default=default.variant)
    parser.add_argument(
        "--references",
        choices=["r", *map(str, range(PER_IMAGE))],
        default=default.references,
        help="in training: a number, or r for 0 to 4 at random (r)",
    )
    parser.add_argument(
        "--loss", choices=LOSSES, default=default.loss, help="hardest is the paper's equation 5, sum its equation 4"
    )
    parser.add_argument("--similarity", choices=("dot", "cosine"), default=default.similarity)
    parser.add_argument("--d", type=int, default=default.d, help=f"width of all nodes ({default.d})")
    parser.add_argument("--rate", type=float, default=default.rate, help=f"learning rate ({default.rate:g})")
    parser.add_argument("--margin", type=float, default=default.margin, help=f"of the hardest loss ({default.margin})")
    parser.add_argument(
        "--hard-warmup",
        type=int,
        default=default.hard_warmup,
        metavar="STEPS",
        help=f"from all negatives to the hardest one ({default.hard_warmup})",
    )
    parser.add_argument(
        "--rarest",
        type=int,
        default=default.rarest,
        metavar="N",
        help=f"occurrences that make a word known ({default.rarest})",
    )
    options.add_captions(parser, help="captions that are read (5)")
    parser.add_argument(
        "--flickr8k-share", type=int, metavar="N", help="Flickr8k's photos in a batch with COCO's (5 of 16)"
    )
    parser.add_argument(
        "--validation-images", type=int, default=300, metavar="N", help="photos that validate at most (300)"
    )
    options.add_near(parser)
    named.add_arguments(parser, weight=0.1)
    parser.add_argument(
        "--teacher-weight",
        type=float,
        default=default.teacher,
        metavar="WEIGHT",
        help="of what a text teacher says of all pairs, beside the paper's losses (0)",
    )
    parser.add_argument(
        "--attend-weight",
        type=float,
        default=default.attend,
        metavar="WEIGHT",
        help="of what --boxes teach regions: to attend to the word that names what they lie on (0)",
    )
    parser.add_argument(
        "--sharper",
        type=float,
        default=default.sharper,
        metavar="FACTOR",
        help="begin with attention to words and regions that is sharper than that of --start (1)",
    )
    parser.add_argument("--vocabulary-from", metavar="DIR", help="a FAIEr model whose words to take")
    parser.add_argument("--start", metavar="DIR", help="a FAIEr model of the same shape to begin with")
    options.add_share(parser)
    parser.add_argument("--storage", choices=STORAGES, default="int8", help="of the finished weights (int8)")
    options.add_plan(parser, steps=3000, optimizer="adam")


def run(args: argparse.Namespace) -> int:
    if args.attend_weight and not args.boxes:
        raise InputError("`attend-weight` is of what boxes teach: name them with `boxes=FILE`")
    if not args.start and (args.sharper != 1 or args.share != 1):
        raise InputError("`sharper` and `share` are of the weights to begin with: name them with `start=DIR`")
    chosen = FaierOptions(
        variant=args.variant,
        loss=args.loss,
        similarity=args.similarity,
        references=args.references,
        captions=args.captions_per_image,
        d=args.d,
        batch=args.batch,
        rate=args.rate,
        margin=args.margin,
        hard_warmup=args.hard_warmup,
        rarest=args.rarest,
        boxes=args.box_weight if args.boxes else 0.0,
        teacher=args.teacher_weight,
        attend=args.attend_weight,
        sharper=args.sharper,
        near=args.near,
    )
    chosen.check()
    parallel.start(args.device)
    store = FeatureStore(args.features)
    start = faier.load(args.start) if args.start else None
    sources, validation, words = parallel.first(lambda: _sources(args, chosen, store))
    trained = train(
        sources,
        options.shares(args.batch, len(sources), args.flickr8k_share),
        validation,
        args.output,
        plan=options.plan_of(args),
        options=chosen,
        features=store.trained_on(),
        vocabulary=words,
        start=start,
        share=args.share,
        storage=args.storage,
        name=args.name,
    )
    options.report(trained, Path(args.output) / "faier")
    return 0


def _sources(
    args: argparse.Namespace, chosen: FaierOptions, store: FeatureStore
) -> tuple[list[FaierSource], FaierSource, list[str]]:
    """What to train on, what validates, and the words."""
    work, encoder = options.work_folder(args), options.reader(args)
    *parts, (_, dev) = options.parts(args, store)
    dev = dev.first(args.validation_images)
    each = min(options.captions_each(parts), chosen.captions)
    parsed = [_parsed(part, work / f"{name}-graphs-{each}.npz", each, args.threads) for name, part in parts]
    known = faier.load(args.vocabulary_from or args.start) if args.vocabulary_from or args.start else None
    words = known.vocabulary if known else vocabulary(parsed, chosen.rarest)

    def source(name: str, part: Captioned, text: ParsedCaptions, own: int, teaches: bool) -> FaierSource:
        teacher = kept.sentences(part, work, name, encoder, each=own, threads=args.threads) if teaches else None
        shown, table = StoredRegions(store, part.keys), CaptionTable([text], words)
        boxes = None
        if not name.startswith("dev"):
            stored = kept.StoreFeatures(store, part.keys)
            boxes = named.teacher(args, part.keys, part.texts(own), _spans, stored)
        return FaierSource(shown, table, teacher, part.places(own), boxes)

    text = _parsed(dev, work / f"dev-graphs-{len(dev)}.npz", dev.most, args.threads)
    validation = source(f"dev-{len(dev)}", dev, text, dev.most, True)
    teaches = chosen.loss == "distil" or chosen.teacher > 0 or chosen.near > 1
    made = [source(*part, text, each, teaches) for part, text in zip(parts, parsed)]
    return made, validation, words


def _spans(texts: list[str]) -> Iterator[named.Spans]:
    """Where the words stand that the model reads; a caption without any is one empty sentence."""
    return (spans(text)[1:-1] for text in texts)


def _parsed(part: Captioned, file: Path, each: int, threads: int) -> ParsedCaptions:
    return parse(part.texts(each), file, workers=threads)
