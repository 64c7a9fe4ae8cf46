"""Train SCAN on region features in a store.

The store must hold the images of --captions (found by name, COCO's also by id), and of Flickr8k where its photos train
or validate. Features are read from the store as they are needed; what is computed of captions and regions is kept on
disk and found again. --import takes over a checkpoint of the public SCAN program instead of training.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from vericap.core.errors import InputError
from vericap.core.settings import Settings
from vericap.core.typing import Array, Bools, Floats32
from vericap.models import vse
from vericap.models.scan import ALONE, HALF, STATES, described, halves
from vericap.run.runtime import Runtime
from vericap.text.encoders import SentenceEncoder
from vericap.text.vectors import open_vectors
from vericap.train import claims, kept, named, options, parallel, ratings
from vericap.train.data import Captioned
from vericap.train.data import coco as read_all
from vericap.train.scan import data, public, training
from vericap.train.scan.join import join
from vericap.train.scan.network import ScanOptions
from vericap.vision.store import FeatureStore

_NAME = "vericap-scan"
Vectors = tuple[Floats32, Bools]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options.add_data(parser, batch=64, name=_NAME)
    parser.add_argument(
        "--words",
        choices=(STATES, ALONE, "gru"),
        default=STATES,
        help="text side: states of words in their sentences, of words read alone, or a GRU's of its own (states)",
    )
    parser.add_argument("--loss", choices=("distil", "infonce", "hardest"), default="distil")
    parser.add_argument(
        "--teacher",
        choices=("sentences", "words", "claims"),
        default="sentences",
        help="what is distilled: likeness of sentences; of sentences and words alike; or of both and, as much, of what "
        "the captions' scene graphs claim",
    )
    parser.add_argument(
        "--start", default="", metavar="NAME", help="go on from this model: default, or the `scan` folder of a training"
    )
    parser.add_argument("--pooling", choices=("average", "logsumexp"), default="average")
    parser.add_argument(
        "--encoder",
        default="",
        metavar="NAME",
        help="regions as this image-sentence encoder embeds them (default, or a folder)",
    )
    parser.add_argument(
        "--embeddings",
        metavar="FILE",
        help="word vectors the GRU begins with: GloVe, word2vec, fastText, or `encoder` for the shipped ones",
    )
    options.add_captions(parser, help="captions whose words are read (5); the teacher always reads all five")
    parser.add_argument(
        "--references",
        type=int,
        default=0,
        metavar="N",
        help="learn relevance to the image and N references together too (0: the image alone)",
    )
    parser.add_argument(
        "--tiger",
        type=float,
        default=ScanOptions.tiger,
        metavar="WEIGHT",
        help="with --references, learn what TIGEr makes of the grounding too, with this weight (0)",
    )
    options.add_near(parser)
    ratings.add_arguments(parser, weight=1.0)
    options.add_share(parser)
    parser.add_argument("--rate", type=float, default=ScanOptions.rate, help=f"learning rate ({ScanOptions.rate:g})")
    parser.add_argument(
        "--sharpness", type=float, default=ScanOptions.sharpness, help=f"of attention ({ScanOptions.sharpness:g})"
    )
    parser.add_argument(
        "--slope",
        type=float,
        default=ScanOptions.slope,
        help=f"of negative similarities ({ScanOptions.slope:g} as in the paper; 0.1 in its program)",
    )
    parser.add_argument(
        "--cells",
        type=int,
        default=0,
        metavar="N",
        help="with --encoder, read the last N values of the features too: 128 of the shipped extractor's are of its "
        "finer map (0)",
    )
    parser.add_argument("--marks", action="store_true", help="read marks and stops as words")
    named.add_arguments(parser, weight=0.3)
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--shrinkage", type=float, default=0.5, help="of the covariance towards its mean variance")
    parser.add_argument(
        "--import",
        dest="take",
        metavar="FILE",
        help="take over a checkpoint of the public SCAN program (model_best.pth.tar) for these features: nothing in "
        "it is run, nothing is trained, and --captions only estimate the covariance of REO's distance",
    )
    parser.add_argument("--vocabulary", metavar="FILE", help="its vocabulary (word2idx as JSON)")
    parser.add_argument(
        "--join",
        nargs=2,
        metavar="MODEL",
        help="two trained models (default, or `scan` folders) that read words in different ways, in one folder: "
        "nothing is trained, and metrics take the mean of what they say",
    )
    parser.add_argument(
        "--parts", nargs=2, type=float, default=(0.5, 0.5), metavar="SHARE", help="of each in that mean (0.5 0.5)"
    )
    options.add_plan(parser, steps=1500)


def side_by_side(args: argparse.Namespace) -> int:
    """Two models as one."""
    if min(args.parts) <= 0 or abs(sum(args.parts) - 1) > 1e-6:
        raise InputError(
            f"`parts={args.parts[0]:g} {args.parts[1]:g}` are no shares: two numbers above 0 that add up to 1"
        )
    written = join(args.join, args.parts, Path(args.output), name=args.name)
    print(f"{' and '.join(args.join)} side by side; written to {written}")
    return 0


def imported(args: argparse.Namespace) -> int:
    """Take over a public checkpoint."""
    if not args.vocabulary:
        raise InputError("`import=FILE` needs the checkpoint's words: name them with `vocabulary=FILE`")
    store = FeatureStore(args.features)
    captions: list[tuple[str, str]] = []
    if args.captions:
        part = options.in_store(read_all(args.captions, never=args.never), store)
        captions = [(key, text) for key, own in zip(part.keys, part.captions) for text in own]
    files = (Path(args.take), Path(args.vocabulary))
    name = args.name if args.name != _NAME else f"scan-{Path(args.take).name.split('.')[0]}"
    more = {"captions": captions, "shrinkage": args.shrinkage, "name": name}
    model = public.take_over(*files, store, Path(args.output), **more)  # type: ignore[arg-type]
    print(f"{args.take}: {len(model.meta['vocabulary'])} words, width {model.width}; written to {args.output}/scan")
    return 0


def run(args: argparse.Namespace) -> int:
    if args.take:
        return imported(args)
    if args.join:
        return side_by_side(args)
    parallel.start(args.device)
    store, output = FeatureStore(args.features), Path(args.output)
    if args.teacher != "sentences" and args.words == "gru":
        raise InputError(f"`teacher={args.teacher}` compares token states: it needs `words=states` or `words=alone`")
    if args.ratings and (args.loss != "distil" or args.words == "gru"):
        raise InputError("`ratings=FILE` goes with `loss=distil`, and with `words=states` or `words=alone`")
    before = earlier(args, store) if args.start else None
    if args.encoder:
        options.check_whole(store)
    parts = list(options.parts(args, store))
    words, vectors = _vocabulary(args, [part for _, part in parts[:-1]])
    encoder = options.reader(args)
    each = options.captions_each(parts[:-1])

    def made(name: str, part: Captioned) -> data.ScanSource:
        return source(args, name, part, store, words, encoder, each)

    *sources, validation = parallel.first(lambda: [made(*part) for part in parts])
    chosen = options_of(args, width=int(vectors[0].shape[1]) if vectors else None)
    people = ratings.rated_of(args, store)
    trained = training.train(
        sources,
        options.shares(args.batch, len(sources)),
        validation,
        output,
        plan=options.plan_of(args),
        options=chosen,
        features=store.trained_on(),
        text_encoder=options.text_encoder(args),
        words=words,
        start=beginning(sources[0], chosen),
        before=before,
        rated=None if people is None else (parallel.first(lambda: made("rated", people.photos)), people),
        share=args.share,
        vectors=vectors,
        shrinkage=args.shrinkage,
        name=args.name,
    )
    options.report(trained, output / "scan")
    return 0


def options_of(args: argparse.Namespace, *, width: int | None = None) -> ScanOptions:
    """The model's options; `width` is that of given word vectors."""
    found = ScanOptions(
        words=args.words,
        loss=args.loss,
        teacher=args.teacher,
        pooling=args.pooling,
        width=args.width,
        batch=args.batch,
        rate=args.rate,
        references=args.references,
        captions=min(ScanOptions.captions, args.captions_per_image),
        encoder=options.encoder_name(args.encoder),
        embeddings=Path(args.embeddings).name if args.embeddings else "",
        sharpness=args.sharpness,
        slope=args.slope,
        marks=args.marks,
        boxes=args.box_weight if args.boxes else 0.0,
        cells=args.cells,
        tiger=args.tiger if args.references else 0.0,
        people=args.rating_weight if args.ratings else 0.0,
        near=args.near,
    )
    if width is not None:
        found.embedding = width
    return found


