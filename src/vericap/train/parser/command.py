"""Tune the English parser on captions, and train the labeller of FACTUAL's graphs.

    vericap train parser --factual train.csv.gz --validation dev.csv.gz --captions captions_train2014.json.gz \\
        --never never_train_image_ids.txt --flickr8k flickr8k/ --output DIR

DIR/spacy_en is the pipeline behind scene graphs (spaCy's en_core_web_sm, tuned on trees of captions), DIR/labeller the
network behind `vericap parse --convention factual`. --only makes one of them. The treebank and the labeller's
checkpoints are kept in --work; a labeller's training that was interrupted goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from vericap.core import shipped
from vericap.core.errors import InputError
from vericap.graphs.english import trainable
from vericap.graphs.english_states import quicken
from vericap.graphs.labeller import PART, Vocabulary
from vericap.train import data, options
from vericap.train.parser.alignment import Example, examples
from vericap.train.parser.network import LabellerConfig, LabellerModule
from vericap.train.parser.training import LabellerTask, lessons, vocabulary_of
from vericap.train.parser.treebank import Tree, caption_trees, factual_trees
from vericap.train.parser.tuning import TuningOptions, tune, write
from vericap.train.trainer import Trainer

PARTS = ("pipeline", "labeller")
# Trees of each kind that the pipeline is tuned on.
SHARES = {"factual": 24_000, "plain": 16_000, "finite": 9_000, "bare": 11_000}
_CAPTIONS = 48_000  # of COCO and Flickr8k that are parsed for the treebank


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--factual", required=True, metavar="FILE", help="FACTUAL's training part (train.csv.gz)")
    parser.add_argument("--validation", required=True, metavar="FILE", help="captions kept out (dev.csv.gz)")
    parser.add_argument(
        "--captions", nargs="+", default=[], metavar="FILE", help="COCO caption files, for the pipeline"
    )
    parser.add_argument("--never", metavar="FILE", help="image ids that are never trained on, one per line")
    parser.add_argument("--flickr8k", metavar="DIR", help="its 6,000 training photos' captions too")
    parser.add_argument(
        "--start", metavar="DIR", help="the spaCy pipeline to tune (tools/build_spacy_en.py; the shipped)"
    )
    parser.add_argument("--only", choices=PARTS, help="make one of the two parts")
    parser.add_argument("--output", "-o", required=True, metavar="DIR")
    parser.add_argument("--work", metavar="DIR", help="where treebank and checkpoints are kept (--output)")
    parser.add_argument("--batch", type=int, default=64, help="captions in a step of the labeller (64)")
    parser.add_argument("--rate", type=float, default=2e-3, help="of the labeller (0.002)")
    parser.add_argument("--limit", type=int, metavar="N", help="use the first N FACTUAL captions only")
    parser.add_argument("--epochs", type=int, default=TuningOptions.epochs, help="of the pipeline's tuning")
    options.add_plan(parser, steps=6000)
    parser.set_defaults(keep="last", validate=500)


def run(args: argparse.Namespace) -> int:
    torch.set_num_threads(args.threads)
    work = options.work_folder(args)
    gold = examples(args.factual)[: args.limit]
    if args.only != "labeller":
        tune_pipeline(args, gold, work)
    if args.only != "pipeline":
        train_labeller(args, gold, work)
    return 0


# ---- the pipeline ---------------------------------------------------------------------------------------------------


def tune_pipeline(args: argparse.Namespace, gold: Sequence[Example], work: Path) -> None:
    trees = treebank(args, gold, work / "treebank.jsonl")
    nlp = trainable(args.start or "")
    tune(nlp, trees, TuningOptions(epochs=args.epochs, seed=args.seed))
    target = Path(args.output) / "spacy_en"
    shutil.rmtree(target, ignore_errors=True)
    write(nlp, target / "pipeline")
    print(f"tuned on {len(trees):,} trees; written to {target}")


def treebank(args: argparse.Namespace, gold: Sequence[Example], file: Path) -> list[Tree]:
    """Trees to tune on, made once."""
    if not file.is_file():
        trees = made_trees(args, gold)
        file.write_text("".join(json.dumps(tree) + "\n" for tree in trees), "utf-8")
    return [Tree(*json.loads(line)) for line in file.read_text("utf-8").splitlines()]


def made_trees(args: argparse.Namespace, gold: Sequence[Example]) -> list[Tree]:
    draw = random.Random(args.seed)
    captions = [text for own in data.coco(args.captions, never=args.never).captions for text in own]
    captions = draw.sample(captions, min(_CAPTIONS * 3 // 4, len(captions)))
    if args.flickr8k:
        texts = [text for own in data.flickr8k(args.flickr8k, "train").captions for text in own]
        captions += draw.sample(texts, min(_CAPTIONS // 4, len(texts)))
    if not captions:
        raise InputError("the pipeline is tuned on captions too: name them with `captions=FILE`")
    nlp = quicken(trainable(args.start or ""))
    found = {"factual": factual_trees(nlp, gold), **caption_trees(nlp, captions, seed=args.seed)}
    return [tree for kind, own in found.items() for tree in draw.sample(own, min(SHARES[kind], len(own)))]


# ---- the labeller ---------------------------------------------------------------------------------------------------


def train_labeller(args: argparse.Namespace, gold: Sequence[Example], work: Path) -> None:
    vocabulary = vocabulary_of(gold)
    learnt = lessons(gold, vocabulary)
    config = LabellerConfig(*vocabulary.sizes, len(vocabulary.templates))
    torch.manual_seed(args.seed)
    model = LabellerModule(config)
    task = LabellerTask(model, learnt, examples(args.validation), vocabulary, args.batch)
    described = {"config": asdict(config), "batch": args.batch, "rate": args.rate, "captions": len(learnt)}
    groups = [{"params": list(model.parameters()), "lr": args.rate, "weight_decay": 1e-3}]
    trainer = Trainer(model, groups, options.plan_of(args), work / "training", describe=described)
    trainer.run(task.losses, task.validate)
    row = trainer.load_best()
    target = Path(args.output) / PART
    write_labeller(model, vocabulary, target, description(args, described, row))
    print(f"whole graphs as people drew them: {row.get('agreement', float('nan')):.1f} %; written to {target}")


def write_labeller(model: LabellerModule, vocabulary: Vocabulary, folder: Path, describe: dict[str, Any]) -> None:
    """Weights in half precision, the vocabulary, meta.json."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    weights = {name: value.detach().half().contiguous() for name, value in model.state_dict().items()}
    save_file(weights, folder / f"{PART}.safetensors")
    vocabulary.write(folder / "vocabulary.json")
    shipped.write_meta(folder, describe)


def description(args: argparse.Namespace, described: dict[str, Any], row: dict[str, float]) -> dict[str, Any]:
    """What meta.json says of the labeller."""
    return {
        "name": "labeller-1",
        "what": "labels of caption words that make a scene graph in FACTUAL's convention",
        "licence": "MIT; trained on FACTUAL (Li et al. 2023, MIT)",
        "made_by": "vericap train parser",
        **described,
        "steps": args.steps,
        "seed": args.seed,
        "validation": {name: round(float(row[name]), 2) for name in ("agreement", "f1") if name in row},
    }
