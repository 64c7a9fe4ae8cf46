"""Train the models.

vericap train backbone --coco captions_train2014.json.gz --photos train2014/ --flickr8k flickr8k/ --output DIR
vericap train scan --features STORE --captions captions_train2014.json.gz --validation flickr8k/ --output DIR
vericap train faier --features STORE --captions captions_train2014.json.gz --validation flickr8k/ --output DIR
vericap train lm --captions captions_train2014.json.gz --output DIR
vericap train parser --factual train.csv.gz --validation dev.csv.gz --captions captions_train2014.json.gz --output DIR

`vericap train MODEL --help` tells the options of one model. Training needs the group `train`, except for lm.
"""

from __future__ import annotations

import argparse
from importlib import import_module

from vericap.core.errors import UnknownName, require

# model -> module with add_arguments(parser) and run(args)
MODELS = {
    "encoder": "vericap.train.encoder.command",
    "backbone": "vericap.train.backbone.command",
    "words": "vericap.train.words.command",
    "verdict": "vericap.train.verdict.command",
    "vse": "vericap.train.vse.command",
    "scan": "vericap.train.scan.command",
    "faier": "vericap.train.faier.command",
    "faier-plus": "vericap.train.faier_plus.command",
    "learn-to-eval": "vericap.train.learn_to_eval.command",
    "lm": "vericap.train.lm.command",
    "fluency": "vericap.train.fluency.command",
    "parser": "vericap.train.parser.command",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help=f"one of: {', '.join(MODELS)}")
    parser.add_argument("rest", nargs=argparse.REMAINDER, metavar="...", help="options of that model")


def run(args: argparse.Namespace) -> int:
    if args.model not in MODELS:
        raise UnknownName(f"no model '{args.model}' is trained here; there are: {', '.join(MODELS)}")
    if args.model != "lm":  # counting needs no torch
        require("torch", "train", "training")
    found = parser_of(args.model).parse_args(args.rest)
    return int(found.run(found))


def parser_of(model: str) -> argparse.ArgumentParser:
    """The parser of one model's options."""
    from vericap.cli.parsing import Parser

    return Parser.of(f"vericap train {model}", import_module(MODELS[model]))