def _vocabulary(args: argparse.Namespace, parts: list[Captioned]) -> tuple[list[str] | None, Vectors | None]:
    """Words of the GRU with the vectors they begin with."""
    if args.words != "gru":
        if args.embeddings:
            raise InputError("`embeddings=FILE` are word vectors of the GRU: name `words=gru` too")
        return None, None
    texts = [text for part in parts for own in part.captions for text in own]
    words = data.vocabulary(texts, ScanOptions.rarest)
    if not args.embeddings:
        return words, None
    runtime = Runtime.of(Settings(workers=args.threads))
    vectors, known = open_vectors(args.embeddings, folder=runtime.folder, readers=runtime.encoder).rows(words)
    if not known.any():
        raise InputError(f"{args.embeddings} has none of the {len(words)} words of the captions")
    return words, (vectors, known)


def source(
    args: argparse.Namespace,
    name: str,
    part: Captioned,
    store: FeatureStore,
    words: list[str] | None,
    encoder: SentenceEncoder,
    each: int,
) -> data.ScanSource:
    """Features, teacher vectors and the text side of some captioned images."""
    work, threads = options.work_folder(args), args.threads
    if name == "dev":
        part = part.first(options.VALIDATED)
    stored = kept.StoreFeatures(store, part.keys)
    features: Any = stored
    if args.encoder:
        model = vse.load(options.encoder_name(args.encoder))
        store.check_fits(model.meta)
        if words is None:
            options.check_reader(model, options.text_encoder(args))
        features = kept.embedded(stored, model, Path(args.output) / f"{name}-regions.npy", cells=args.cells)
    # Retrieval is measured with all captions.
    whole = name in ("dev", "rated")
    each, read = (part.most, part.most) if whole else (each, min(each, args.captions_per_image))
    text: data.TextStates | data.TextNumbers
    if words is None:
        alone = args.words == ALONE
        states = kept.token_states(part, work, name, encoder, each=read, threads=threads, alone=alone)
        text = data.TextStates(*states, None if args.marks else kept.lettered(part.texts(read), encoder))
    else:
        text = data.TextNumbers(part.texts(read), words)
    compared = args.teacher == "claims" and name != "rated"
    said = claims.of(part, work, name, encoder, each=each, threads=threads) if compared else None
    sentences = kept.sentences(part, work, name, encoder, each=each, threads=threads)
    boxes = None
    if not whole and words is None:
        boxes = named.teacher(args, part.keys, part.texts(read), partial(_pieces, encoder), stored)
    return data.ScanSource(features, sentences, text, read, said, part.places(each), stored.mask, boxes)


