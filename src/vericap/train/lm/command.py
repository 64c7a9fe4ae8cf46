"""Train the language model of the metric `lm`: n-grams with modified Kneser-Ney smoothing, pruned (Chen and Goodman
1998), or a small recurrent network (`--kind rnn`, group `train`, some minutes on one core).

vericap train lm --captions captions_train2014.json.gz --without never_train_image_ids.txt --output models/lm
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from typing import Any

from vericap.core.batch import Batch
from vericap.core.errors import InputError, require
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.run.analyses import Tokens
from vericap.run.plan import analysed
from vericap.text.ngram_lm import save
from vericap.train.lm.training import train


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--captions", type=Path, required=True, help="COCO captions .json[.gz], or text, one per line")
    parser.add_argument("--without", type=Path, metavar="FILE", help="image ids to leave out, one per line")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR")
    parser.add_argument("--kind", choices=("ngram", "rnn"), default="ngram", help="n-grams (default) or a network")
    parser.add_argument("--passes", type=int, default=3, help="of the network over the captions (default 3)")
    parser.add_argument("--order", type=int, default=4, help="length of the longest n-grams (default 4)")
    parser.add_argument("--min-word", type=int, default=3, help="rarer words become <unk> (default 3)")
    parser.add_argument("--min-count", type=int, default=2, help="rarer n-grams above unigrams are dropped (default 2)")
    parser.add_argument("--tokenizer", default="ptb")
    parser.add_argument("--name", help="name in signatures (default: the output folder's)")


def run(args: argparse.Namespace) -> int:
    if not 2 <= args.order <= 5:
        raise InputError(f"`order={args.order}`: n-grams of 2 to 5 words can be trained")
    if args.kind == "rnn":
        require("torch", "train", "training")
    texts = read_captions(args.captions, args.without)
    facts = {"captions": len(texts), "tokenizer": args.tokenizer, "made_by": "vericap train lm"}
    made = (_network if args.kind == "rnn" else _ngrams)(args, tokenise(texts, args.tokenizer), facts)
    print(f"{args.output}: {len(texts):,} captions, {made}")
    return 0


def _ngrams(args: argparse.Namespace, texts: list[list[str]], facts: dict[str, Any]) -> str:
    model = train(
        texts, order=args.order, min_word=args.min_word, min_count=args.min_count,
        name=f"{args.name or args.output.name}-kn{args.order}",
    )  # fmt: skip
    save(model, args.output, **facts)
    return ", ".join(f"{len(order.keys):,} {n}-grams" for n, order in enumerate(model.orders, 1))


def _network(args: argparse.Namespace, texts: list[list[str]], facts: dict[str, Any]) -> str:
    from vericap.models import recurrent_lm
    from vericap.train.lm import recurrent

    name = f"{args.name or args.output.name}-rnn"
    model = recurrent.train(texts, min_word=args.min_word, passes=args.passes, name=name)
    recurrent_lm.save(model, args.output, **facts, passes=args.passes)
    return f"{len(model.vocabulary):,} words"


def read_captions(path: Path, without: Path | None = None) -> list[str]:
    """Captions of a COCO file or of a text file; `without` names image ids to leave out."""
    try:
        data = path.read_bytes()
        text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode("utf-8")
        left_out = set(without.read_text("utf-8").split()) if without else set()
        if text.lstrip()[:1] in "{[":
            content = json.loads(text)
            rows = content["annotations"] if isinstance(content, dict) else content
            found = [row["caption"].strip() for row in rows if str(row.get("image_id")) not in left_out]
        else:
            found = [line.strip() for line in text.splitlines()]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"captions cannot be read from {path}: {error!r}") from error
    found = [caption for caption in found if caption]
    if not found:
        raise InputError(f"{path} holds no caption")
    return found


def tokenise(texts: list[str], tokenizer: str) -> list[list[str]]:
    batch = Batch.of((Sample(str(i), text) for i, text in enumerate(texts)), Settings(tokenizer=tokenizer))
    tokens = analysed(batch, Tokens(tokenizer))[Tokens(tokenizer)]
    return [tokens[int(i)] for i in batch.candidates]