def _pieces(encoder: SentenceEncoder, texts: list[str]) -> Iterator[named.Spans]:
    return (cut.offsets for cut in encoder.cut(texts))


def earlier(args: argparse.Namespace, store: FeatureStore) -> tuple[dict[str, Array], dict[str, Any]]:
    """The model to go on from, weights and training.

    Encoders put the regions of any features into the sentence space, so a model over one encoder begins well over
    another; without an encoder the features must be the same. Of two in one folder it is the one that
    reads words in the same way.
    """
    own = [name for _, name in halves(args.start) if name.endswith(HALF + args.words)]
    weights, meta = described(own[0] if own else args.start)
    if args.words == "gru" or meta["words"] not in (STATES, ALONE):
        raise InputError("`start=NAME` goes on from a model with `words=states` or `words=alone`, to one of these")
    if args.words == STATES and meta["words"] != STATES:
        raise InputError(f"`start={args.start}` has `words={meta['words']}`: name it too")
    its = meta.get("encoder") or ""
    if bool(its) != bool(args.encoder):
        raise InputError(f"`start={args.start}` has the encoder '{its or 'none'}', not '{args.encoder or 'none'}'")
    if not its:
        store.check_fits(meta)
    return weights, meta.get("trained", {})


def beginning(source: data.ScanSource, chosen: ScanOptions) -> tuple[Array, None] | None:
    """Regions and words begin in the sentence space where the encoder has put the regions there."""
    if (
        not chosen.encoder
        or not isinstance(source.text, data.TextStates)
        or chosen.width != source.features.shape[-1] - chosen.cells
    ):
        return None
    return source.text.mean(), None
